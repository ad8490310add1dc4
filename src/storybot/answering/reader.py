"""A small trained reader: does this sentence, where it stands, answer this question?

About 150,000 weights over the embedding model's word pieces. Question and sentence
attend to each other (after the decomposable attention of Parikh et al., 2016); the
neighbouring sentences and the headline may explain the question's words but only
the sentence itself can answer. Trained by ``eval/bench/train_reader.py``; an output
above 0 means more likely than "no sentence here answers".
"""

from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from storybot.embedding import Encoded
from storybot.errors import ModelError

Array = NDArray[np.float32]

WIDTH = 384
_BEFORE = _AFTER = 24
_HEADLINE = 16
_FAR = np.float32(-1e4)


@cache
def weights() -> dict[str, Array]:
    """The trained weights by layer, as single precision. Raises ModelError when not there."""
    source = resources.files("storybot.answering") / "reader.npz"
    try:
        with source.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name].astype(np.float32) for name in stored.files}
    except (OSError, ValueError) as error:
        raise ModelError(
            "The reader's weights are missing.", hint="Install storybot again."
        ) from error


def fits(encoded: Encoded) -> bool:
    """Whether the reader was trained for vectors of this width."""
    return (
        encoded.pieces.shape[1] == WIDTH
        and (resources.files("storybot.answering") / "reader.npz").is_file()
    )


def score(
    question: Encoded,
    sentence: Encoded,
    *,
    before: Encoded | None,
    after: Encoded | None,
    headline: Encoded | None,
) -> float:
    """A logit: how likely the sentence holds the answer, given what stands around it."""
    w = weights()
    q = question.pieces.astype(np.float32)
    around = [
        None if before is None else before.pieces[-_BEFORE:],
        None if after is None else after.pieces[:_AFTER],
        None if headline is None else headline.pieces[:_HEADLINE],
    ]
    own = sentence.pieces.astype(np.float32)
    if not len(q) or not len(own):
        return float(_FAR)
    t = np.concatenate([own, *(part.astype(np.float32) for part in around if part is not None)])
    cosines = [
        0.0 if text is None else float(question.vector @ text.vector)
        for text in (sentence, before, after, headline)
    ]
    return _forward(w, q, t, len(own), np.array(cosines, dtype=np.float32))


def _forward(w: dict[str, Array], q: Array, t: Array, own: int, cosines: Array) -> float:
    raw = q @ t.T
    qp, tp = _relu(_linear(w, "p", q)), _relu(_linear(w, "p", t))
    similar = _linear(w, "a", q) @ _linear(w, "a", t).T
    similar = similar / np.sqrt(np.float32(w["a.weight"].shape[0])) + 8 * raw
    attention = _softmax(similar, axis=1)
    seen = attention @ tp
    facts = np.stack([attention[:, :own].sum(1), raw.max(1), raw[:, :own].max(1)], axis=1)
    asked = _relu(
        _linear(w, "qf", np.concatenate([qp, seen, qp * seen, np.abs(qp - seen), facts], axis=1))
    )
    share = _softmax(_linear(w, "qw", qp)[:, 0], axis=0)
    kind = _relu(_linear(w, "qt", share @ qp))
    back = _softmax(similar, axis=0)[:, :own].T @ qp
    mine = tp[:own]
    told = _relu(
        _linear(
            w,
            "sf",
            np.concatenate(
                [
                    mine,
                    back,
                    mine * back,
                    np.abs(mine - back),
                    raw[:, :own].max(0)[:, None],
                    np.ones((own, 1), dtype=np.float32),
                    np.repeat(kind[None, :], own, axis=0),
                ],
                axis=1,
            ),
        )
    )
    focus = _softmax(_linear(w, "sw", told)[:, 0], axis=0)
    joined = np.concatenate([share @ asked, asked.min(0), told.max(0), focus @ told, cosines])
    return float(_linear(w, "out2", _relu(_linear(w, "out1", joined)))[0])


def _linear(w: dict[str, Array], name: str, x: Array) -> Array:
    return np.asarray(x @ w[f"{name}.weight"].T + w[f"{name}.bias"], dtype=np.float32)


def _relu(x: Array) -> Array:
    return np.maximum(x, np.float32(0))


def _softmax(x: Array, *, axis: int) -> Array:
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=axis, keepdims=True), dtype=np.float32)
