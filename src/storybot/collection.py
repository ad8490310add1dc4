"""A data directory in use: its ledger, its vectors, its model, and the work between them.

Over 250 lines because opening, writing vectors and mending them share one lock
and one state.
"""

import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Literal

from storybot.chunking import chunk, embedded_text, vector_key
from storybot.embedding import Embedder
from storybot.errors import (
    ModelError,
    StoreDamagedError,
    StoreError,
    StoreModelError,
)
from storybot.index import VectorIndex, can_be_opened, remove, seal, unchanged
from storybot.ledger import Ledger, NewPassage
from storybot.owner import Ownership
from storybot.settings import Settings

_BATCH = 16
_SELF_QUERIES = 50
_REBUILDS = 3
_REBUILT = (
    "The vector index did not match the stories and is being rebuilt; "
    "until then stories without a vector are searched by their words only."
)
_TO_REBUILD = (
    "The vector index did not match the stories and was emptied; `storybot check --repair` "
    "fills it. Until then stories are searched by their words only."
)
_KEEPS_BREAKING = (
    "The vector index broke again and again, so stories are searched by their words only. "
    "Check the disk, then restart storybot."
)


@dataclass(frozen=True, slots=True)
class Health:
    """Whether both legs of the search serve. ``text`` says what to do when they do not."""

    status: Literal["ready", "indexing", "degraded"]
    text: str


class Collection:
    """The open parts of a data directory. One process has it at a time."""

    def __init__(
        self, folder: Path, ownership: Ownership, ledger: Ledger, embedder: Embedder
    ) -> None:
        self.folder = folder
        self.ownership = ownership
        self.ledger = ledger
        self.embedder = embedder
        self.index: VectorIndex | None = None
        self.trouble = ""
        self.background = False
        self._rebuilds = 0
        self._sealed = ""
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._worker: threading.Thread | None = None

    @classmethod
    def open(
        cls, settings: Settings, *, background: bool = True, reembed: bool = False
    ) -> "Collection":
        """Take and open a data directory. Raises a StoreError.

        ``reembed`` cuts and embeds every story anew for the model of the settings.
        """
        folder = settings.data_dir
        ownership = Ownership(folder)
        ownership.take()
        try:
            _refuse_lost_ledger(folder)
            ledger = Ledger(folder / "ledger.db", zone=settings.zone)
        except BaseException:
            ownership.release()
            raise
        collection = cls(folder, ownership, ledger, Embedder(settings.embedding_model))
        collection.background = background
        try:
            collection._adopt_model(settings.embedding_model, reembed=reembed)
            collection._open_index()
        except BaseException:
            collection.close()
            raise
        if background:
            collection._worker = threading.Thread(
                target=collection._work, name="indexer", daemon=True
            )
            collection._worker.start()
        return collection

    def close(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._worker is not None:
            self._worker.join()
        self.embedder.close()
        if self.index is not None:
            sound = self._whole()
            self.index.close()
            if sound:
                with suppress(StoreError, OSError):
                    closed = seal(self.index.folder, known=self._sealed)
                    self.ledger.set_meta("index_seal", closed)
        self.ledger.close()
        self.ownership.release()

    def wake(self) -> None:
        """Tell the background worker that passages wait."""
        self._wake.set()

    def health(self) -> Health:
        """Whether both legs of the search serve."""
        if self.trouble or not self._whole():
            return Health("degraded", self.trouble or _REBUILT)
        pending = self.ledger.counts(now=datetime.now(UTC)).pending
        if pending:
            return Health("indexing", f"{pending} passages wait for a vector; it is being made.")
        return Health("ready", "")

    def embed_pending(self, progress: Callable[[int], None] | None = None) -> None:
        """Write every missing vector now. ``progress`` is told how many were written."""
        while not self._stopping.is_set() and (written := self._embed_batch()):
            if progress is not None:
                progress(written)
        self.sweep()
        if self._whole() and not self.ledger.pending(1):
            self.trouble = ""

    def sweep(self) -> None:
        """Drop vectors that no passage uses any more."""
        with self._writing:
            orphans = self.ledger.orphans()
            if orphans and self.index is not None:
                self.index.delete(orphans)
                self.ledger.forget_vectors(orphans)

    def check(self, *, sample: int | None = None) -> list[str]:
        """What is wrong between ledger and vectors, in words; empty when nothing is.

        ``sample`` limits how many passages must find themselves; None means all.
        """
        faults = [f"ledger: {complaint}" for complaint in self.ledger.integrity()]
        faults += [f"vectors: {fault}" for fault in self._index_faults(sample)]
        if pending := self.ledger.counts(now=datetime.now(UTC)).pending:
            faults.append(f"vectors: {pending} passages wait for theirs")
        return faults

    def repair(self) -> None:
        """Make the keyword and the vector index anew where they do not fit the ledger.

        What is damaged in the ledger itself stays; ``check`` still names it.
        """
        if any("keyword index" in fault for fault in self.ledger.integrity()):
            self.ledger.rebuild_keywords()
        if self._index_faults(None):
            self._rebuild()
        self.embed_pending()

    # Opening

    def _adopt_model(self, name: str, *, reembed: bool) -> None:
        made_with = self.ledger.meta("embedding_model")
        if made_with is None or (made_with != name and self.ledger.is_empty()):
            self.ledger.set_meta("embedding_model", name)
        elif made_with != name and not reembed:
            raise StoreModelError(
                f"{self.folder} was made with the embedding model {made_with}, "
                f"but the setting is {name}.",
                hint="`storybot reembed` embeds its stories anew with the model of the setting; "
                "or set STORYBOT_EMBEDDING_MODEL back.",
            )
        if reembed or self.ledger.meta("recut") == "1":
            self._recut(name)

    def _recut(self, name: str) -> None:
        """Cut every story for the model; begun again from the start if it is interrupted."""
        self.embedder.warm_up()
        self.ledger.start_recut(name)
        for story_id, number, headline, body, language, posts in self.ledger.indexed_revisions():
            pieces = chunk(
                headline,
                body,
                self.embedder.token_spans,
                limit=self.embedder.limit,
                language=language,
                posts=posts,
            )
            passages = [
                NewPassage(p.start, p.end, p.prefix, vector_key(name, p.prefix, text))
                for p in pieces
                for text in (body[p.start : p.end],)
            ]
            self.ledger.replace_passages(story_id, number, headline, body, passages)
        self.ledger.start_index(_new_name())
        self.ledger.set_meta("recut", "0")

    def _open_index(self) -> None:
        """Open the vectors and see that they answer; rebuild them when they do not."""
        name = self.ledger.meta("index")
        if name is None:
            name = _new_name()
            self.ledger.set_meta("index", name)
        for stale in self.folder.glob("vectors-*"):
            if stale.name != name:
                remove(stale)
        try:
            self._break_seal(self.folder / name)
            self.index = VectorIndex(self.folder / name)
            faults = self._index_faults(_SELF_QUERIES)
            if not faults:
                self._drop_strays(self.index)
        except StoreDamagedError:
            faults = ["it cannot be opened"]
        if faults:
            try:
                self._rebuild()
            except StoreError as error:
                self.trouble = f"The vector index is unusable: {error} {error.hint}"

    def _break_seal(self, folder: Path) -> None:
        """Raise StoreDamagedError when the files are not as they were closed.

        The seal is gone before they are opened: files that were not closed in order,
        or that ended the process which opened them, are tried by another process.
        """
        self._sealed = self.ledger.meta("index_seal") or ""
        if self._sealed:
            self.ledger.set_meta("index_seal", "")
        if not folder.is_dir():
            return
        sound = unchanged(folder, self._sealed) if self._sealed else can_be_opened(folder)
        if not sound:
            raise StoreDamagedError(f"The vector index in {folder} cannot be opened.")

    def _drop_strays(self, index: VectorIndex) -> None:
        """Drop vectors the ledger does not know of, left by a process that was killed."""
        known = self.ledger.vector_keys()
        if index.count() > len(known):
            index.delete(sorted(index.keys() - set(known)))

    def _index_faults(self, sample: int | None) -> list[str]:
        if self.index is None:
            return ["there is no index"]
        keys = self.ledger.vector_keys()
        try:
            if self.index.count() < len(keys):
                return [f"{self.index.count()} of {len(keys)} are there"]
            chosen = keys
            if sample is not None and sample < len(keys):
                chosen = Random(len(keys)).sample(keys, sample)  # noqa: S311
            lost = self.index.unreachable(chosen)
        except StoreDamagedError:
            return ["the index does not answer"]
        return [f"{len(lost)} of {len(chosen)} do not find themselves"] if lost else []

    def _rebuild(self) -> None:
        """Begin an empty index in a new folder; its vectors are then made from the ledger."""
        with self._writing:
            old = self.ledger.meta("index")
            name = _new_name()
            try:
                index = VectorIndex(self.folder / name)
                self.ledger.start_index(name)
            except BaseException:
                remove(self.folder / name)
                raise
            closing, self.index = self.index, index
            self.trouble = _REBUILT if self.background else _TO_REBUILD
            if closing is not None:
                closing.close()
            if old:
                remove(self.folder / old)
        self.wake()

    def _whole(self) -> bool:
        return self.index is not None and not self.index.broken and self.index.folder.is_dir()

    # Vectors

    def _embed_batch(self) -> int:
        with self._writing:
            pending = self.ledger.pending(_BATCH)
            if not pending or self.index is None:
                return 0
            keys = [key for key, _, _ in pending]
            vectors = self.embedder.vectors(
                [embedded_text(prefix, text) for _, prefix, text in pending]
            )
            self.index.upsert(keys, vectors)
            self.ledger.mark_embedded(keys)
            return len(keys)

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._whole() or self._renew():
                    self.embed_pending()
            except (StoreError, ModelError) as error:
                if not self._stopping.is_set():
                    self.trouble = f"{error} {error.hint}"
            self._wake.wait(timeout=5.0)
            self._wake.clear()

    def _renew(self) -> bool:
        """Rebuild an index that broke while in use; False when it has broken too often."""
        if self._rebuilds == _REBUILDS:
            self.trouble = _KEEPS_BREAKING
            return False
        self._rebuild()
        self._rebuilds += 1
        return True


def _refuse_lost_ledger(folder: Path) -> None:
    """Raise StoreDamagedError when there are vectors but the stories are gone."""
    path = folder / "ledger.db"
    if any(folder.glob("vectors-*")) and not (path.exists() and path.stat().st_size):
        raise StoreDamagedError(
            f"{path} is gone or empty, though {folder} has been in use.",
            hint="Restore the file from a backup, or remove the folder and ingest again.",
        )


def _new_name() -> str:
    return f"vectors-{secrets.token_hex(4)}"
