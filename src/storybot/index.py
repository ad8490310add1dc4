"""Vectors of the passages in Chroma. A cache: the ledger can always rebuild it.

Records carry a vector key and nothing else; what a key stands for, and whether
it may be shown, is the ledger's to say. One process owns the folder at a time.
"""

import contextlib
import hashlib
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storybot.errors import DiskFullError, StoreDamagedError, StoreError

_COLLECTION = "passages"
_BATCH = 500
_LENGTH_ERROR = 0.01
_TRIED = 50
_BLOCK = 1 << 20
_TRIAL_SECONDS = 300
_LEAST_ROOM = 1 << 20
_NO_ROOM = ("readonly database", "read-only", "disk is full", "no space left")


class VectorIndex:
    """One Chroma collection under cosine distance.

    Vectors have shape (n, dimensions), float32, length 1. ``broken`` is set once
    a call has failed in a way that only a new index mends.
    """

    def __init__(self, folder: Path) -> None:
        """Open or make the collection. Raises StoreDamagedError when it will not open."""
        self.folder = folder
        self.broken = False
        self._closed = False
        try:
            import chromadb
            from chromadb.config import Settings as ChromaSettings

            folder.mkdir(parents=True, exist_ok=True)
            self._client: Any = chromadb.PersistentClient(
                str(folder), settings=ChromaSettings(anonymized_telemetry=False)
            )
            self._collection: Any = self._client.get_or_create_collection(
                _COLLECTION,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine"}},
            )
        except BaseException as error:
            self.broken = True
            raise self._meant(error, "cannot be opened") from error

    def count(self) -> int:
        return int(self._call(self._collection.count))

    def upsert(self, keys: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Write vectors under their keys; a key already there is replaced."""
        for at in range(0, len(keys), _BATCH):
            self._call(
                self._collection.upsert,
                ids=list(keys[at : at + _BATCH]),
                embeddings=vectors[at : at + _BATCH],
            )

    def query(
        self, vector: NDArray[np.float32], n: int, *, among: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """The ``n`` nearest keys with their cosine similarity, best first."""
        if n < 1 or (among is not None and not among):
            return []
        found = self._call(
            self._collection.query,
            query_embeddings=vector[None, :],
            n_results=n,
            ids=None if among is None else list(among),
            include=["distances"],
        )
        return [
            (str(key), 1.0 - float(distance))
            for key, distance in zip(found["ids"][0], found["distances"][0], strict=True)
        ]

    def vectors(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The stored vectors of those keys that have one."""
        stored: dict[str, NDArray[np.float32]] = {}
        for at in range(0, len(keys), _BATCH):
            found = self._call(
                self._collection.get, ids=list(keys[at : at + _BATCH]), include=["embeddings"]
            )
            rows = np.asarray(found["embeddings"], dtype=np.float32)
            stored.update(zip((str(key) for key in found["ids"]), rows, strict=True))
        return stored

    def keys(self) -> set[str]:
        """Every key that has a record."""
        return {str(key) for key in self._call(self._collection.get, include=[])["ids"]}

    def delete(self, keys: Sequence[str]) -> None:
        for at in range(0, len(keys), _BATCH):
            self._call(self._collection.delete, ids=list(keys[at : at + _BATCH]))

    def unreachable(self, keys: Sequence[str]) -> list[str]:
        """Those keys whose own vector does not find them, has not length 1, or is missing."""
        stored = self.vectors(keys)
        lost = [key for key in keys if key not in stored]
        for key, vector in stored.items():
            if not abs(float(np.linalg.norm(vector)) - 1.0) < _LENGTH_ERROR:
                lost.append(key)
                continue
            nearest = self.query(vector, 5)
            found = any(other == key for other, _ in nearest)
            if not found and (not nearest or nearest[-1][1] < 0.9999):
                lost.append(key)
        return lost

    def close(self) -> None:
        """Let go of the files, whatever state they are in."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(Exception):
                self._client.close()

    def _call(self, method: Any, **arguments: Any) -> Any:
        if self._closed or not self.folder.is_dir():
            self.broken = True
            raise self._damaged("is gone")
        try:
            return method(**arguments)
        except BaseException as error:
            raise self._meant(error, "does not answer") from error

    def _meant(self, error: BaseException, trouble: str) -> StoreError:
        """What an error of the library means here. Chroma's own panics are no Exceptions."""
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise error
        said = str(error).lower()
        if isinstance(error, OSError) or any(words in said for words in _NO_ROOM) or self._full():
            self.broken = self.broken or not isinstance(error, OSError)
            return DiskFullError(
                f"Nothing could be written in {self.folder}: "
                "the disk is full or the folder read-only.",
                hint="Free some room or allow writing, then run the command again; it resumes.",
            )
        self.broken = True
        return self._damaged(trouble)

    def _full(self) -> bool:
        """Whether the disk is; Chroma does not always say so, and its files break by it."""
        try:
            return shutil.disk_usage(self.folder).free < _LEAST_ROOM
        except OSError:
            return False

    def _damaged(self, trouble: str) -> StoreDamagedError:
        return StoreDamagedError(
            f"The vector index in {self.folder} {trouble}.",
            hint="`storybot check --repair` rebuilds it from the stories.",
        )


def remove(folder: Path) -> None:
    """Delete an index folder that is no longer open."""
    shutil.rmtree(folder, ignore_errors=True)


def seal(folder: Path, *, known: str = "") -> str:
    """The state of the files a closed index is searched in, as text.

    ``known``, an earlier seal, spares reading them when their sizes and times are as then.
    """
    files = sorted(path for path in folder.glob("*/*") if path.is_file())
    facts, content = hashlib.sha256(), hashlib.sha256()
    for path in files:
        found = path.stat()
        name = str(path.relative_to(folder))
        facts.update(repr((name, found.st_size, found.st_mtime_ns)).encode())
    if known.startswith(facts.hexdigest()):
        return known
    for path in files:
        content.update(f"{path.relative_to(folder)} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                content.update(block)
    return f"{facts.hexdigest()} {content.hexdigest()}"


def unchanged(folder: Path, sealed: str) -> bool:
    """Whether the files hold what they held when they were sealed, copied or not."""
    return seal(folder, known=sealed).partition(" ")[2] == sealed.partition(" ")[2]


def can_be_opened(folder: Path) -> bool:
    """Whether files that were not closed in order are whole, as far as can be told.

    Chroma does not check them, and some damage ends the process that reads them:
    so another process opens and searches them first.
    """
    if any(_cut_short(header) for header in folder.glob("*/header.bin")):
        return False
    try:
        trial = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "storybot.index", str(folder)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRIAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    except OSError:
        return True
    return trial.returncode == 0


def _cut_short(header: Path) -> bool:
    """Whether the file of vectors is smaller than hnswlib's header beside it says."""
    try:
        version, _, _, count, size = struct.unpack_from("<iQQQQ", header.read_bytes())
        there = header.with_name("data_level0.bin").stat().st_size
        return bool(version == 1 and there < count * size)
    except (OSError, struct.error):
        return True


def _try(folder: Path) -> None:
    with contextlib.suppress(DiskFullError):
        index = VectorIndex(folder)
        index.count()
        index.unreachable(sorted(index.keys())[:_TRIED])
        index.close()


if __name__ == "__main__":
    _try(Path(sys.argv[1]))
