"""The public JSON shapes, version 1: what commands print and the HTTP API returns.

Offsets are Unicode code points of the revision's body. Instants are ISO 8601 in
UTC; a date known without a time is ``YYYY-MM-DD``. A change that removes or
renames a field makes a new schema number.

``python -m storybot.shapes docs/schemas`` writes their JSON Schemas there.

Over 250 lines because each shape stands beside the function that fills it.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from storybot.retrieval import Retrieved
from storybot.types import (
    Answer,
    Citation,
    Failure,
    Filters,
    Hit,
    IngestReport,
    Moment,
    Notice,
    Provenance,
    Revision,
    Sentence,
    StoryCard,
    Verdict,
)


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CitationShape(Shape):
    number: int
    story_id: str
    revision: int
    passage_id: str
    headline: str
    outlet: str
    url: str
    published: str | None
    start: int
    end: int
    quote: str


class VerdictShape(Shape):
    check: str
    supported: bool
    reason: str


class SentenceShape(Shape):
    text: str
    lead: str = ""
    citations: list[CitationShape]
    verdicts: list[VerdictShape]


class NoticeShape(Shape):
    code: str
    text: str


class FiltersShape(Shape):
    outlet: list[str]
    section: list[str]
    since: str | None
    until: str | None


class PassageShape(Shape):
    id: str
    start: int
    end: int
    text: str


class StoryBriefShape(Shape):
    id: str
    revision: int
    headline: str
    outlet: str
    section: str
    url: str
    published: str | None


class HitShape(Shape):
    rank: int
    score: float
    ranks: dict[str, int]
    passage: PassageShape
    story: StoryBriefShape


class ProvenanceShape(Shape):
    version: str
    settings: str
    embedding_model: str
    llm: str | None
    prompt: str | None


class AnswerShape(Shape):
    """What `storybot ask --json` prints."""

    schema_: Literal["storybot.answer/1"] = "storybot.answer/1"
    id: str
    question: str
    standalone_question: str
    status: Literal["answered", "declined"]
    retrieval: Literal["full", "partial", "keyword"]
    as_of: str | None
    text: str
    sentences: list[SentenceShape]
    notices: list[NoticeShape]
    filters: FiltersShape
    hits: list[HitShape]
    provenance: ProvenanceShape
    timings_ms: dict[str, float]

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=lambda name: name.rstrip("_"),
        populate_by_name=True, serialize_by_alias=True,
    )  # fmt: skip


class SearchShape(Shape):
    """What `storybot search --json` prints."""

    schema_: Literal["storybot.search/1"] = "storybot.search/1"
    retrieval: Literal["full", "partial", "keyword"]
    hits: list[HitShape]

    model_config = AnswerShape.model_config


class FailureShape(Shape):
    source: str
    line: int | None
    reason: str
    hint: str


class IngestShape(Shape):
    """What `storybot ingest --json` prints."""

    added: int
    updated: int
    unchanged: int
    failed: list[FailureShape]
    warnings: list[FailureShape] = []


class RevisionShape(Shape):
    """One revision of a story: what `storybot stories show ID --json` prints."""

    schema_: Literal["storybot.story/1"] = "storybot.story/1"
    id: str
    revision: int
    revisions: int
    headline: str
    outlet: str
    section: str
    url: str
    authors: list[str]
    dateline: str
    genre: str
    agency: str
    language: str
    published: str | None
    modified: str | None
    correction: str
    partial: bool
    ingested: str
    body: str

    model_config = AnswerShape.model_config


class StoriesShape(Shape):
    """What `storybot stories --json` prints."""

    schema_: Literal["storybot.stories/1"] = "storybot.stories/1"
    stories: list[StoryBriefShape]

    model_config = AnswerShape.model_config


class CheckShape(Shape):
    """What `storybot check --json` prints. ``faults`` is empty when all is well."""

    stories: int
    passages: int
    pending: int
    faults: list[str]
    repaired: bool


def schemas() -> dict[str, str]:
    """The JSON Schema of each public shape, as the text of a file named after it."""
    public: dict[str, type[Shape]] = {
        "answer": AnswerShape,
        "check": CheckShape,
        "ingest": IngestShape,
        "search": SearchShape,
        "stories": StoriesShape,
        "story": RevisionShape,
    }
    return {
        name: json.dumps(
            shape.model_json_schema(by_alias=True, mode="serialization"),
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
        for name, shape in public.items()
    }


def instant_text(moment: datetime | None) -> str | None:
    """An instant as ISO 8601 in UTC, ending in Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def moment_text(moment: Moment) -> str | None:
    """A moment as an instant, or its date alone, or None when neither is known."""
    if moment.instant is not None:
        return instant_text(moment.instant)
    return moment.date.isoformat() if moment.date is not None else None


def answer_shape(answer: Answer) -> AnswerShape:
    return AnswerShape(
        id=answer.id,
        question=answer.question,
        standalone_question=answer.standalone_question,
        status=answer.status,
        retrieval=answer.retrieval,
        as_of=instant_text(answer.as_of),
        text=answer.text,
        sentences=[_sentence(sentence) for sentence in answer.sentences],
        notices=[NoticeShape(code=notice.code, text=notice.text) for notice in answer.notices],
        filters=FiltersShape(
            outlet=list(answer.filters.outlets),
            section=list(answer.filters.sections),
            since=instant_text(answer.filters.since),
            until=instant_text(answer.filters.until),
        ),
        hits=[_hit(rank, hit) for rank, hit in enumerate(answer.hits, start=1)],
        provenance=ProvenanceShape(
            version=answer.provenance.version,
            settings=answer.provenance.settings,
            embedding_model=answer.provenance.embedding_model,
            llm=answer.provenance.llm,
            prompt=answer.provenance.prompt,
        ),
        timings_ms=dict(answer.timings_ms),
    )


def search_shape(found: Retrieved) -> SearchShape:
    return SearchShape(
        retrieval=found.status,
        hits=[_hit(rank, hit) for rank, hit in enumerate(found.hits, start=1)],
    )


def ingest_shape(report: IngestReport) -> IngestShape:
    return IngestShape(
        added=report.added,
        updated=report.updated,
        unchanged=report.unchanged,
        failed=[_failure(failure) for failure in report.failed],
        warnings=[_failure(warning) for warning in report.warnings],
    )


def revision_shape(card: StoryCard, revision: Revision) -> RevisionShape:
    return RevisionShape(
        id=card.id,
        revision=revision.number,
        revisions=card.revisions,
        headline=revision.headline,
        outlet=card.outlet,
        section=card.section,
        url=card.url,
        authors=list(revision.authors),
        dateline=revision.dateline,
        genre=revision.genre,
        agency=revision.agency,
        language=revision.language,
        published=moment_text(revision.published),
        modified=moment_text(revision.modified),
        correction=revision.correction,
        partial=revision.partial,
        ingested=instant_text(revision.ingested) or "",
        body=revision.body,
    )


def stories_shape(cards: list[StoryCard]) -> StoriesShape:
    return StoriesShape(stories=[_brief(card) for card in cards])


def answer_from(shape: AnswerShape) -> Answer:
    """What a later question needs of an earlier answer; its hits are left out."""
    return Answer(
        id=shape.id,
        question=shape.question,
        standalone_question=shape.standalone_question,
        status=shape.status,
        retrieval=shape.retrieval,
        as_of=None,
        sentences=tuple(
            Sentence(
                sentence.text,
                tuple(
                    Citation(**{**citation.model_dump(), "published": Moment("")})
                    for citation in sentence.citations
                ),
            )
            for sentence in shape.sentences
        ),
        notices=tuple(Notice(notice.code, notice.text) for notice in shape.notices),
        filters=Filters(),
        hits=(),
        provenance=Provenance(**shape.provenance.model_dump()),
        timings_ms={},
    )


def _sentence(sentence: Sentence) -> SentenceShape:
    return SentenceShape(
        text=sentence.text,
        lead=sentence.lead,
        citations=[_citation(citation) for citation in sentence.citations],
        verdicts=[_verdict(verdict) for verdict in sentence.verdicts],
    )


def _citation(citation: Citation) -> CitationShape:
    return CitationShape(
        number=citation.number,
        story_id=citation.story_id,
        revision=citation.revision,
        passage_id=citation.passage_id,
        headline=citation.headline,
        outlet=citation.outlet,
        url=citation.url,
        published=moment_text(citation.published),
        start=citation.start,
        end=citation.end,
        quote=citation.quote,
    )


def _verdict(verdict: Verdict) -> VerdictShape:
    return VerdictShape(check=verdict.check, supported=verdict.supported, reason=verdict.reason)


def _hit(rank: int, hit: Hit) -> HitShape:
    return HitShape(
        rank=rank,
        score=hit.score,
        ranks=dict(hit.ranks),
        passage=PassageShape(
            id=hit.passage.id, start=hit.passage.start, end=hit.passage.end, text=hit.passage.text
        ),
        story=_brief(hit.story),
    )


def _brief(card: StoryCard) -> StoryBriefShape:
    return StoryBriefShape(
        id=card.id,
        revision=card.revision,
        headline=card.headline,
        outlet=card.outlet,
        section=card.section,
        url=card.url,
        published=moment_text(card.published),
    )


def _failure(failure: Failure) -> FailureShape:
    return FailureShape(
        source=failure.source, line=failure.line, reason=failure.reason, hint=failure.hint
    )


if __name__ == "__main__":
    for _name, _text in schemas().items():
        (Path(sys.argv[1]) / f"{_name}.json").write_text(_text, encoding="utf-8")
