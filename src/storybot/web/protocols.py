"""What the page needs of the bot."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from storybot.types import Event, Revision, StoryCard, Turn


class CollectionCounts(Protocol):
    """``pending`` passages have no vector yet."""

    @property
    def stories(self) -> int: ...
    @property
    def passages(self) -> int: ...
    @property
    def pending(self) -> int: ...


class PageBot(Protocol):
    """Its methods are called from several threads at once and raise StorybotError."""

    def stream(self, question: str, *, history: Sequence[Turn]) -> Iterator[Event]: ...

    def story(self, story_id: str, revision: int | None) -> tuple[StoryCard, Revision]:
        """A story as it may be shown now; None is its current revision.

        Raises NotFoundError for one that is withheld, killed or under embargo.
        """
        ...

    def examples(self) -> list[str]:
        """Questions this collection can answer; the page shows the first four."""
        ...

    def counts(self) -> CollectionCounts: ...
