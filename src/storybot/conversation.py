"""Follow-ups made to stand alone, by rule: no language model is needed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from storybot import text
from storybot.types import Citation, Turn

_CONTINUES = re.compile(
    r"^\s*(?:and|but|or|also|then|so|what about|how about|y|pero)\b", re.IGNORECASE
)
_ANAPHOR = re.compile(
    r"\b(?:he|she|they|it|him|them|his|hers|her|its|their|theirs|that|those|these|this|there"
    r"|the (?:first|second|third|latter|former|other|others|same)(?: one)?)\b",
    re.IGNORECASE,
)
_ANTECEDENT = re.compile(
    r"\b(?:that|it|there)\s+(?:is|was|are|were|the|a|he|she|they|has|have|had|will|would|could"
    r"|should|can|may|might|did|does)\b|\bit\s+\w+\s+(?:that|to)\b",
    re.IGNORECASE,
)
_TOPIC_MARK = " (about: "


_NEW_TOPIC = re.compile(
    r"^\W*(?:(?:ok|okay|thanks|thank you|right|well|anyway)\W+)*"
    r"(?:(?:a )?(?:different|another|new|next) (?:question|topic|subject)|something else"
    r"|on another (?:note|subject)|moving on|changing (?:the )?(?:subject|topic)"
    r"|leaving [\w ]{2,40} aside|otra pregunta|otra cosa)\s*[:,.;-]+\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Standalone:
    """A question that can be searched for, and what it goes on from.

    ``subject`` holds the earlier words it leans on; ``previous`` the citations
    of the answer before it. Both are empty for a new topic. A question that may
    or may not go on has ``previous`` alone.
    """

    question: str
    text: str
    subject: str = ""
    previous: tuple[Citation, ...] = ()


def standalone(question: str, turns: Sequence[Turn]) -> Standalone:
    """Complete a follow-up with the subject of the turns before it."""
    asked = " ".join(question.split())
    announced = _NEW_TOPIC.match(asked)
    if announced and announced.end() < len(asked):
        asked = asked[announced.end() :]
        return Standalone(asked, asked)
    if not turns:
        return Standalone(asked, asked)
    last = turns[-1]
    cited = tuple(c for sentence in last.answer.sentences for c in sentence.citations)
    subject = _subject(last.answer.standalone_question)
    if leans_back(asked) and subject:
        return Standalone(asked, f"{asked}{_TOPIC_MARK}{subject})", subject, cited)
    told = " ".join([subject, *(f"{each.headline} {each.quote}" for each in cited)])
    known = set(text.words(told))
    if all(set(text.words(name)) <= known for name in text.names(asked)):
        return Standalone(asked, asked, "", cited)
    return Standalone(asked, asked)


def leans_back(question: str) -> bool:
    """Whether a question's own words point to what was said before it."""
    if _CONTINUES.search(question):
        return True
    own_names = text.names(question)
    anaphor = _ANAPHOR.search(_ANTECEDENT.sub(" ", question))
    if anaphor and not any(question.find(name) < anaphor.start() for name in own_names):
        return True
    return not own_names and len(text.content_words(question)) <= 1


def _subject(previous: str) -> str:
    """What a standalone question is about, the root of a chain of follow-ups kept."""
    if _TOPIC_MARK in previous:
        return previous.partition(_TOPIC_MARK)[2].rstrip(")")
    return previous.strip().rstrip("?!. ")
