"""Answering without a language model: the few story sentences that answer, verbatim.

Every sentence of the passages found is weighed by several signals of evidence;
the best one leads, with what it needs to be understood and what adds to it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storybot import text
from storybot.answering.question import Asked, offers
from storybot.chunking import sentence_spans
from storybot.embedding import Vectors
from storybot.types import Citation, Hit

READ_PASSAGES = 12
EMBED_SENTENCES = 40
WORD_BUDGET = 60
MORE_WORDS = 160

Bodies = Callable[[str, int], str]
Embed = Callable[[Sequence[str]], Vectors]

SIGNALS = (
    "cosine",
    "window_cosine",
    "cover",
    "window_cover",
    "story_cover",
    "bigrams",
    "names",
    "offers",
    "passage",
    "follows",
    "replies",
    "brevity",
)
WEIGHTS: Mapping[str, float] = {
    "cosine": 2.0,
    "window_cosine": 1.0,
    "cover": 1.6,
    "window_cover": 1.4,
    "story_cover": 0.8,
    "bigrams": 0.4,
    "names": 0.5,
    "offers": 0.9,
    "passage": 0.6,
    "follows": 1.5,
    "replies": 1.0,
    "brevity": 0.2,
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One sentence of a found story, ``body[start:end]``, and what speaks for it."""

    hit: Hit
    index: int
    start: int
    end: int
    text: str
    signals: Mapping[str, float]
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """The sentences chosen, in reading order, and how sure the choice is.

    ``confidence`` is between 0 and 1. ``ranked`` holds every candidate, best first.
    """

    chosen: tuple[Candidate, ...]
    confidence: float
    ranked: tuple[Candidate, ...]


def read(
    asked: Asked,
    hits: Sequence[Hit],
    *,
    bodies: Bodies,
    embed: Embed,
    previous: Sequence[Citation] = (),
) -> Reading:
    """Weigh the sentences of the first passages and choose those that answer."""
    candidates = _candidates(asked, hits[:READ_PASSAGES], bodies=bodies, previous=previous)
    if not candidates:
        return Reading((), 0.0, ())
    ranked = _scored(asked, candidates, embed)
    chosen = _choose(asked, ranked, bodies)
    return Reading(tuple(chosen), _confidence(asked, ranked), tuple(ranked))


def _candidates(
    asked: Asked, hits: Sequence[Hit], *, bodies: Bodies, previous: Sequence[Citation]
) -> list[Candidate]:
    found: dict[tuple[str, int], Candidate] = {}
    top = hits[0].score if hits else 1.0
    for hit in hits:
        body = bodies(hit.story.id, hit.passage.revision)
        spans = sentence_spans(body, hit.story.language)
        story_stems = set(text.stems(f"{hit.story.headline} {hit.passage.text}"))
        story_cover = _cover(asked, story_stems)
        headline = set(text.stems(hit.story.headline))
        for index, (start, end) in enumerate(spans):
            if end <= hit.passage.start or start >= hit.passage.end:
                continue
            if (hit.story.id, index) in found:
                continue
            sentence = body[start:end]
            own = text.stems(sentence)
            around = [body[a:b] for a, b in spans[max(0, index - 1) : index + 2]]
            window = set(text.stems(" ".join(around))) | headline
            signals = {
                "cover": _cover(asked, set(own)),
                "window_cover": _cover(asked, window),
                "story_cover": story_cover,
                "bigrams": _bigrams(asked, own),
                "names": _names(asked, sentence, hit.story.headline),
                "offers": offers(asked, sentence),
                "passage": hit.score / top if top else 0.0,
                "follows": _follows(hit, start, spans, index, previous),
                "replies": _replies(asked, body, spans, index),
                "brevity": 1.0 / (1.0 + math.exp((text.word_count(sentence) - 45) / 10)),
            }
            found[hit.story.id, index] = Candidate(hit, index, start, end, sentence, signals, 0.0)
    return list(found.values())


def _scored(asked: Asked, candidates: Sequence[Candidate], embed: Embed) -> list[Candidate]:
    """Score all; only the likeliest by words are embedded, the rest get their cosine as 0."""
    likely = sorted(candidates, key=lambda each: -_weigh(each.signals))[:EMBED_SENTENCES]
    query, *rows = embed(
        [asked.text, *(each.text for each in likely), *(_context(each) for each in likely)]
    )
    cosines = np.stack(rows) @ query
    scored = []
    for at, each in enumerate(likely):
        signals = {
            **each.signals,
            "cosine": float(cosines[at]),
            "window_cosine": float(cosines[at + len(likely)]),
        }
        scored.append(
            Candidate(
                each.hit, each.index, each.start, each.end, each.text, signals, _weigh(signals)
            )
        )
    return sorted(scored, key=lambda each: (-each.score, each.hit.story.id, each.start))


def _context(candidate: Candidate) -> str:
    return f"{candidate.hit.story.headline}\n{candidate.text}"


def _weigh(signals: Mapping[str, float]) -> float:
    return sum(WEIGHTS[name] * value for name, value in signals.items())


def _cover(asked: Asked, found: set[str]) -> float:
    return sum(weight for stem, weight in asked.weights.items() if stem in found)


def _bigrams(asked: Asked, stems: Sequence[str]) -> float:
    if not asked.bigrams:
        return 0.0
    pairs = set(zip(stems, stems[1:], strict=False))
    return len(asked.bigrams & pairs) / len(asked.bigrams)


def _names(asked: Asked, sentence: str, headline: str) -> float:
    """Share of the question's names that the sentence or its headline mentions by any part."""
    if not asked.names:
        return 0.5
    present = set(text.words(f"{sentence} {headline}"))
    met = sum(bool(set(text.words(name)) & present) for name in asked.names)
    return met / len(asked.names)


def _follows(
    hit: Hit,
    start: int,
    spans: Sequence[tuple[int, int]],
    index: int,
    previous: Sequence[Citation],
) -> float:
    """1 just after what the last answer cited, falling to 0 six sentences on."""
    best = 0.0
    for citation in previous:
        if citation.story_id != hit.story.id:
            continue
        at = max((i for i, span in enumerate(spans) if span[0] <= citation.start), default=0)
        distance = index - at
        if distance == 0:
            best = max(best, 0.2)
        elif 0 < distance <= 6:
            best = max(best, 1.0 - (distance - 1) / 6)
        else:
            best = max(best, 0.3)
    return best


def _replies(asked: Asked, body: str, spans: Sequence[tuple[int, int]], index: int) -> float:
    """How far the sentence before is itself the question asked."""
    if index == 0:
        return 0.0
    start, end = spans[index - 1]
    before = body[start:end]
    return _cover(asked, set(text.stems(before))) if before.rstrip("\"”'’").endswith("?") else 0.0


def _choose(asked: Asked, ranked: Sequence[Candidate], bodies: Bodies) -> list[Candidate]:
    budget = MORE_WORDS if asked.wants_more else WORD_BUDGET
    best = ranked[0]
    chosen: dict[tuple[str, int], Candidate] = {}
    used = 0
    covered: set[str] = set()
    for candidate in ranked:
        if chosen and candidate.score < best.score - 0.9:
            break
        group = [candidate]
        if (before := _antecedent(candidate, bodies)) is not None:
            group.insert(0, before)
        new = [each for each in group if (each.hit.story.id, each.index) not in chosen]
        cost = sum(text.word_count(each.text) for each in new)
        if chosen and used + cost > budget:
            new, cost = [candidate], text.word_count(candidate.text)
            if (candidate.hit.story.id, candidate.index) in chosen or used + cost > budget:
                continue
        if chosen and not _adds(candidate, chosen.values()):
            continue
        for each in new:
            chosen[each.hit.story.id, each.index] = each
        used += cost
        covered |= set(text.stems(candidate.text))
        if len(chosen) >= (8 if asked.wants_more else 3):
            break
    order = {id_: at for at, id_ in enumerate(dict.fromkeys(key[0] for key in chosen))}
    return sorted(chosen.values(), key=lambda each: (order[each.hit.story.id], each.start))


def _adds(candidate: Candidate, chosen: "Sequence[Candidate] | object") -> bool:
    """Whether a sentence is more than a repetition of those chosen."""
    own = set(text.content_stems(candidate.text))
    for other in chosen:  # type: ignore[attr-defined]
        theirs = set(text.content_stems(other.text))
        if own and len(own & theirs) / len(own) > 0.7:
            return False
    return True


def _antecedent(candidate: Candidate, bodies: Bodies) -> Candidate | None:
    """The sentence before one that begins with a pronoun, which says whom it means."""
    begins = text.PRONOUN_START.search(candidate.text)
    speaker = text.PRONOUN_SPEAKER.search(candidate.text) and not text.names(
        text.QUOTE.sub(" ", candidate.text)
    )
    if not (begins or speaker) or candidate.index == 0:
        return None
    body = bodies(candidate.hit.story.id, candidate.hit.passage.revision)
    start, end = sentence_spans(body, candidate.hit.story.language)[candidate.index - 1]
    return Candidate(
        candidate.hit, candidate.index - 1, start, end, body[start:end], {}, candidate.score
    )


def _confidence(asked: Asked, ranked: Sequence[Candidate]) -> float:
    best = ranked[0].signals
    missing = max(
        (
            weight
            for stem, weight in asked.weights.items()
            if stem not in _all_stems(ranked[0])
        ),
        default=0.0,
    )
    logit = (
        -4.2
        + 3.0 * best["cosine"]
        + 2.0 * best["window_cosine"]
        + 2.0 * best["cover"]
        + 3.0 * best["window_cover"]
        + 1.0 * best["story_cover"]
        + 1.5 * best["offers"]
        + 0.8 * best["names"]
        - 4.0 * missing
    )
    return 1.0 / (1.0 + math.exp(-logit))


def _all_stems(candidate: Candidate) -> set[str]:
    return set(text.stems(f"{candidate.hit.story.headline} {candidate.hit.passage.text}"))
