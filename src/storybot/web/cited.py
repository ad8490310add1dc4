"""What stands behind an answer: its citations, how fresh it is, what came close."""

from collections.abc import Iterable

from storybot.types import Answer, Citation, Sentence, StoryCard
from storybot.web import texts
from storybot.web.when import local, written

_NEAREST = 3


def citations(sentences: Iterable[Sentence]) -> dict[int, list[Citation]]:
    """Citations by number, in order; those that repeat a place are left out."""
    found: dict[int, list[Citation]] = {}
    for sentence in sentences:
        for citation in sentence.citations:
            same = found.setdefault(citation.number, [])
            if all((c.start, c.end) != (citation.start, citation.end) for c in same):
                same.append(citation)
    return dict(sorted(found.items()))


def nearest(answer: Answer) -> tuple[StoryCard, ...]:
    """The stories closest to a question that was declined, at most three, best first."""
    return tuple({hit.story.id: hit.story for hit in answer.hits}.values())[:_NEAREST]


def status_line(answer: Answer) -> str:
    """How fresh an answer is and how many stories and outlets stand behind it."""
    cited = [citation for sentence in answer.sentences for citation in sentence.citations]
    parts = []
    if answer.as_of is not None:
        offsets = (c.published.offset for c in cited if c.published.instant == answer.as_of)
        there = local(answer.as_of, next(offsets, None))
        parts.append(texts.AS_OF.format(date=written(there)))
    parts.append(texts.count(texts.STORY_COUNT, len({c.story_id for c in cited})))
    if outlets := {c.outlet for c in cited if c.outlet}:
        parts.append(texts.count(texts.OUTLET_COUNT, len(outlets)))
    if answer.retrieval != "full":
        keyword = answer.retrieval == "keyword"
        parts.append(texts.KEYWORD_ONLY if keyword else texts.PARTLY_INDEXED)
    return " · ".join(parts)
