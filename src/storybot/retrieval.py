"""Finding passages: keyword and vector legs, reciprocal rank fusion, live hits only.

``StoryRetriever`` at the end shows the same search as a LangChain retriever.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from storybot import text
from storybot.chunking import embedded_text
from storybot.embedding import Embedder, Vectors
from storybot.errors import ModelError, StoreDamagedError
from storybot.index import VectorIndex
from storybot.ledger import Ledger
from storybot.types import Filters, Hit, Passage, RetrievalStatus, StoryCard

RRF_K = 60
LEG_DEPTH = 100
PER_STORY = 3
EMBED_AT_ASK = 20
_MAX_TERMS = 64


class Parts(Protocol):
    """What a search needs. The index may be replaced while it is in use."""

    ledger: Ledger
    embedder: Embedder
    index: VectorIndex | None


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Hits best first, and whether both legs served."""

    hits: tuple[Hit, ...]
    status: RetrievalStatus


@dataclass(frozen=True, slots=True)
class _Leg:
    rows: tuple[int, ...]
    scores: tuple[float, ...]


class Retriever:
    """Searches one collection; without an index, by keywords alone."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @property
    def ledger(self) -> Ledger:
        return self._parts.ledger

    @property
    def index(self) -> VectorIndex | None:
        return self._parts.index

    @property
    def embedder(self) -> Embedder:
        return self._parts.embedder

    def search(
        self,
        question: str,
        *,
        k: int = 10,
        filters: Filters | None = None,
        now: datetime,
        favour: Sequence[str] = (),
    ) -> Retrieved:
        """The ``k`` best passages for a question.

        Scores are sums of 1 / (60 + rank) over the legs (Cormack, Clarke and
        Büttcher, 2009). Stories in ``favour`` count as found by a third leg, in
        the order the other two give them.
        """
        filters = filters or Filters()
        query = keyword_query(question)
        keyword_rows = (
            self.ledger.keyword(query, LEG_DEPTH, filters=filters, now=now) if query else []
        )
        keyword = _Leg(
            tuple(row for row, _ in keyword_rows), tuple(score for _, score in keyword_rows)
        )
        vector, status = self._vector_leg(question, keyword, filters=filters, now=now)
        legs = {"keyword": keyword, "vector": vector}
        fused = _fuse(legs)
        found = self.ledger.passages(list(fused), now=now)
        order = [row for row in fused if row in found]
        if favour:
            favoured = [row for row in order if found[row][1].id in favour]
            legs["conversation"] = _Leg(tuple(favoured), ())
            fused = _fuse(legs)
            order = [row for row in fused if row in found]
        hits = self._hits(order, found, fused, legs, k)
        return Retrieved(tuple(hits), status)

    @staticmethod
    def _hits(
        order: Sequence[int],
        found: dict[int, tuple[Passage, StoryCard]],
        fused: dict[int, float],
        legs: dict[str, _Leg],
        k: int,
    ) -> list[Hit]:
        places = {
            name: {row: at + 1 for at, row in enumerate(leg.rows)} for name, leg in legs.items()
        }
        chosen: list[int] = []
        spare: list[int] = []
        taken: dict[str, int] = {}
        seen: set[str] = set()
        for row in order:
            passage, story = found[row]
            same = text.bare(passage.text)
            if same in seen:
                continue
            seen.add(same)
            taken[story.id] = taken.get(story.id, 0) + 1
            (chosen if taken[story.id] <= PER_STORY else spare).append(row)
        kept = sorted((chosen + spare)[:k], key=lambda row: -fused[row])
        return [
            Hit(
                *found[row],
                fused[row],
                {name: at[row] for name, at in places.items() if row in at},
            )
            for row in kept
        ]

    def _vector_leg(
        self, question: str, keyword: _Leg, *, filters: Filters, now: datetime
    ) -> tuple[_Leg, RetrievalStatus]:
        """The nearest live passages; those the keyword leg found too early are embedded here."""
        if self.index is None or not question.strip():
            return _Leg((), ()), "keyword"
        try:
            vector = self.embedder.encoded([question])[0].vector
            scored = self._nearest(vector, filters=filters, now=now)
            late = self._not_yet_embedded(keyword.rows[:LEG_DEPTH], now=now)
            if late:
                read = [embedded_text(passage.prefix, passage.text) for _, passage in late]
                cosines = [float(each.vector @ vector) for each in self.embedder.encoded(read)]
                scored += [(row, cosine) for (row, _), cosine in zip(late, cosines, strict=True)]
                scored.sort(key=lambda each: (-each[1], each[0]))
        except (ModelError, StoreDamagedError):
            return _Leg((), ()), "keyword"
        status: RetrievalStatus = "partial" if self.ledger.pending(1) else "full"
        return _Leg(tuple(r for r, _ in scored), tuple(c for _, c in scored)), status

    def _nearest(
        self, vector: Vectors, *, filters: Filters, now: datetime
    ) -> list[tuple[int, float]]:
        if self.index is None:
            return []
        among = None
        if filters:
            rows = self.ledger.live_rows(filters=filters, now=now)
            among = sorted({key for _, key in rows})
        total = self.index.count() if among is None else len(among)
        n = min(LEG_DEPTH, total)
        while True:
            found = dict(self.index.query(vector, n, among=among))
            rows = self.ledger.live_rows(filters=filters, now=now, keys=list(found))
            if len(rows) >= min(LEG_DEPTH, n) or n >= total:
                break
            n = min(n * 4, total)
        scored = sorted(
            ((row, found[key]) for row, key in rows), key=lambda each: (-each[1], each[0])
        )
        return scored[:LEG_DEPTH]

    def _not_yet_embedded(self, rows: Sequence[int], *, now: datetime) -> list[tuple[int, Passage]]:
        waiting = self.ledger.unembedded(rows)[:EMBED_AT_ASK]
        found = self.ledger.passages(waiting, now=now) if waiting else {}
        return [(row, found[row][0]) for row in waiting if row in found]


def keyword_query(question: str) -> str:
    """An FTS5 query of the question's words, each quoted, any of which may match."""
    wanted = text.content_stems(question) or text.stems(question)
    return " OR ".join(f'"{word}"' for word in wanted[:_MAX_TERMS])


def _fuse(legs: dict[str, _Leg]) -> dict[int, float]:
    scores: dict[int, float] = {}
    for leg in legs.values():
        for rank, row in enumerate(leg.rows, start=1):
            scores[row] = scores.get(row, 0.0) + 1.0 / (RRF_K + rank)
    exact = {row: rank for rank, row in enumerate(legs["keyword"].rows)}
    return dict(
        sorted(scores.items(), key=lambda each: (-each[1], exact.get(each[0], len(exact)), each[0]))
    )


class StoryRetriever(BaseRetriever):
    """storybot's search as a LangChain retriever.

    ``Document.page_content`` is the passage; metadata holds story_id, revision,
    start, end (code points of the body), headline, outlet, url, published, score.
    """

    search: Callable[[str, int], Sequence[Hit]]
    k: int = 10

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        return [to_document(hit) for hit in self.search(query, self.k)]


def to_document(hit: Hit) -> Document:
    """A hit as a LangChain document."""
    published = hit.story.published
    when = published.instant.astimezone(UTC).isoformat() if published.instant else published.raw
    return Document(
        id=hit.passage.id,
        page_content=hit.passage.text,
        metadata={
            "story_id": hit.story.id,
            "revision": hit.passage.revision,
            "start": hit.passage.start,
            "end": hit.passage.end,
            "headline": hit.story.headline,
            "outlet": hit.story.outlet,
            "section": hit.story.section,
            "url": hit.story.url,
            "published": when,
            "score": hit.score,
        },
    )
