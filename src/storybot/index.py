"""Vectors of the passages in Chroma. A cache: the ledger can always rebuild it.

Records carry a vector key and nothing else; what a key stands for, and whether
it may be shown, is the ledger's to say. One process owns the folder at a time.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storybot.errors import DiskFullError, StoreDamagedError, StoreGoneError

_COLLECTION = "passages"
_BATCH = 500


class VectorIndex:
    """One Chroma collection under cosine distance.

    Vectors have shape (n, dimensions), float32, length 1.
    """

    def __init__(self, folder: Path) -> None:
        """Open or make the collection. Raises StoreDamagedError when it will not open."""
        self.folder = folder
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
        except OSError as error:
            raise _disk(error, folder) from error
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            raise StoreDamagedError(
                f"The vector index in {folder} cannot be opened.",
                hint="`storybot check --repair` rebuilds it from the stories.",
            ) from error

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
        """Those keys whose own vector does not find them, or that have none."""
        stored = self.vectors(keys)
        lost = [key for key in keys if key not in stored]
        for key, vector in stored.items():
            nearest = self.query(vector, 5)
            found = any(other == key for other, _ in nearest)
            if not found and (not nearest or nearest[-1][1] < 0.9999):
                lost.append(key)
        return lost

    def close(self) -> None:
        self._client.close()

    def _call(self, method: Any, **arguments: Any) -> Any:
        if not self.folder.is_dir():
            raise StoreGoneError(
                f"The vector index in {self.folder} is gone.",
                hint="Restart storybot; it rebuilds the index from the stories.",
            )
        try:
            return method(**arguments)
        except OSError as error:
            raise _disk(error, self.folder) from error
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            if "readonly database" in str(error) or "disk is full" in str(error):
                raise _disk(error, self.folder) from error
            raise StoreDamagedError(
                f"The vector index in {self.folder} does not answer.",
                hint="`storybot check --repair` rebuilds it from the stories.",
            ) from error


def remove(folder: Path) -> None:
    """Delete an index folder that is no longer open."""
    shutil.rmtree(folder, ignore_errors=True)


def _disk(error: BaseException, folder: Path) -> DiskFullError:
    return DiskFullError(
        f"Nothing could be written in {folder}: the disk is full or the folder read-only.",
        hint="Free some room or allow writing, then run the command again; it resumes.",
    )
