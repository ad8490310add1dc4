"""Reading inputs and storing what they hold, one story at a time."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from storybot.chunking import TokenSpans, chunk, vector_key
from storybot.errors import InputError, StorybotError
from storybot.ingest import SUFFIXES, read_stories
from storybot.ledger import Ledger, NewPassage
from storybot.types import Draft, Failure, IngestReport, Outcome


@dataclass(slots=True)
class Tally:
    """An ingest report being made."""

    counts: dict[Outcome, int] = field(
        default_factory=lambda: {"added": 0, "updated": 0, "unchanged": 0}
    )
    failed: list[Failure] = field(default_factory=list)
    warnings: list[Failure] = field(default_factory=list)

    def report(self) -> IngestReport:
        return IngestReport(
            added=self.counts["added"],
            updated=self.counts["updated"],
            unchanged=self.counts["unchanged"],
            failed=tuple(self.failed),
            warnings=tuple(self.warnings),
        )

    def add(self, report: IngestReport) -> None:
        self.counts["added"] += report.added
        self.counts["updated"] += report.updated
        self.counts["unchanged"] += report.unchanged
        self.failed += report.failed
        self.warnings += report.warnings


def find_inputs(names: Iterable[str]) -> tuple[list[Path], list[Failure]]:
    """The files that names, folders and globs stand for, each once, and what is not there."""
    found: dict[Path, None] = {}
    failed: list[Failure] = []
    for path, name in _expanded(names):
        if not name.strip():
            failed.append(Failure(name, None, "no name", "Name a file, a folder or a glob."))
        elif os.path.isdir(path):  # noqa: PTH112  False for a name too long
            inside = [
                file
                for file in sorted(path.rglob("*"))
                if file.is_file()
                and file.name.lower().endswith(SUFFIXES)
                and file.stem.upper() != "README"
                and not any(part.startswith(".") for part in file.relative_to(path).parts)
            ]
            if not inside:
                failed.append(
                    Failure(
                        printable(name),
                        None,
                        "no stories in this folder",
                        f"Put files ending in {', '.join(SUFFIXES)} there, or name another.",
                    )
                )
            found.update(dict.fromkeys(inside))
        elif os.path.exists(path):  # noqa: PTH110
            found[path] = None
        else:
            failed.append(Failure(printable(name), None, "no such file", "Check the path."))
    return list(found), failed


def _expanded(names: Iterable[str]) -> Iterator[tuple[Path, str]]:
    for name in names:
        home = os.path.expanduser(name)  # noqa: PTH111  leaves ~nobody as it is
        found = [] if os.path.lexists(home) else sorted(glob.glob(home, recursive=True))  # noqa: PTH207
        for match in found or [home]:
            yield Path(match), name if match == home else match


def source_name(path: Path) -> str:
    """The name a file goes by in the ledger: the same however its folder is written."""
    return printable(str(Path(os.path.realpath(path.parent)) / path.name))


def printable(name: str) -> str:
    """A file name as text; bytes that are no UTF-8 are written out."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Store:
    """Where stories go, and how they are cut. ``limit`` is in word pieces."""

    ledger: Ledger
    token_spans: TokenSpans
    limit: Callable[[], int]
    model: str

    def put(
        self,
        data: bytes | BinaryIO,
        *,
        source: str,
        now: datetime,
        progress: Callable[[Tally], None] | None = None,
    ) -> IngestReport:
        """Read one input and keep each of its stories. Raises only StoreError and ModelError."""
        tally = Tally()
        for item in self._read(data, source):
            if isinstance(item, Failure):
                tally.failed.append(item)
            else:
                self._keep(item, tally, now=now)
            if progress is not None:
                progress(tally)
        return tally.report()

    @staticmethod
    def _read(data: bytes | BinaryIO, source: str) -> Iterator[Draft | Failure]:
        try:
            yield from read_stories(data, source=source)
        except InputError as error:
            yield Failure(source, error.line, str(error), error.hint)
        except StorybotError:
            raise
        except OSError as error:
            yield Failure(
                source, None, f"cannot be read: {error.strerror or error}", "Check the file."
            )

    def _keep(self, draft: Draft, tally: Tally, *, now: datetime) -> None:
        match = self.ledger.match(draft)
        if match.outcome != "unchanged":
            chunks = chunk(
                draft.headline,
                draft.body,
                self.token_spans,
                limit=self.limit(),
                language=draft.language,
                posts=draft.posts,
            )
            passages = [
                NewPassage(
                    piece.start,
                    piece.end,
                    piece.prefix,
                    vector_key(self.model, piece.prefix, draft.body[piece.start : piece.end]),
                )
                for piece in chunks
            ]
            match = self.ledger.write(draft, passages, now=now)
        tally.counts[match.outcome] += 1
        notes = [*draft.warnings, *([match.reason] if match.reason else [])]
        tally.warnings += [Failure(draft.source, draft.line, note, "") for note in notes]
