"""What a newsroom would otherwise put together: the systems storybot is measured against.

All four search the same passages, the stories' bodies cut by LangChain's recursive
splitter at 900 characters, with vectors of the same embedding model. Their libraries
are in requirements-bench.lock and are imported when one is made.
"""

import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import snowballstemmer

from storybot import text
from storybot.chunking import sentence_spans
from storybot.embedding import BACKGROUND, QUESTION, Embedder, Vectors

PASSAGE_CHARACTERS = 900
RRF_K = 60
LEG_DEPTH = 100
_BLOCK = 256


class RememberingEmbedder(Embedder):
    """An embedder that keeps the vectors of passages in a folder, from run to run.

    What is embedded at question priority is never kept, so that its time is true.
    ``told`` is called with how many texts are still to be embedded.
    """

    def __init__(self, name: str, folder: Path, told: Callable[[int], None]) -> None:
        super().__init__(name)
        self._folder = folder / hashlib.sha256(name.encode()).hexdigest()[:16]
        self._folder.mkdir(parents=True, exist_ok=True)
        self._told = told
        self._kept: dict[str, Vectors] = {}
        for path in sorted(self._folder.glob("*.npz")):
            with np.load(path, allow_pickle=False) as block:
                self._kept.update(zip(block["keys"].tolist(), block["vectors"], strict=True))

    def vectors(self, texts: Sequence[str], *, priority: int = BACKGROUND) -> Vectors:
        if priority == QUESTION:
            return super().vectors(texts, priority=QUESTION)
        keys = {text: hashlib.sha256(text.encode()).hexdigest() for text in texts}
        missing = [text for text, key in keys.items() if key not in self._kept]
        for at in range(0, len(missing), _BLOCK):
            self._told(len(missing) - at)
            block = missing[at : at + _BLOCK]
            self._keep([keys[text] for text in block], super().vectors(block, priority=QUESTION))
        return np.stack([self._kept[keys[text]] for text in texts])

    def _keep(self, keys: Sequence[str], vectors: Vectors) -> None:
        name = hashlib.sha256("".join(keys).encode()).hexdigest()[:16]
        unfinished = self._folder / f"{name}.tmp"
        with unfinished.open("wb") as file:
            np.savez(file, keys=np.array(keys), vectors=vectors)
        unfinished.rename(self._folder / f"{name}.npz")
        self._kept.update(zip(keys, vectors, strict=True))


Scored = list[tuple[int, float]]


class Peer(Protocol):
    """A search over the passages: their numbers with scores, best first."""

    def search(self, question: str, k: int) -> Scored: ...


def cut(bodies: Sequence[str]) -> list[str]:
    """The passages of the bodies, as the tutorials cut them."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=PASSAGE_CHARACTERS, chunk_overlap=0)
    return [piece for body in bodies for piece in splitter.split_text(body) if piece.strip()]


class Tutorial:
    """Chroma under cosine distance, as the tutorials have it."""

    def __init__(self, passages: Sequence[str], embedder: Embedder, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        self._embedder = embedder
        self.client: Any = chromadb.PersistentClient(
            str(folder), settings=Settings(anonymized_telemetry=False)
        )
        self._collection: Any = self.client.create_collection(
            "passages", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        vectors = embedder.vectors(passages)
        for at in range(0, len(passages), 500):
            rows = range(at, min(at + 500, len(passages)))
            self._collection.add(ids=[str(row) for row in rows], embeddings=vectors[at : at + 500])
        self._count = len(passages)

    def search(self, question: str, k: int) -> Scored:
        vector = self._embedder.vectors([question], priority=QUESTION)
        found = self._collection.query(
            query_embeddings=vector, n_results=min(k, self._count), include=["distances"]
        )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(int(row), 1.0 - float(distance)) for row, distance in pairs]


class Keywords:
    """BM25 over stems without stop words (bm25s, k1 = 1.5, b = 0.75)."""

    def __init__(self, passages: Sequence[str]) -> None:
        import bm25s

        self._bm25s: Any = bm25s
        self._stemmer = snowballstemmer.stemmer("english")
        terms = self.terms(passages)
        self._count = len(passages)
        self._holding = Counter(term for each in terms for term in set(each))
        self._index: Any = bm25s.BM25()
        self._index.index(terms, show_progress=False)

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        found: list[list[str]] = self._bm25s.tokenize(
            list(texts), stopwords="english_plus", stemmer=self._stemmer.stemWords,
            return_ids=False, show_progress=False,
        )  # fmt: skip
        return found

    def weights(self, question: str) -> dict[str, float]:
        """The question's terms by inverse document frequency, summing to 1."""
        raw = {
            term: math.log(1 + (self._count + 0.5) / (self._holding[term] + 0.5))
            for term in self.terms([question])[0]
        }
        whole = sum(raw.values()) or 1.0
        return {term: weight / whole for term, weight in raw.items()}

    def search(self, question: str, k: int) -> Scored:
        rows, scores = self._index.retrieve(
            self.terms([question]), k=min(k, self._count), show_progress=False
        )
        pairs = zip(rows[0].tolist(), scores[0].tolist(), strict=True)
        return [(row, score) for row, score in pairs if score > 0]


class Fusion:
    """Plain reciprocal rank fusion: the sum of 1 / (60 + rank) over the first 100 of each leg."""

    def __init__(self, *legs: Peer) -> None:
        self._legs = legs

    def search(self, question: str, k: int) -> Scored:
        scores: dict[int, float] = {}
        for leg in self._legs:
            for rank, (row, _) in enumerate(leg.search(question, LEG_DEPTH), start=1):
                scores[row] = scores.get(row, 0.0) + 1.0 / (RRF_K + rank)
        return sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:k]


class Txtai:
    """txtai's hybrid index with its own defaults, on the same vectors."""

    def __init__(self, passages: Sequence[str], embedder: Embedder) -> None:
        from txtai import Embeddings

        def transform(texts: list[str]) -> Vectors:
            one = len(texts) == 1 and len(passages) > 1
            return embedder.vectors(texts, priority=QUESTION if one else BACKGROUND)

        self._index: Any = Embeddings(
            method="external", transform=transform, hybrid=True, content=False
        )
        self._index.index((row, passage, None) for row, passage in enumerate(passages))

    def search(self, question: str, k: int) -> Scored:
        return [(int(row), float(score)) for row, score in self._index.search(question, k)]


@dataclass(frozen=True, slots=True)
class Said:
    """A baseline's answer, and the milliseconds it took to choose it."""

    text: str
    ms: float


def take_sentences(
    question: str,
    passages: Mapping[str, float],
    keywords: Keywords,
    embedder: Embedder,
    *,
    budget: int,
) -> Said:
    """Whole sentences of scored passages up to ``budget`` words, the best first.

    A sentence scores its cosine to the question, plus the share of the question's
    idf weight whose stems it holds, plus its passage's score over the best one's.
    A first sentence over the budget is cut to it.
    """
    start = time.perf_counter()
    top = max(passages.values(), default=1.0) or 1.0
    share: dict[str, float] = {}
    for passage, score in passages.items():
        for begin, end in sentence_spans(passage):
            share.setdefault(passage[begin:end], score / top)
    sentences = list(share)
    if not sentences:
        return Said("", (time.perf_counter() - start) * 1000)
    vectors = embedder.vectors([question, *sentences], priority=QUESTION)
    cosines = vectors[1:] @ vectors[0]
    weights = keywords.weights(question)
    scored = []
    for sentence, cosine, terms in zip(sentences, cosines, keywords.terms(sentences), strict=True):
        cover = sum(weights.get(term, 0.0) for term in set(terms))
        scored.append((float(cosine) + cover + share[sentence], sentence))
    taken: list[str] = []
    room = budget
    for _, sentence in sorted(scored, key=lambda each: -each[0]):
        if not taken:
            sentence = " ".join(sentence.split()[:budget])
        if text.word_count(sentence) <= room:
            taken.append(sentence)
            room -= text.word_count(sentence)
    return Said(" ".join(taken), (time.perf_counter() - start) * 1000)
