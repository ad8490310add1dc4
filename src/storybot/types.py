"""The nouns of storybot, shared by every module.

All are frozen. Offsets are Unicode code points into a revision's ``body``,
start inclusive, end exclusive. Instants are aware datetimes in UTC.

Over 250 lines because all nouns stand together.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

MomentFlag = Literal["ok", "date only", "ambiguous", "none"]
StoryStatus = Literal["usable", "withheld", "killed"]
AnswerStatus = Literal["answered", "declined"]
RetrievalStatus = Literal["full", "partial", "keyword"]
Outcome = Literal["added", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as a source gave it, read but never guessed.

    ``offset`` is minutes east of UTC, None when the source named no zone.
    A moment with a date but no instant covers that whole day.
    """

    raw: str
    instant: datetime | None = None
    date: dt.date | None = None
    offset: int | None = None
    flag: MomentFlag = "none"


@dataclass(frozen=True, slots=True)
class Alias:
    """A name a story is known by outside storybot.

    Kinds, strongest first: ``id`` (outlet and declared id), ``agency`` (outlet
    and agency id), ``url`` (canonical address), ``path`` (source file).
    """

    kind: Literal["id", "agency", "url", "path"]
    value: str


@dataclass(frozen=True, slots=True)
class Post:
    """One timed entry of a live page: ``body[start:end]``."""

    time: Moment
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A story as a reader understood it, before the ledger gives it an id."""

    source: str
    headline: str
    body: str
    aliases: tuple[Alias, ...] = ()
    line: int | None = None
    outlet: str = ""
    section: str = ""
    url: str = ""
    status: StoryStatus = "usable"
    embargoed_until: datetime | None = None
    authors: tuple[str, ...] = ()
    dateline: str = ""
    genre: str = ""
    agency: str = ""
    language: str = ""
    published: Moment = Moment("")
    modified: Moment = Moment("")
    correction: str = ""
    partial: bool = False
    posts: tuple[Post, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Story:
    """What stays the same over a story's revisions."""

    id: str
    aliases: tuple[Alias, ...]
    outlet: str
    section: str
    url: str
    status: StoryStatus


@dataclass(frozen=True, slots=True)
class Revision:
    """One version of a story's text. ``number`` counts from 1."""

    story_id: str
    number: int
    headline: str
    body: str
    authors: tuple[str, ...]
    dateline: str
    genre: str
    agency: str
    language: str
    published: Moment
    modified: Moment
    correction: str
    partial: bool
    posts: tuple[Post, ...]
    content_hash: str
    embargoed_until: datetime | None
    ingested: datetime


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a revision sized for the embedding model.

    ``text == body[start:end]``. ``vector_key`` names the vector of the
    embedded text, which is ``prefix`` and ``text``.
    """

    id: str
    story_id: str
    revision: int
    start: int
    end: int
    text: str
    vector_key: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class StoryCard:
    """What is shown of a story beside a passage or in a list."""

    id: str
    revision: int
    headline: str
    outlet: str
    section: str
    url: str
    published: Moment
    modified: Moment = Moment("")
    authors: tuple[str, ...] = ()
    dateline: str = ""
    genre: str = ""
    language: str = ""
    correction: str = ""
    revisions: int = 1


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved passage. ``ranks`` holds its 1-based place in each leg that found it."""

    passage: Passage
    story: StoryCard
    score: float
    ranks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filters:
    """Limits on which stories may answer. ``since`` is inclusive, ``until`` exclusive."""

    outlets: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    def __bool__(self) -> bool:
        return bool(self.outlets or self.sections or self.since or self.until)


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a sentence stands: ``quote == body[start:end]`` of that revision."""

    number: int
    story_id: str
    revision: int
    passage_id: str
    start: int
    end: int
    quote: str
    headline: str
    outlet: str
    url: str
    published: Moment


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one check of a sentence against what it cites."""

    check: str
    supported: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer. ``lead`` is a fixed template's words, not the story's."""

    text: str
    citations: tuple[Citation, ...]
    verdicts: tuple[Verdict, ...] = ()
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """storybot's own fixed words. ``code`` is stable; ``text`` is for people."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """What made an answer, so that it can be made again."""

    version: str
    settings: str
    embedding_model: str
    llm: str | None = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A question's outcome. Every sentence carries a citation that holds."""

    id: str
    question: str
    standalone_question: str
    status: AnswerStatus
    retrieval: RetrievalStatus
    as_of: datetime | None
    sentences: tuple[Sentence, ...]
    notices: tuple[Notice, ...]
    filters: Filters
    hits: tuple[Hit, ...]
    provenance: Provenance
    timings_ms: Mapping[str, float]

    @property
    def text(self) -> str:
        """The sentences joined by spaces, without leads or markers."""
        return " ".join(sentence.text for sentence in self.sentences)


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange of a conversation."""

    question: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Event:
    """A step of an answer being made, for a page that streams.

    ``stage`` events say what is being done (``searching``, ``reading``,
    ``checking``); ``sentence`` events bring a checked sentence; one ``final``
    event brings the whole answer.
    """

    kind: Literal["stage", "sentence", "final"]
    stage: str = ""
    sentence: Sentence | None = None
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A story that did not go in, and what to do about it."""

    source: str
    line: int | None
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The outcome of one ingest run."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: tuple[Failure, ...] = ()
    warnings: tuple[Failure, ...] = ()
