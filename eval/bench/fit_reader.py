"""Fit the reader's weights on the tuning half of a set; the reporting half is never seen.

    python eval/bench/fit_reader.py [--write]

Sentence weights maximise the likelihood of the evidence among all sentences found
(a listwise softmax). The answer weights are a logistic regression of whether a
question is answered here. Each answerable one is seen again, weighing less, with every
story of its thread taken out, so that its wording alone tells nothing.
Without --write the weights are only printed.
"""

import argparse
import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from storybot.answering import extractive
from storybot.answering.question import Asked, analyse
from storybot.bot import Storybot
from storybot.conversation import standalone
from storybot.evaluation.sets import Case, half_of, load_cases
from storybot.ingest.run import find_inputs
from storybot.settings import load_settings
from storybot.types import Answer, Citation, Filters, Moment, Provenance, Sentence, Turn

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "src/storybot/answering/weights.py"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
SENTENCE_L2, ANSWER_L2 = 0.1, 0.01
THINNED = 0.25
SIGNS = (1, 1, -1)
Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """A case's sentences: signals, shape (sentences, signals), and which are evidence."""

    case: Case
    rows: Rows
    evidence: NDArray[np.bool_]
    asked: Asked
    candidates: Sequence[extractive.Candidate]


def story_ids(bot: Storybot) -> dict[str, str]:
    """Story ids by declared id, and by path below corpus/ for those without one."""
    found: dict[str, str] = {}
    for card in bot.stories(limit=1000, now=NOW):
        for alias in bot.collection.ledger.story(card.id).aliases:
            if alias.kind == "id":
                found[alias.value.partition("\n")[2].casefold()] = card.id
            elif alias.kind == "path" and "/corpus/" in alias.value:
                found[alias.value.rpartition("/corpus/")[2].casefold()] = card.id
    return found


def examples(bot: Storybot, cases: Sequence[Case]) -> list[Example]:
    """Every case as the reader sees it, follow-ups after the evidence of what they follow."""
    ids = story_ids(bot)
    turns: dict[str, list[Turn]] = {}
    made: list[Example] = []
    for case in cases:
        history = turns[case.follows] if case.follows else []
        asked = standalone(case.question, history)
        spans = [_place(bot, ids[e.story.casefold()], e.quote) for e in case.evidence]
        cited = tuple(
            Citation(at, story, 1, "", start, end, "", "", "", "", Moment(""))
            for at, (story, start, end) in enumerate(spans, start=1)
        )
        turns[case.id] = [*history, _turn(case, asked.text, cited)]
        favour = tuple(dict.fromkeys(each.story_id for each in asked.previous))
        hits = bot.retriever.search(
            asked.text, k=extractive.READ_PASSAGES, now=NOW, favour=favour
        ).hits
        weighed = analyse(
            asked.question,
            bot.collection.ledger.document_frequency,
            full=asked.text,
            subject=asked.subject,
        )
        candidates = extractive.find_candidates(weighed, hits, bot.collection.ledger.body)
        if not candidates:
            continue
        ranked = extractive.weigh(
            weighed, candidates, encode=bot.collection.embedder.encoded, previous=asked.previous
        )
        rows = np.array([list((each.signals or {}).values()) for each in ranked])
        labels = [
            case.answerable
            and any(
                each.hit.story.id == story and each.start < end and each.end > start
                for story, start, end in spans
            )
            for each in ranked
        ]
        made.append(Example(case, rows, np.array(labels), weighed, ranked))
    return made


def _place(bot: Storybot, story_id: str, quote: str) -> tuple[str, int, int]:
    start = bot.collection.ledger.body(story_id, 1).find(quote)
    if start < 0:
        raise SystemExit(f"{quote!r} is not in story {story_id}")
    return story_id, start, start + len(quote)


def _turn(case: Case, standalone_question: str, cited: tuple[Citation, ...]) -> Turn:
    sentences = tuple(Sentence("", (each,)) for each in cited) if case.answerable else ()
    answer = Answer(
        case.id, case.question, standalone_question, "answered" if sentences else "declined",
        "full", None, sentences, (), Filters(), (), Provenance("", "", ""), {},
    )  # fmt: skip
    return Turn(case.question, answer)


def fit_sentences(made: Sequence[Example], l2: float) -> Rows:
    """Weights of the sentence signals, shape (signals,)."""
    scale = np.concatenate([each.rows for each in made]).std(axis=0) + 1e-6
    pairs = [
        (torch.tensor(each.rows / scale), torch.tensor(each.evidence))
        for each in made
        if each.evidence.any()
    ]
    weights = torch.zeros(len(scale), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=300)

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        total = l2 * (weights**2).sum()
        for rows, evidence in pairs:
            scores = rows @ weights
            total = total - (scores[evidence].logsumexp(0) - scores.logsumexp(0)) / len(pairs)
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    return np.asarray(weights.detach().numpy() / scale)


def fit_answers(doubts: "Doubts", l2: float) -> tuple[Rows, float]:
    """Weights and bias of the logistic; both classes weigh the same.

    Each weight keeps the sign its signal must have to mean anything.
    """
    rows = doubts.rows
    scale, centre = rows.std(axis=0) + 1e-6, rows.mean(axis=0)
    x, y = torch.tensor((rows - centre) / scale), torch.tensor(doubts.answered.astype(float))
    share = torch.tensor(doubts.weights)
    share = share * torch.where(y > 0, 0.5 / (share * y).sum(), 0.5 / (share * (1 - y)).sum())
    sign = torch.tensor(SIGNS, dtype=torch.float64)
    raw = torch.full((rows.shape[1] + 1,), -1.0, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([raw], max_iter=500)

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        weights = torch.nn.functional.softplus(raw[:-1]) * sign
        logits = x @ weights + raw[-1]
        each = torch.nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
        total = (each * share).sum() + l2 * (weights**2).sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    found = (torch.nn.functional.softplus(raw[:-1]) * sign).detach().numpy()
    bias = float(raw[-1].detach()) - float((found * centre / scale).sum())
    return np.asarray(found / scale), bias


def rank(each: Example, weights: Rows) -> list[int]:
    return [int(at) for at in np.argsort(-(each.rows @ weights), kind="stable")]


def found_at(made: Sequence[Example], weights: Rows, k: int) -> float:
    """Share of answerable cases with evidence among the first k sentences."""
    hits = [
        bool(each.evidence[rank(each, weights)[:k]].any()) for each in made if each.case.answerable
    ]
    return sum(hits) / len(hits)


def cross_validated(made: Sequence[Example], l2: float, k: int, folds: int = 5) -> float:
    """found_at over folds of whole threads."""

    def fold(each: Example) -> int:
        return int(hashlib.md5(thread_of(each.case).encode()).hexdigest(), 16) % folds

    total = count = 0.0
    for at in range(folds):
        held = [each for each in made if fold(each) == at and each.case.answerable]
        if held:
            weights = fit_sentences([each for each in made if fold(each) != at], l2)
            total += found_at(held, weights, k) * len(held)
            count += len(held)
    return total / count


def thread_of(case: Case) -> str:
    return next(tag for tag in case.tags if tag.startswith("thread:"))


@dataclass(frozen=True, slots=True)
class Doubts:
    """Answer signals, shape (views, signals), whether each view answers, and its weight."""

    rows: Rows
    answered: NDArray[np.bool_]
    weights: Rows


def doubts_of(made: Sequence[Example], weights: Rows, *, thinned: bool) -> Doubts:
    """The answer signals of each case; ``thinned`` adds it without its thread's stories."""
    threads: dict[str, set[str]] = {}
    for each in made:
        cited = {each.candidates[int(at)].hit.story.id for at in np.flatnonzero(each.evidence)}
        threads.setdefault(thread_of(each.case), set()).update(cited)
    rows, answered, weighs = [], [], []
    for each in made:
        order = rank(each, weights)
        views = [(order, each.case.answerable, 1.0)]
        if thinned and each.case.answerable:
            own = threads[thread_of(each.case)]
            without = [at for at in order if each.candidates[at].hit.story.id not in own]
            views.append((without, False, THINNED))
        for view, label, weight in views:
            if view:
                found = extractive.answer_signals(each.asked, [each.candidates[at] for at in view])
                rows.append(list(found.values()))
                answered.append(label)
                weighs.append(weight)
    return Doubts(np.array(rows), np.array(answered), np.array(weighs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder), embedding_model=None)
        with Storybot.open(settings, background=False) as bot:
            for path in find_inputs([str(ROOT / "corpus")])[0]:
                bot.ingest(path.read_bytes(), source=str(path), now=NOW)
            bot.collection.embed_pending()
            made = examples(bot, load_cases(ROOT / "eval/sets/corpus.jsonl"))
    tuning = [each for each in made if half_of(each.case) == "tuning"]
    names = list(made[0].candidates[0].signals or {})
    print("cross-validated on the tuning half, evidence in the first 1 and 3 sentences:")
    for l2 in (0.03, 0.1, 0.3):
        print(
            f"  l2 {l2}: {cross_validated(tuning, l2, 1):.3f} {cross_validated(tuning, l2, 3):.3f}"
        )
    weights = fit_sentences(tuning, SENTENCE_L2)
    doubt_names = list(extractive.answer_signals(made[0].asked, made[0].candidates))
    answer_weights, bias = fit_answers(doubts_of(tuning, weights, thinned=True), ANSWER_L2)
    sentence = dict(zip(names, weights, strict=True))
    answers = {**dict(zip(doubt_names, answer_weights, strict=True)), "bias": bias}
    text = WEIGHTS.read_text().partition("SENTENCE")[0]
    for title, found in (("SENTENCE", sentence), ("ANSWERS", answers)):
        lines = "".join(f'    "{name}": {value:.4f},\n' for name, value in found.items())
        text += f"{title}: Mapping[str, float] = {{\n{lines}}}\n"
    print(text)
    if options.write:
        WEIGHTS.write_text(text)
    reporting = [each for each in made if half_of(each.case) == "reporting"]
    print(
        "reporting half:",
        f"{found_at(reporting, weights, 1):.3f} {found_at(reporting, weights, 3):.3f}",
    )
    rows = doubts_of(reporting, weights, thinned=False).rows
    p = 1 / (1 + np.exp(-(rows @ answer_weights + bias)))
    kinds: dict[str, list[float]] = {"answerable": [], "not-answered": [], "false-premise": []}
    for each, chance in zip(reporting, p, strict=True):
        for kind, chances in kinds.items():
            if kind in each.case.tags or (kind == "answerable" and each.case.answerable):
                chances.append(float(chance))
    print("share declined of each kind, by threshold:")
    for cut in (0.2, 0.3, 0.4, 0.5):
        shares = {kind: f"{np.mean(np.array(them) < cut):.3f}" for kind, them in kinds.items()}
        print(f"  {cut}: {shares}")


if __name__ == "__main__":
    main()
