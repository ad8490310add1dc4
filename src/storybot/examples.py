"""Questions to begin with, made from the newest stories and kept only if they are answered."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from storybot import text
from storybot.types import Answer, StoryCard

SHOWN = 4
STORIES = 40
_TRIED = 16
_SPEAKER = re.compile(
    r"(?:said|told \w+|added|asked)\s(?P<after>[A-ZÀ-Þ][\w’'-]+(?:\s[A-ZÀ-Þ][\w’'-]+)+)"
    r"|(?P<before>[A-ZÀ-Þ][\w’'-]+(?:\s[A-ZÀ-Þ][\w’'-]+)+)(?:, [^,.“\"]{3,60},)?\s(?:said|told)\b"
)
_TITLES = frozenset("the mr mrs ms dr superintendent councillor judge mayor captain".split())


def propose(stories: Sequence[tuple[StoryCard, str]]) -> Iterator[str]:
    """Questions that stories (with their bodies) suggest: on recurring names, and on speakers."""
    subjects = Counter(
        name for card, _ in stories for name in dict.fromkeys(text.names(card.headline))
    )
    recurring = [name for name, count in subjects.most_common() if count > 1 and " " in name]
    yield from _speakers(stories)
    yield from (f"What is the latest on {name}?" for name in recurring)


def _speakers(stories: Sequence[tuple[StoryCard, str]]) -> Iterator[str]:
    seen: set[str] = set()
    for card, body in stories:
        for match in _SPEAKER.finditer(body):
            parts = (match["after"] or match["before"]).split()
            name = " ".join(part for part in parts if part.lower() not in _TITLES)
            subjects = [each for each in text.names(card.headline) if " " in each]
            subject = next((each for each in subjects if each not in name), "")
            subject = subject.removesuffix("’s").removesuffix("'s")
            if " " in name and name not in seen and subject not in seen:
                seen |= {name, subject or name}
                about = f" about {subject}" if subject and not card.headline.istitle() else ""
                yield f"What did {name} say{about}?"
                break


def choose(stories: Sequence[tuple[StoryCard, str]], ask: Callable[[str], Answer]) -> list[str]:
    """The first few proposals that are answered from stories about what they name.

    Of a person's words the first sentence must name the person.
    """
    kept: list[str] = []
    for question, _ in zip(propose(stories), range(_TRIED), strict=False):
        answer = ask(question)
        cited = " ".join(
            f"{citation.headline} {citation.quote}"
            for sentence in answer.sentences
            for citation in sentence.citations
        )
        asked = [name.split()[-1] for name in text.names(question)]
        if (
            answer.status == "answered"
            and all(name in cited for name in asked)
            and any(name in answer.sentences[0].text for name in asked[:1])
        ):
            kept.append(question)
        if len(kept) == SHOWN:
            break
    return kept
