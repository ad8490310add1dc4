"""What speaks for a sentence as the answer to a question.

The matching of word pieces follows the late interaction of ColBERT (Khattab and
Zaharia, 2020): each piece of the question counts by its best match, here weighed
by the rarity of its word, within the sentence, its neighbours and its headline.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storybot import text
from storybot.answering import reader
from storybot.answering.offers import offers
from storybot.answering.question import Asked
from storybot.embedding import Encoded

Encode = Callable[[Sequence[str]], Sequence[Encoded]]
Matches = NDArray[np.float32]
READER_SCALE = 4.0


@dataclass(frozen=True, slots=True)
class Sights:
    """A sentence, what stands around it, and where it was found.

    ``earlier`` is the sentence before the one ``before``.
    ``share`` is its passage's score over the best one's; ``rank`` counts from 0.
    """

    sentence: str
    before: str
    after: str
    earlier: str
    headline: str
    passage: str
    genre: str
    index: int
    rank: int
    share: float
    follows: float
    same_story: bool


class Matcher:
    """Similarities between a question and texts that were encoded with it."""

    def __init__(self, asked: Asked, encoded: Mapping[str, Encoded]) -> None:
        self._encoded = encoded
        self._full = encoded[asked.full]
        self._own = encoded[asked.text]
        self._pieces = self._full.pieces.astype(np.float32)
        self.weights = _piece_weights(asked, self._full.spans)
        self._none = np.zeros(len(self.weights), dtype=np.float32)
        self._matches: dict[str, Matches] = {}

    def cosine(self, passage: str) -> float:
        """Cosine of the question's own words and a text; 0 when it was not encoded."""
        found = self._encoded.get(passage)
        return 0.0 if found is None else float(self._own.vector @ found.vector)

    def matches(self, passage: str) -> Matches:
        """For each word piece of the question, its best cosine within a text."""
        if passage not in self._matches:
            found = self._encoded.get(passage)
            if found is None or not len(found.pieces) or not len(self._pieces):
                self._matches[passage] = self._none
            else:
                self._matches[passage] = (self._pieces @ found.pieces.astype(np.float32).T).max(1)
        return self._matches[passage]

    def read(self, sentence: str, before: str, after: str, headline: str) -> float:
        """The trained reader's logit for a sentence, scaled; 0 where the reader does not apply."""
        own = self._encoded.get(sentence)
        if own is None or not reader.fits(own):
            return 0.0
        logit = reader.score(
            self._full,
            own,
            before=self._encoded.get(before),
            after=self._encoded.get(after),
            headline=self._encoded.get(headline),
        )
        return max(-3.0, min(3.0, logit / READER_SCALE))

    def score(self, matches: Matches) -> float:
        """Matches weighed by the rarity of the question's words."""
        return float(self.weights @ matches)

    def worst(self, matches: Matches) -> float:
        """The poorest match among the question's telling words."""
        telling = matches[self.weights > 0.02]
        return float(telling.min()) if len(telling) else 0.0


def _piece_weights(asked: Asked, spans: Sequence[tuple[int, int]]) -> Matches:
    weights = np.zeros(len(spans), dtype=np.float32)
    for start, end, weight in asked.weighed_words():
        inside = [at for at, (a, b) in enumerate(spans) if a >= start and b <= end]
        if inside:
            weights[inside] = weight / len(inside)
    total = weights.sum()
    return weights / total if total else weights


def signals(asked: Asked, sights: Sights, matcher: Matcher) -> dict[str, float]:
    """The signals of one sentence by name, each about 0 to 1, the reader's about -2 to 2."""
    own = matcher.matches(sights.sentence)
    headline = matcher.matches(sights.headline)
    before = matcher.matches(sights.before)
    with_headline = np.maximum(own, headline)
    around = np.maximum(matcher.matches(sights.after), matcher.matches(sights.earlier))
    window = np.maximum(np.maximum(with_headline, before), around)
    offered = offers(asked, sights.sentence, sights.headline)
    asks = sights.before.rstrip("\"”'’").endswith("?")
    length = text.word_count(sights.sentence)
    return {
        "reader": matcher.read(sights.sentence, sights.before, sights.after, sights.headline),
        "cosine": matcher.cosine(sights.sentence),
        "cosine_before": matcher.cosine(sights.before),
        "match": matcher.score(own),
        "match_headline": matcher.score(with_headline),
        "match_before": matcher.score(np.maximum(own, before)),
        "window": matcher.score(window),
        "worst": matcher.worst(window),
        "cover_passage": asked.cover(f"{sights.headline} {sights.passage}"),
        "offers": offered,
        "offers_match": offered * matcher.score(with_headline),
        "offers_window": offered * matcher.score(window),
        "rank": 1.0 / (1 + sights.rank),
        "share": sights.share,
        "follows": sights.follows,
        "same_story": float(sights.same_story),
        "replies": asked.cover(sights.before) if asks else 0.0,
        "question": float(sights.sentence.rstrip("\"”'’").endswith("?")),
        "brief": _sigmoid((8 - length) / 2),
        "long": _sigmoid((length - 45) / 8),
        "opinion": float(sights.genre in ("opinion", "column")),
        "lead": float(sights.index == 0),
    }


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, value))))
