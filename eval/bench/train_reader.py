"""Train the small reader on question answering data in JSON Lines.

    python eval/bench/train_reader.py --out src/storybot/answering/reader.npz FILE...

A line holds question, context, answers (texts, empty when the context does not answer)
and optionally title. None of it may come from what storybot is measured on. The
packaged weights were trained on three public sets derived from Wikipedia, all
CC BY-SA 4.0: the development set of SQuAD 2.0 (Rajpurkar, Jia and Liang, 2018), a part
of its training set and a part of that of SQuAD 1.1, at most 8,000 questions of each, by
an earlier form of this script: same network and loss, so a new run gives like weights,
not the same ones.

Each question is trained against the sentences of its context by a softmax that has
"none of them" as one more choice. Encoding 34,000 texts and training take about half
an hour on two CPUs.
"""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from storybot import text
from storybot.answering.reader import WIDTH
from storybot.chunking import sentence_spans
from storybot.embedding import Embedder, Encoded

PER_FILE, HELD_OUT = 8_000, 500
SENTENCES, BATCH, PASSES, RATE, LONGEST = 5, 16, 1.2, 2e-3, 70
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
    lines = path.read_text(encoding="utf-8").splitlines()
    chance.shuffle(lines)
    groups: list[Group] = []
    for line in lines:
        if len(groups) == PER_FILE:
            break
        raw = json.loads(line)
        context = raw["context"]
        sentences = [context[a:b] for a, b in sentence_spans(context)]
        answers = [each for each in raw["answers"] if each.strip()]
        answering = answering_sentences(raw["question"], sentences, answers)
        if not 0 < len(sentences) <= 40 or len(context) > 6000 or (answers and not answering):
            continue
        groups.append(Group(raw["question"], sentences, answering, raw.get("title", "")))
    return groups


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
    """Share of answered questions whose best sentence answers; share of none rightly said."""
    model.eval()
    right, declined = [], []
    with torch.no_grad():
        for group in groups:
            *inputs, labels, _ = batches.make([group], training=False)
            logits = model(*inputs)
            if group.answering:
                right.append(bool(labels[logits.argmax()]))
            declined.append(bool(logits.max() < 0) == (not group.answering))
    model.train()
    return sum(right) / len(right), sum(declined) / len(declined)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    chance = random.Random(0)
    torch.manual_seed(0)
    groups = [group for path in options.files for group in load(path, chance)]
    chance.shuffle(groups)
    held, training = groups[:HELD_OUT], groups[HELD_OUT:]
    batches = Batches(groups, chance)
    model = Reader()
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    steps = int(len(training) * PASSES / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, RATE, total_steps=steps, pct_start=0.1
    )
    order: list[Group] = []
    for step in range(1, steps + 1):
        if len(order) < BATCH:
            order = chance.sample(training, len(training))
        *inputs, labels, members = batches.make(order[-BATCH:], training=True)
        del order[-BATCH:]
        loss = loss_of(model(*inputs), labels, members)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step} of {steps}: loss {loss.item():.3f}", flush=True)
    best, none = evaluate(model, batches, held)
    print(f"held out: best sentence answers {best:.3f}, answered or not rightly told {none:.3f}")
    stored = {name: value.numpy().astype(np.float16) for name, value in model.state_dict().items()}
    np.savez_compressed(options.out, allow_pickle=False, **stored)


if __name__ == "__main__":
    main()
