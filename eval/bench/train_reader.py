"""Train the small reader on question answering data in JSON Lines.

    python eval/bench/train_reader.py --out src/storybot/answering/reader.npz [--start OLD.npz]
        FILE[=SHARE]...

A line holds question, context, answers (texts, empty when the context does not answer)
and optionally title; or title, context and a list of questions, as eval/train/news.jsonl
does. SHARE is how much of the training a file gets, 1 by default. None of the data may
come from what storybot is measured on. Titles are held out whole, one in eight.

The packaged weights come from three runs. The first saw three public sets derived from
Wikipedia, all CC BY-SA 4.0: the development set of SQuAD 2.0 (Rajpurkar, Jia and Liang,
2018), a part of its training set and a part of that of SQuAD 1.1. The second started
from there: eval/train/news.jsonl=4 with three quarters of its close-worded questions,
the first of those sets=3, a part of SQuAD 1.1=2, its questions beside another
paragraph=1 and SQuADShifts (Miller et al., 2020)=1. The third went on from the second
with the whole of news.jsonl=5, the rest about as before, and ``elsewhere``=1.5. The
weights are the mean of the last two. All by earlier forms of this script: same network
and loss, so a new run gives like weights, not the same ones.

Each question is trained against the sentences of its context by a softmax that has
"none of them" as one more choice. Encoding 60,000 texts takes ten minutes on two CPUs.
"""

import argparse
import hashlib
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from storybot import text
from storybot.answering.reader import WIDTH
from storybot.chunking import sentence_spans
from storybot.embedding import Embedder, Encoded

PER_FILE, HELD_OUT, ELSEWHERE = 10_000, 8, 0.4
SENTENCES, BATCH, RATE, WARM_UP, LONGEST = 5, 16, 1.2e-3, 100, 70
PROJECTED, HIDDEN = 96, 64
FAR = -1e4


@dataclass(frozen=True, slots=True)
class Group:
    """A question, the sentences of its context, and the places of those that answer."""

    question: str
    sentences: list[str]
    answering: list[int]
    title: str


def load(path: Path, chance: random.Random) -> list[Group]:
    """At most PER_FILE questions of a file, in a random order."""
    groups: list[Group] = []
    for raw in records(path):
        context = raw["context"]
        sentences = [context[a:b] for a, b in sentence_spans(context)]
        answers = [each for each in raw["answers"] if each.strip()]
        answering = answering_sentences(raw["question"], sentences, answers)
        if not 0 < len(sentences) <= 40 or len(context) > 6000 or (answers and not answering):
            continue
        groups.append(Group(raw["question"], sentences, answering, raw.get("title", "")))
    return chance.sample(groups, min(len(groups), PER_FILE))


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The file's questions one by one, each with its context."""
    for line in path.read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        for question in raw.pop("questions", [{}]):
            yield {**raw, **question}


def elsewhere(groups: Sequence[Group], chance: random.Random) -> list[Group]:
    """Some questions beside the other context most like them, which does not answer."""
    contexts = {group.title: group.sentences for group in groups if group.title}
    words = {
        title: set(text.content_stems(" ".join([title, *sentences])))
        for title, sentences in contexts.items()
    }
    made = []
    for group in groups:
        if len(contexts) < 2 or chance.random() > ELSEWHERE:
            continue
        asked = set(text.content_stems(group.question))
        own = words.get(group.title, set())
        near = {t: len(asked & w) + 0.02 * len(own & w) for t, w in words.items()}
        near.pop(group.title, None)
        title = max(near, key=lambda each: near[each])
        made.append(Group(group.question, contexts[title], [], title))
    return made


def held_out(group: Group) -> bool:
    digest = hashlib.sha256((group.title or group.sentences[0]).encode()).hexdigest()
    return int(digest, 16) % HELD_OUT == 0


def answering_sentences(question: str, sentences: list[str], answers: list[str]) -> list[int]:
    """Sentences that hold an answer; of several, those sharing most words with the question."""
    holding = [n for n, s in enumerate(sentences) if any(answer in s for answer in answers)]
    if len(holding) < 2:
        return holding
    wanted = set(text.content_stems(question))
    shared = {n: len(wanted & set(text.stems(sentences[n]))) for n in holding}
    return [n for n in holding if shared[n] == max(shared.values())][:2]


class Reader(nn.Module):
    """The network that ``storybot.answering.reader`` runs without torch."""

    def __init__(self) -> None:
        super().__init__()
        d, h = PROJECTED, HIDDEN
        self.p, self.a = nn.Linear(WIDTH, d), nn.Linear(WIDTH, d)
        self.qf, self.qw, self.qt = nn.Linear(4 * d + 3, h), nn.Linear(d, 1), nn.Linear(d, h)
        self.sf, self.sw = nn.Linear(4 * d + 2 + h, h), nn.Linear(h, 1)
        self.out1, self.out2 = nn.Linear(4 * h + 4, h), nn.Linear(h, 1)
        self.drop = nn.Dropout(0.15)

    def forward(
        self,
        q: torch.Tensor,
        q_mask: torch.Tensor,
        t: torch.Tensor,
        t_mask: torch.Tensor,
        own: torch.Tensor,
        cosines: torch.Tensor,
    ) -> torch.Tensor:
        """Logits, shape (batch,). ``own`` is 1 for pieces of the sentence itself, else 0."""
        qp = self.drop(functional.relu(self.p(q)))
        tp = self.drop(functional.relu(self.p(t)))
        raw = q @ t.transpose(1, 2)
        similar = self.a(q) @ self.a(t).transpose(1, 2) / PROJECTED**0.5 + 8 * raw
        similar = similar.masked_fill(~t_mask[:, None], FAR)
        attention = similar.softmax(-1)
        seen = attention @ tp
        own_mask = t_mask & (own > 0)
        facts = [
            (attention * own[:, None]).sum(-1, keepdim=True),
            raw.masked_fill(~t_mask[:, None], -1).amax(-1, keepdim=True),
            raw.masked_fill(~own_mask[:, None], -1).amax(-1, keepdim=True),
        ]
        asked = torch.cat([qp, seen, qp * seen, (qp - seen).abs(), *facts], -1)
        asked = functional.relu(self.qf(asked))
        share = self.qw(qp).squeeze(-1).masked_fill(~q_mask, FAR).softmax(-1)[:, None]
        kind = functional.relu(self.qt(share @ qp))
        back = similar.masked_fill(~q_mask[:, :, None], FAR).softmax(1).transpose(1, 2) @ qp
        matched = raw.masked_fill(~q_mask[:, :, None], -1).amax(1)[:, :, None]
        told = [tp, back, tp * back, (tp - back).abs(), matched, own[:, :, None]]
        told_all = torch.cat([*told, kind.expand(-1, tp.shape[1], -1)], -1)
        heard = functional.relu(self.sf(told_all))
        focus = self.sw(heard).squeeze(-1).masked_fill(~own_mask, FAR).softmax(-1)[:, None]
        joined = [
            (share @ asked)[:, 0],
            asked.masked_fill(~q_mask[:, :, None], -FAR).amin(1),
            heard.masked_fill(~own_mask[:, :, None], FAR).amax(1),
            (focus @ heard)[:, 0],
            cosines,
        ]
        hidden = functional.relu(self.out1(self.drop(torch.cat(joined, -1))))
        logits: torch.Tensor = self.out2(hidden).squeeze(-1)
        return logits


class Batches:
    """Groups made into padded tensors, from texts encoded once."""

    def __init__(self, groups: Sequence[Group], chance: random.Random) -> None:
        texts = {t for g in groups for t in (g.question, g.title, *g.sentences) if t.strip()}
        self.chance = chance
        self.encoded: dict[str, Encoded] = {}
        embedder = Embedder()
        ordered = sorted(texts, key=len)
        for at in range(0, len(ordered), 256):
            part = ordered[at : at + 256]
            self.encoded.update(zip(part, embedder.encoded(part), strict=True))
        embedder.close()

    def pieces(self, passage: str) -> np.ndarray:
        found = self.encoded.get(passage)
        return np.zeros((0, WIDTH), np.float16) if found is None else found.pieces

    def cosine(self, question: str, passage: str) -> float:
        found = self.encoded.get(passage)
        return 0.0 if found is None else float(self.encoded[question].vector @ found.vector)

    def chosen(self, group: Group, *, training: bool) -> list[int]:
        """All sentences, or in training the answering ones with the nearest and some others."""
        places = list(range(len(group.sentences)))
        if not training or len(places) <= SENTENCES:
            return places
        others = [n for n in places if n not in group.answering]
        others.sort(key=lambda n: -self.cosine(group.question, group.sentences[n]))
        room = SENTENCES - len(group.answering)
        far = others[room // 2 :]
        picked = others[: room // 2] + self.chance.sample(far, min(len(far), room - room // 2))
        return sorted({*group.answering, *picked})

    def make(self, groups: Sequence[Group], *, training: bool) -> tuple[torch.Tensor, ...]:
        questions, told, own, cosines, labels, members = [], [], [], [], [], []
        for number, group in enumerate(groups):
            for n in self.chosen(group, training=training):
                texts = [
                    group.sentences[n],
                    group.sentences[n - 1] if n else "",
                    group.sentences[n + 1] if n + 1 < len(group.sentences) else "",
                    group.title if self.chance.random() < 0.9 else "",
                ]
                sentence, before, after, title = (self.pieces(each) for each in texts)
                sentence = sentence[:LONGEST]
                told.append(np.concatenate([sentence, before[-24:], after[:24], title[:16]]))
                own.append(np.arange(len(told[-1])) < len(sentence))
                questions.append(self.pieces(group.question))
                cosines.append([self.cosine(group.question, each) for each in texts])
                labels.append(n in group.answering)
                members.append(number)
        q, q_mask = padded(questions)
        t, t_mask = padded(told)
        own_padded = torch.zeros(t_mask.shape)
        for at, marks in enumerate(own):
            own_padded[at, : len(marks)] = torch.from_numpy(marks.astype(np.float32))
        own_padded[:, 0] = 1
        tail = torch.tensor(cosines), torch.tensor(labels), torch.tensor(members)
        return (q, q_mask, t, t_mask, own_padded, *tail)


def padded(rows: Sequence[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(1, *(len(row) for row in rows))
    values = torch.zeros(len(rows), longest, WIDTH)
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    for at, row in enumerate(rows):
        values[at, : len(row)] = torch.from_numpy(row.astype(np.float32))
        mask[at, : len(row)] = True
    mask[:, 0] = True
    return values, mask


def loss_of(logits: torch.Tensor, labels: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """Mean negative log likelihood of the answering sentences, or of none (a logit of 0)."""
    total, count = torch.zeros(()), int(members.max()) + 1
    for number in range(count):
        mine = members == number
        scores = torch.cat([logits[mine], torch.zeros(1)])
        right = torch.cat([labels[mine], ~labels[mine].any()[None]])
        total = total - (scores[right].logsumexp(0) - scores.logsumexp(0))
    return total / count


def evaluate(model: Reader, batches: Batches, groups: Sequence[Group]) -> tuple[float, float]:
    """Share of answered questions whose best sentence answers; area under the answered curve."""
    model.eval()
    right: list[bool] = []
    answered: list[float] = []
    unanswered: list[float] = []
    with torch.no_grad():
        for group in groups:
            *inputs, labels, _ = batches.make([group], training=False)
            logits = model(*inputs)
            if group.answering:
                right.append(bool(labels[logits.argmax()]))
            (answered if group.answering else unanswered).append(float(logits.max()))
    model.train()
    above = [a > b for a in answered for b in unanswered]
    return (
        sum(right) / len(right) if right else float("nan"),
        sum(above) / len(above) if above else float("nan"),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE[=SHARE]")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="weights to start from")
    parser.add_argument("--minutes", type=float, default=20)
    options = parser.parse_args()
    chance = random.Random(0)
    torch.manual_seed(0)
    sets: list[tuple[float, list[Group]]] = []
    tests: dict[str, list[Group]] = {}
    for name, _, share in (each.partition("=") for each in options.files):
        groups = load(Path(name), chance)
        tests[name] = [group for group in groups if held_out(group)]
        training = [group for group in groups if not held_out(group)]
        weight = float(share or 1)
        sets += [(weight, training), (0.3 * weight, elsewhere(training, chance))]
    sets = [(weight, groups) for weight, groups in sets if len(groups) >= BATCH]
    every = [group for _, groups in sets for group in groups]
    batches = Batches([*every, *(group for test in tests.values() for group in test)], chance)
    model = Reader()
    if options.start:
        with np.load(options.start) as stored:
            model.load_state_dict(
                {name: torch.from_numpy(stored[name].astype(np.float32)) for name in stored.files}
            )
    train(model, batches, sets, options.minutes, chance)
    for name, test in tests.items():
        best, none = evaluate(model, batches, test)
        print(f"{name}, held out: best sentence answers {best:.3f}, area under curve {none:.3f}")
    stored = {name: value.numpy().astype(np.float16) for name, value in model.state_dict().items()}
    np.savez_compressed(options.out, allow_pickle=False, **stored)


def train(
    model: Reader,
    batches: Batches,
    sets: Sequence[tuple[float, list[Group]]],
    minutes: float,
    chance: random.Random,
) -> None:
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.02)
    orders: list[list[Group]] = [[] for _ in sets]
    begun, step = time.monotonic(), 0
    while (done := (time.monotonic() - begun) / 60 / minutes) < 1:
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARM_UP) * max(0.02, 1 - done)
        at = chance.choices(range(len(sets)), weights=[weight for weight, _ in sets])[0]
        if len(orders[at]) < BATCH:
            orders[at] = chance.sample(sets[at][1], len(sets[at][1]))
        *inputs, labels, members = batches.make(orders[at][-BATCH:], training=True)
        del orders[at][-BATCH:]
        loss = loss_of(model(*inputs), labels, members)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        if step % 200 == 0:
            print(f"step {step}, {done:.0%}: loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
