"""Storybot: one open collection that can be asked, searched and added to.

Over 250 lines because it is the one place where all parts meet.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from types import TracebackType
from typing import BinaryIO

from storybot import examples, verifying
from storybot.answering import extractive
from storybot.answering.question import analyse
from storybot.collection import Collection, Health
from storybot.conversation import Standalone, standalone
from storybot.errors import QuestionError, StoreDamagedError
from storybot.ingest.run import Store, Tally
from storybot.ledger import Counts
from storybot.retrieval import Retrieved, Retriever
from storybot.settings import Settings, load_settings
from storybot.text import bare
from storybot.types import (
    Answer,
    Citation,
    Event,
    Filters,
    Hit,
    IngestReport,
    Notice,
    Provenance,
    Revision,
    Sentence,
    StoryCard,
    Turn,
)

MAX_QUESTION = 2_000
SHOWN_HITS = 10
DECLINE_BELOW = 0.28
_NEAREST = 3


class Storybot:
    """An open collection of stories.

    Make one with ``Storybot.open()`` and use it as a context manager. It may be
    used from many threads; only one process at a time may have a data directory open.
    """

    def __init__(self, settings: Settings, collection: Collection) -> None:
        self.settings = settings
        self.collection = collection
        self.retriever = Retriever(collection)
        self._body = lru_cache(maxsize=512)(collection.ledger.body)

    @classmethod
    def open(cls, settings: Settings | None = None, *, background: bool = True) -> "Storybot":
        """Take the data directory and open what is in it, making it when it is not there.

        ``background`` keeps writing missing vectors while it is open. Raises a
        StoreError that says what is wrong and what to do.
        """
        settings = settings or load_settings()
        return cls(settings, Collection.open(settings, background=background))

    def close(self) -> None:
        """Stop background work and give the data directory back."""
        self.collection.close()

    def __enter__(self) -> "Storybot":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Asking

    def search(
        self,
        question: str,
        *,
        k: int = SHOWN_HITS,
        filters: Filters | None = None,
        now: datetime | None = None,
    ) -> Retrieved:
        """The ``k`` best passages for a question, best first. Raises QuestionError."""
        question = _checked(question)
        now = now or datetime.now(UTC)
        known, _ = self._known(filters or Filters(), now=now)
        if known is None:
            return Retrieved((), "full")
        return self.retriever.search(question, k=k, filters=known, now=now)

    def ask(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        filters: Filters | None = None,
        now: datetime | None = None,
    ) -> Answer:
        """Answer from the stories, or decline. Raises QuestionError for what is no question."""
        for event in self.stream(question, history=history, filters=filters, now=now):
            if event.answer is not None:
                return event.answer
        raise AssertionError("a stream ends with its answer")

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        filters: Filters | None = None,
        now: datetime | None = None,
    ) -> Iterator[Event]:
        """The steps of an answer: stages, checked sentences, then the whole answer."""
        question = _checked(question)
        now = now or datetime.now(UTC)
        clock = _Clock()
        yield Event("stage", stage="searching")
        asked = standalone(question, history)
        known, notices = self._known(filters or Filters(), now=now)
        if known is None:
            found = Retrieved((), "full")
        else:
            favour = tuple(dict.fromkeys(each.story_id for each in asked.previous))
            found = self.retriever.search(
                asked.text, k=extractive.READ_PASSAGES, filters=known, now=now, favour=favour
            )
        clock.lap("search")
        yield Event("stage", stage="reading")
        reading = self._read(asked, found.hits)
        clock.lap("read")
        yield Event("stage", stage="checking")
        sentences: tuple[Sentence, ...] = ()
        if reading.confidence >= DECLINE_BELOW:
            sentences = self._verified(reading.chosen)
        clock.lap("check")
        for sentence in sentences:
            yield Event("sentence", sentence=sentence)
        answer = self._answer(
            question, asked, found, sentences, notices, known or Filters(), clock, now=now
        )
        yield Event("final", answer=answer)

    def _read(self, asked: Standalone, hits: Sequence[Hit]) -> extractive.Reading:
        if not hits:
            return extractive.Reading((), 0.0, ())
        weighed = analyse(
            asked.question,
            self.collection.ledger.document_frequency,
            full=asked.text,
            subject=asked.subject,
        )
        return extractive.read(
            weighed,
            hits,
            bodies=self._body,
            encode=self.collection.embedder.encoded,
            previous=asked.previous,
        )

    def _verified(self, chosen: Sequence[extractive.Candidate]) -> tuple[Sentence, ...]:
        """The chosen sentences as cited ones; what fails a check is left out."""
        kept: list[Sentence] = []
        for candidate in chosen:
            story = candidate.hit.story
            citation = Citation(
                number=len(kept) + 1,
                story_id=story.id,
                revision=candidate.hit.passage.revision,
                passage_id=candidate.hit.passage.id,
                start=candidate.start,
                end=candidate.end,
                quote=candidate.text,
                headline=story.headline,
                outlet=story.outlet,
                url=story.url,
                published=story.published,
            )
            sentence = Sentence(candidate.text, (citation,))
            verdicts = verifying.verify(sentence, self._body)
            if verifying.holds(verdicts):
                kept.append(Sentence(candidate.text, (citation,), verdicts))
        return tuple(kept)

    def _answer(
        self,
        question: str,
        asked: Standalone,
        found: Retrieved,
        sentences: tuple[Sentence, ...],
        notices: list[Notice],
        filters: Filters,
        clock: "_Clock",
        *,
        now: datetime,
    ) -> Answer:
        if not sentences:
            notices += self._declined(found.hits, notices, now=now)
        notices += self._state(found, sentences)
        cited = {c.story_id for sentence in sentences for c in sentence.citations}
        times = [
            moment.instant
            for hit in found.hits
            if hit.story.id in cited
            for moment in (hit.story.published, hit.story.modified)
            if moment.instant is not None
        ]
        return Answer(
            id=secrets.token_hex(8),
            question=question,
            standalone_question=asked.text,
            status="answered" if sentences else "declined",
            retrieval=found.status,
            as_of=max(times, default=None),
            sentences=sentences,
            notices=tuple(notices),
            filters=filters,
            hits=found.hits[:SHOWN_HITS],
            provenance=Provenance(
                version=version("storybot"),
                settings=self.settings.fingerprint(),
                embedding_model=self.settings.embedding_model,
            ),
            timings_ms=clock.laps,
        )

    def _declined(
        self, hits: Sequence[Hit], notices: Sequence[Notice], *, now: datetime
    ) -> list[Notice]:
        if any(notice.code.startswith("unknown_") for notice in notices):
            return []
        if not self.collection.ledger.counts(now=now).stories:
            return [
                Notice(
                    "empty_collection",
                    "There are no stories here yet. Add some with `storybot ingest PATH`.",
                )
            ]
        said = [Notice("not_in_stories", "The stories here do not answer this.")]
        headlines = list(dict.fromkeys(hit.story.headline for hit in hits))[:_NEAREST]
        if headlines:
            said.append(Notice("nearest", "Nearest headlines: " + "; ".join(headlines)))
        return said

    def _state(self, found: Retrieved, sentences: Sequence[Sentence]) -> list[Notice]:
        notices: list[Notice] = []
        if self.collection.trouble:
            notices.append(Notice("index_degraded", self.collection.trouble))
        elif found.status == "partial":
            text = "Some stories are still being indexed; they are searched by their words only."
            if not self.collection.background:
                text = (
                    "Some stories have no vector yet; they are searched by their words only. "
                    "`storybot check --repair` makes the vectors."
                )
            notices.append(Notice("partial_index", text))
        elif found.status == "keyword" and found.hits:
            notices.append(
                Notice("keyword_only", "Stories were searched by their words only this time.")
            )
        cited = {c.story_id for sentence in sentences for c in sentence.citations}
        corrected = {
            hit.story.id: hit.story
            for hit in found.hits
            if hit.story.id in cited and hit.story.correction
        }
        for story in corrected.values():
            outlet = story.outlet or "The outlet"
            notices.append(
                Notice("corrected", f"{outlet} on “{story.headline}”: {story.correction}")
            )
        return notices

    def _known(self, filters: Filters, *, now: datetime) -> tuple[Filters | None, list[Notice]]:
        """Filters with outlets and sections as the ledger spells them; None when one is unknown."""
        chosen: dict[str, tuple[str, ...]] = {}
        for column, wanted in (("outlet", filters.outlets), ("section", filters.sections)):
            if not wanted:
                chosen[column] = ()
                continue
            there = self.collection.ledger.names(column, now=now)
            matched: list[str] = []
            for name in wanted:
                same = [known for known in there if _same_name(known, name)]
                if not same:
                    listed = ", ".join(there[:8]) or "none yet"
                    text = f"No story here is from the {column} “{name}”. There are: {listed}."
                    return None, [Notice(f"unknown_{column}", text)]
                matched += same
            chosen[column] = tuple(dict.fromkeys(matched))
        return (
            Filters(chosen["outlet"], chosen["section"], filters.since, filters.until),
            [],
        )

    # The collection

    def ingest(
        self,
        data: bytes | BinaryIO,
        *,
        source: str,
        now: datetime | None = None,
        progress: Callable[[Tally], None] | None = None,
    ) -> IngestReport:
        """Read one input's stories and keep them; each can be found by its words at once.

        Bad stories are reported, never raised. Vectors follow in the background,
        or by ``collection.embed_pending()``.
        """
        store = Store(
            ledger=self.collection.ledger,
            token_spans=self.collection.embedder.token_spans,
            limit=lambda: self.collection.embedder.limit,
            model=self.settings.embedding_model,
        )
        try:
            return store.put(data, source=source, now=now or datetime.now(UTC), progress=progress)
        finally:
            self.collection.wake()

    def story(
        self, story_id: str, revision: int | None = None, *, now: datetime | None = None
    ) -> tuple[StoryCard, Revision]:
        """A story and one of its revisions, by default the current one. Raises NotFoundError."""
        return self.collection.ledger.revision(story_id, revision, now=now or datetime.now(UTC))

    def stories(
        self,
        *,
        filters: Filters | None = None,
        limit: int = 100,
        offset: int = 0,
        now: datetime | None = None,
    ) -> list[StoryCard]:
        """Stories, newest first."""
        now = now or datetime.now(UTC)
        known, _ = self._known(filters or Filters(), now=now)
        if known is None:
            return []
        return self.collection.ledger.stories(now=now, filters=known, limit=limit, offset=offset)

    def delete(self, story_id: str) -> None:
        """Remove a story with all its revisions and vectors. Raises NotFoundError."""
        self.collection.ledger.delete(story_id, now=datetime.now(UTC))
        self._body.cache_clear()
        with suppress(StoreDamagedError):
            self.collection.sweep()

    def counts(self) -> Counts:
        """How many stories and passages there are, and how many passages wait for a vector."""
        return self.collection.ledger.counts(now=datetime.now(UTC))

    def health(self) -> Health:
        """Whether both legs serve, and what to do when they do not."""
        return self.collection.health()

    def examples(self) -> list[str]:
        """Questions that the stories here answer, for a first screen; at most four."""
        kept = self.collection.ledger.meta("examples")
        return [str(question) for question in json.loads(kept)] if kept else []

    def refresh_examples(self) -> None:
        """Make the example questions anew from the newest stories."""
        newest = [
            (card, self._body(card.id, card.revision))
            for card in self.stories(limit=examples.STORIES)
            if card.language in ("", "en") and card.genre not in ("opinion", "column")
        ]
        chosen = examples.choose(newest, self.ask)
        self.collection.ledger.set_meta("examples", json.dumps(chosen, ensure_ascii=False))


def _checked(question: str) -> str:
    """The question without control characters. Raises QuestionError."""
    clean = " ".join(
        "".join(
            c if c.isprintable() and not 0xD800 <= ord(c) <= 0xDFFF else " " for c in question
        ).split()
    )
    if not clean:
        raise QuestionError("The question is empty.", hint="Ask about something in the stories.")
    if len(clean) > MAX_QUESTION:
        raise QuestionError(
            f"The question has {len(clean):,} characters; at most {MAX_QUESTION:,} are read.",
            hint="Shorten it to what you want to know.",
        )
    return clean


def _same_name(known: str, wanted: str) -> bool:
    a, b = (bare(name).removeprefix("the ") for name in (known, wanted))
    return a == b


class _Clock:
    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round((now - self._last) * 1000, 2)
        self.laps["total"] = round((now - self._start) * 1000, 2)
        self._last = now
