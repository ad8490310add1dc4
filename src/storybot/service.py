"""The bot in public shapes: what the commands, the page's server and the HTTP API share."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Annotated, BinaryIO

from pydantic import AwareDatetime, Field

from storybot.bot import SHOWN_HITS, Storybot
from storybot.shapes import (
    AnswerShape,
    CheckShape,
    IngestShape,
    RevisionShape,
    SearchShape,
    Shape,
    StoriesShape,
    answer_from,
    answer_shape,
    ingest_shape,
    revision_shape,
    search_shape,
    stories_shape,
)
from storybot.types import Filters, Turn

MAX_K = 100
MAX_LISTED = 1_000
MAX_NUMBER = 2**31
Names = Annotated[list[str], Field(max_length=50)]


class Query(Shape):
    """Which stories: outlets and sections by name, ``since`` inclusive, ``until`` exclusive."""

    outlet: Names = Field(default_factory=list)
    section: Names = Field(default_factory=list)
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    now: AwareDatetime | None = None

    def filters(self) -> Filters:
        return Filters(tuple(self.outlet), tuple(self.section), self.since, self.until)


class AskQuery(Query):
    """A question, and the answers of its conversation so far, oldest first."""

    question: str
    history: list[AnswerShape] = Field(default_factory=list, max_length=50)


class SearchQuery(Query):
    question: str
    k: int = Field(default=SHOWN_HITS, ge=1, le=MAX_K)


class ListQuery(Query):
    limit: int = Field(default=50, ge=1, le=MAX_LISTED)
    offset: int = Field(default=0, ge=0, le=MAX_NUMBER)


class Service:
    """An open Storybot that takes queries and returns shapes."""

    def __init__(self, bot: Storybot) -> None:
        self.bot = bot

    def __enter__(self) -> "Service":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bot.close()

    def ask(self, query: AskQuery) -> AnswerShape:
        history: Sequence[Turn] = [
            Turn(answer.question, answer_from(answer)) for answer in query.history
        ]
        return answer_shape(
            self.bot.ask(query.question, history=history, filters=query.filters(), now=query.now)
        )

    def search(self, query: SearchQuery) -> SearchShape:
        return search_shape(
            self.bot.search(query.question, k=query.k, filters=query.filters(), now=query.now)
        )

    def stories(self, query: ListQuery) -> StoriesShape:
        return stories_shape(
            self.bot.stories(
                filters=query.filters(), limit=query.limit, offset=query.offset, now=query.now
            )
        )

    def story(self, story_id: str, revision: int | None) -> RevisionShape:
        return revision_shape(*self.bot.story(story_id, revision))

    def delete(self, story_id: str) -> None:
        self.bot.delete(story_id)

    def check(self, *, repair: bool) -> CheckShape:
        faults = self.bot.collection.check()
        repaired = False
        if repair:
            self.bot.collection.repair()
            remaining = self.bot.collection.check()
            repaired = bool(faults) and not remaining
            faults = remaining or faults
        counts = self.bot.collection.ledger.counts(now=datetime.now(UTC))
        return CheckShape(
            stories=counts.stories,
            passages=counts.passages,
            pending=counts.pending,
            faults=faults,
            repaired=repaired,
        )

    def ingest(
        self,
        file: BinaryIO,
        source: str,
        progress: Callable[[int], None],
    ) -> IngestShape:
        """Read one input; ``progress`` is told how many stories were read so far."""
        report = self.bot.ingest(
            file,
            source=source,
            progress=lambda tally: progress(sum(tally.counts.values()) + len(tally.failed)),
        )
        return ingest_shape(report)
