"""Answering without a language model: the few story sentences that answer, verbatim.

Every sentence of the passages found is weighed by several signals of evidence,
with weights fitted by ``eval/bench/fit_reader.py``; the best one leads, with what
it needs to be understood and what adds to it.

Over 250 lines because choosing sentences and being sure of them read the same candidates.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from storybot import text
from storybot.answering.question import FIGURES, Asked
from storybot.answering.signals import READER_SCALE, Encode, Matcher, Sights, signals
from storybot.answering.weights import ANSWERS, SENTENCE
from storybot.chunking import sentence_spans
from storybot.types import Citation, Hit

READ_PASSAGES = 16
ENCODE_SENTENCES = 64
WORD_BUDGET = 60
MORE_WORDS = 160
_SENTENCES = 4
_MORE_SENTENCES = 8
_NEAR = 3.0
_LOOK_FOR_KIND = 10
_OFFERS = 0.9
_WORD_COST = 0.1
_SAID = 0.5

Bodies = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One sentence of a found story, ``body[start:end]``, and what speaks for it."""

    hit: Hit
    index: int
    start: int
    end: int
    text: str
    before: str = ""
    after: str = ""
    earlier: str = ""
    signals: Mapping[str, float] | None = None
    score: float = 0.0

    @property
    def key(self) -> tuple[str, int]:
        return self.hit.story.id, self.index


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
    encode: Encode,
    previous: Sequence[Citation] = (),
) -> Reading:
    """Weigh the sentences of the first passages and choose those that answer."""
    candidates = find_candidates(asked, hits[:READ_PASSAGES], bodies)
    if not candidates:
        return Reading((), 0.0, ())
    ranked = weigh(asked, candidates, encode=encode, previous=previous)
    chosen = _choose(asked, ranked, bodies)
    return Reading(tuple(chosen), confidence(asked, ranked), tuple(ranked))


def find_candidates(asked: Asked, hits: Sequence[Hit], bodies: Bodies) -> list[Candidate]:
    """The sentences of the hits, likeliest by words alone first, at most 64."""
    found: dict[tuple[str, int], tuple[float, Candidate]] = {}
    for rank, hit in enumerate(hits):
        body = bodies(hit.story.id, hit.passage.revision)
        spans = sentence_spans(body, hit.story.language)
        sentences = [body[start:end] for start, end in spans]
        for index, (start, end) in enumerate(spans):
            if end <= hit.passage.start or start >= hit.passage.end:
                continue
            candidate = Candidate(
                hit,
                index,
                start,
                end,
                sentences[index],
                sentences[index - 1] if index else "",
                sentences[index + 1] if index + 1 < len(spans) else "",
                sentences[index - 2] if index > 1 else "",
            )
            around = f"{candidate.before} {candidate.text} {candidate.after}"
            likely = asked.cover(candidate.text) + asked.cover(around) + 1.0 / (1 + rank / 4)
            found.setdefault(candidate.key, (likely, candidate))
    best = sorted(found.values(), key=lambda each: -each[0])[:ENCODE_SENTENCES]
    return [candidate for _, candidate in best]


def weigh(
    asked: Asked,
    candidates: Sequence[Candidate],
    *,
    encode: Encode,
    previous: Sequence[Citation],
) -> list[Candidate]:
    """Candidates with their signals and scores, best first."""
    headlines = {each.hit.story.headline for each in candidates}
    texts = [asked.full, asked.text, *headlines, *(each.text for each in candidates)]
    texts = [each for each in dict.fromkeys(texts) if each.strip()]
    matcher = Matcher(asked, dict(zip(texts, encode(texts), strict=True)))
    ranks = {hit: at for at, hit in enumerate(dict.fromkeys(c.hit.passage.id for c in candidates))}
    top = max(each.hit.score for each in candidates) or 1.0
    weighed = []
    for each in candidates:
        sights = Sights(
            sentence=each.text,
            before=each.before,
            after=each.after,
            earlier=each.earlier,
            headline=each.hit.story.headline,
            passage=each.hit.passage.text,
            genre=each.hit.story.genre,
            index=each.index,
            rank=ranks[each.hit.passage.id],
            share=each.hit.score / top,
            follows=_follows(each, previous),
            same_story=any(c.story_id == each.hit.story.id for c in previous),
        )
        found = signals(asked, sights, matcher)
        score = sum(SENTENCE.get(name, 0.0) * value for name, value in found.items())
        weighed.append(replace(each, signals=found, score=score))
    return sorted(weighed, key=lambda each: (-each.score, each.key))


def _follows(candidate: Candidate, previous: Sequence[Citation]) -> float:
    """1 just after what the last answer cited, falling to 0 at 1,500 characters on."""
    best = 0.0
    for citation in previous:
        if citation.story_id != candidate.hit.story.id:
            continue
        distance = candidate.start - citation.start
        if distance == 0:
            best = max(best, 0.2)
        elif 0 < distance < 1500:
            best = max(best, 1.0 - distance / 1500)
    return best


def _choose(asked: Asked, ranked: Sequence[Candidate], bodies: Bodies) -> list[Candidate]:
    budget = MORE_WORDS if asked.wants_more else WORD_BUDGET
    most = _MORE_SENTENCES if asked.wants_more else _SENTENCES
    chosen: dict[tuple[str, int], Candidate] = {}
    used = taken = 0
    worth = {each.key: _worth(each, bodies) for each in ranked}
    best_first = sorted(ranked, key=lambda each: -worth[each.key])
    for candidate in _offering_first(asked, best_first):
        if chosen and candidate.score < ranked[0].score - _NEAR:
            continue
        if candidate.key in chosen or (chosen and not _adds(candidate, chosen.values())):
            continue
        group = [each for each in _with_context(candidate, bodies) if each.key not in chosen]
        cost = sum(text.word_count(each.text) for each in group)
        if chosen and used + cost > budget:
            continue
        chosen.update((each.key, each) for each in group)
        used += cost
        taken += 1
        if taken >= most:
            break
    stories = list(dict.fromkeys(story_id for story_id, _ in chosen))
    return sorted(chosen.values(), key=lambda each: (stories.index(each.key[0]), each.start))


def _offering_first(asked: Asked, ranked: Sequence[Candidate]) -> list[Candidate]:
    """The best sentence that holds the kind of thing asked for, then the rest by score."""
    if not asked.kinds:
        return list(ranked)
    lead = next((each for each in ranked[:_LOOK_FOR_KIND] if _offers(each)), None)
    return list(ranked) if lead is None else [lead, *(each for each in ranked if each != lead)]


def _offers(candidate: Candidate) -> bool:
    return (candidate.signals or {}).get("offers", 0.0) >= _OFFERS


def _says(asked: Asked, candidate: Candidate) -> bool:
    """Whether a sentence has every telling word of the question and what it asks for."""
    whole = len(asked.weights) > 1 and asked.cover(candidate.text) > 0.999
    return whole and bool(asked.kinds) and _offers(candidate)


def _worth(candidate: Candidate, bodies: Bodies) -> float:
    """A sentence's score, less what it and its antecedent take of the words of an answer."""
    words = sum(text.word_count(each.text) for each in _with_context(candidate, bodies))
    return candidate.score - _WORD_COST * words


def _adds(candidate: Candidate, chosen: Collection[Candidate]) -> bool:
    """Whether a sentence is more than a repetition of those chosen."""
    own = set(text.content_stems(candidate.text))
    shared = (len(own & set(text.content_stems(other.text))) for other in chosen)
    return not own or max(shared) / len(own) <= 0.7


def _with_context(candidate: Candidate, bodies: Bodies) -> list[Candidate]:
    """The candidate with the neighbour without which it says nothing.

    That is the sentence that says whom its first pronoun means, the reply to a question
    of an interview, or the question to a reply.
    """
    body = bodies(candidate.hit.story.id, candidate.hit.passage.revision)
    spans = sentence_spans(body, candidate.hit.story.language)

    def neighbour(step: int) -> Candidate:
        start, end = spans[candidate.index + step]
        index = candidate.index + step
        return replace(candidate, index=index, start=start, end=end, text=body[start:end])

    if _asks(candidate.text):
        last = candidate.index + 1 >= len(spans)
        return [candidate] if last else [candidate, neighbour(1)]
    if candidate.index == 0:
        return [candidate]
    before = neighbour(-1)
    begins = text.PRONOUN_START.search(candidate.text)
    outside_quotes = text.QUOTE.sub(" ", candidate.text)
    speaks = text.PRONOUN_SPEAKER.search(candidate.text) and not text.names(outside_quotes)
    return [before, candidate] if begins or speaks or _asks(before.text) else [candidate]


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"”'’").endswith("?")


def confidence(asked: Asked, ranked: Sequence[Candidate]) -> float:
    """The probability, by a fitted logistic, that the best candidates answer the question.

    At least one half where a sentence has all its words and the kind of thing it asks
    for: 94 % of such questions in eval/train/news.jsonl are answered there. 0 where no
    passage shares a word with it, or it asks for a figure and no sentence holds one.
    """
    if not any(asked.cover(f"{c.hit.story.headline} {c.hit.passage.text}") for c in ranked):
        return 0.0
    wants_figure = any(kind in FIGURES for kind in asked.kinds)
    if wants_figure and not any(_offers(each) for each in ranked[:_LOOK_FOR_KIND]):
        return 0.0
    doubts = answer_signals(asked, ranked)
    logit = ANSWERS["bias"] + sum(ANSWERS[name] * value for name, value in doubts.items())
    chance = 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, logit))))
    said = any(_says(asked, each) for each in ranked[:_LOOK_FOR_KIND])
    return max(chance, _SAID) if said else chance


def answer_signals(asked: Asked, ranked: Sequence[Candidate]) -> dict[str, float]:
    """What tells answered questions from unanswered ones, of the candidates found.

    ``reader`` sums the reader's odds over all sentences; ``strangers`` counts the
    question's names that stand nowhere near the best one.
    """
    logits = [(each.signals or {}).get("reader", 0.0) for each in ranked]
    most = max(logits)
    best = ranked[0]
    near = set(text.stems(f"{best.hit.story.headline} {best.hit.passage.text}"))
    strangers = [name for name in asked.names if not set(text.stems(name)) & near]
    odds = sum(math.exp(READER_SCALE * (each - most)) for each in logits)
    return {
        "reader": most + math.log(odds) / READER_SCALE,
        "cosine": max((each.signals or {}).get("cosine", 0.0) for each in ranked[:3]),
        "strangers": float(len(strangers)),
    }
