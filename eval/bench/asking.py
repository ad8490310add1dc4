"""Putting questions to storybot and its peers, and noting what each did.

Over 250 lines because what is noted of storybot and of a peer must mean the same.
"""

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from peers import (
    Fusion,
    Keywords,
    Peer,
    RememberingEmbedder,
    Tutorial,
    Txtai,
    cut,
    take_sentences,
)

from storybot import text
from storybot.answering import extractive
from storybot.bot import Storybot
from storybot.chunking import embedded_text
from storybot.conversation import Standalone
from storybot.embedding import QUESTION
from storybot.evaluation import metrics
from storybot.ingest.run import find_inputs
from storybot.settings import load_settings
from storybot.types import Answer, Hit, Turn

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".storybot/bench"
DEPTHS = (1, 3, 5, 10)
ANSWER_WORDS = 60
System = Literal["a", "b", "c", "d", "e"]
NAMES: Mapping[System, str] = {
    "a": "(a) tutorial: splitter, MiniLM, Chroma",
    "b": "(b) BM25",
    "c": "(c) rank fusion of (a) and (b)",
    "d": "(d) txtai hybrid",
    "e": "(e) storybot",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question of any set. ``group`` is its half or week; ``follows`` the one before it."""

    id: str
    text: str
    group: str
    answerable: bool
    holds: Callable[[str], bool]
    now: datetime | None = None
    follows: str | None = None
    evidence: frozenset[str] = frozenset()


@dataclass(slots=True)
class Done:
    """What one system did with one question. ``None`` where it does no such thing.

    ``held`` says by depth whether the passages hold the answer; ``at_hand`` whether
    any of the ten does; ``right`` whether the answer does, ``cited`` whether a
    quotation it cites does too, ``home`` whether it also cites a story that the set names.
    """

    id: str
    group: str
    answerable: bool
    held: dict[int, bool]
    at_hand: bool
    search_ms: float
    answer_ms: float | None = None
    right: bool | None = None
    cited: bool | None = None
    home: bool | None = None
    declined: bool | None = None
    words: int = 0
    citations: int = 0
    exact: int = 0
    sentences: int = 0
    stands: int = 0
    chance: float | None = None
    would_be_right: bool | None = None
    answer: str = ""


@dataclass(slots=True)
class Run:
    """One set's outcomes by system, and the milliseconds of one question's embedding."""

    done: dict[System, list[Done]] = field(default_factory=dict)
    embedding_ms: list[float] = field(default_factory=list)
    stories: int = 0
    passages: dict[str, int] = field(default_factory=dict)


class WatchedBot(Storybot):
    """Storybot, remembering how it read the last question: also what it would have said."""

    reading = extractive.Reading((), 0.0, ())

    def _read(self, asked: Standalone, hits: Sequence[Hit]) -> extractive.Reading:
        self.reading = super()._read(asked, hits)
        return self.reading


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


@contextmanager
def collection(inputs: Sequence[str], embedder: RememberingEmbedder) -> Iterator[WatchedBot]:
    """A bot over the inputs in a temporary data directory."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder))
        with WatchedBot.open(settings, background=False) as bot:
            assert isinstance(bot, WatchedBot)
            bot.collection.embedder.close()
            bot.collection.embedder = embedder
            files, missing = find_inputs(inputs)
            if missing:
                raise SystemExit(f"not there: {', '.join(each.source for each in missing)}")
            for path in files:
                with path.open("rb") as file:
                    report = bot.ingest(file, source=str(path))
                for failure in report.failed:
                    say(f"not read: {failure.source}: {failure.reason}")
            yield bot


def run(inputs: Sequence[str], questions: Sequence[Question], systems: Sequence[System]) -> Run:
    """Put every question to every system over the stories of the inputs."""
    made = Run(done={system: [] for system in systems})
    name = load_settings().embedding_model

    def told(left: int) -> None:
        say(f"  {left} passages to embed")

    own, shared = (RememberingEmbedder(name, KEPT, told) for _ in range(2))
    with collection(inputs, own) as bot, tempfile.TemporaryDirectory() as folder:
        cards = bot.stories(limit=10**9)
        made.stories = len(cards)
        passages = cut([bot.story(card.id)[1].body for card in cards])
        made.passages = {"a to d": len(passages), "e": bot.counts().passages}
        say(f"  {len(cards)} stories, {made.passages} passages")
        if "e" in systems:
            waiting = bot.collection.ledger.pending(10**9)
            own.vectors([embedded_text(prefix, body) for _, prefix, body in waiting])
            bot.collection.embed_pending()
            bot.ask("Is anything there?")
        keywords, peers = _peers(systems, passages, shared, Path(folder))
        turns: dict[str, list[Turn]] = {}
        for at, question in enumerate(questions):
            if at % 25 == 0:
                say(f"  question {at} of {len(questions)}")
            start = time.perf_counter()
            shared.vectors([question.text], priority=QUESTION)
            made.embedding_ms.append(_since(start))
            for system in systems:
                if system == "e":
                    made.done["e"].append(_ask(bot, question, turns))
                elif question.answerable:
                    made.done[system].append(
                        _look_up(system, peers[system], question, passages, keywords, shared)
                    )
    own.close()
    shared.close()
    return made


def _peers(
    systems: Sequence[System], passages: Sequence[str], embedder: RememberingEmbedder, folder: Path
) -> tuple[Keywords | None, dict[System, Peer]]:
    peers: dict[System, Peer] = {}
    keywords = Keywords(passages) if {"b", "c"} & set(systems) else None
    if {"a", "c"} & set(systems):
        peers["a"] = Tutorial(passages, embedder, folder)
    if keywords is not None:
        peers["b"] = keywords
        if "c" in systems:
            peers["c"] = Fusion(keywords, peers["a"])
    if "d" in systems:
        peers["d"] = Txtai(passages, embedder)
    for peer in peers.values():
        peer.search("Is anything there?", DEPTHS[-1])
    return keywords, peers


def _look_up(
    system: System,
    peer: Peer,
    question: Question,
    passages: Sequence[str],
    keywords: Keywords | None,
    embedder: RememberingEmbedder,
) -> Done:
    start = time.perf_counter()
    found = peer.search(question.text, DEPTHS[-1])
    search_ms = _since(start)
    texts = [passages[row] for row, _ in found]
    done = Done(
        id=question.id,
        group=question.group,
        answerable=question.answerable,
        held=metrics.held_at(texts, question.holds, DEPTHS),
        at_hand=any(map(question.holds, texts)),
        search_ms=search_ms,
    )
    if system == "c" and keywords is not None:
        scored = {passages[row]: score for row, score in found}
        said = take_sentences(question.text, scored, keywords, embedder, budget=ANSWER_WORDS)
        done.answer_ms = search_ms + said.ms
        done.right = question.holds(said.text)
        done.words = text.word_count(said.text)
        done.answer = said.text
    return done


def _ask(bot: WatchedBot, question: Question, turns: dict[str, list[Turn]]) -> Done:
    history = turns.get(question.follows, []) if question.follows else []
    bot.reading = extractive.Reading((), 0.0, ())
    start = time.perf_counter()
    answer = bot.ask(question.text, history=history, now=question.now)
    took = _since(start)
    turns[question.id] = [*history, Turn(question.text, answer)]
    texts = [hit.passage.text for hit in answer.hits]
    declined = answer.status == "declined"
    said = " ".join(answer.text.split()[:ANSWER_WORDS])
    right = not declined and question.holds(said)
    quotes = " ".join(c.quote for sentence in answer.sentences for c in sentence.citations)
    done = Done(
        id=question.id,
        group=question.group,
        answerable=question.answerable,
        held=metrics.held_at(texts, question.holds, DEPTHS),
        at_hand=any(map(question.holds, texts)),
        search_ms=answer.timings_ms["search"],
        answer_ms=took,
        right=right,
        cited=right and question.holds(quotes),
        declined=declined,
        words=text.word_count(answer.text),
        chance=bot.reading.confidence,
        would_be_right=question.holds(" ".join(each.text for each in bot.reading.chosen)),
        answer=answer.text,
    )
    if question.evidence:
        cited = {c.story_id for sentence in answer.sentences for c in sentence.citations}
        names = {name for story_id in cited for name in _names(bot, story_id)}
        done.home = bool(done.cited) and bool(names & question.evidence)
    _check_citations(bot, answer, done)
    return done


def _names(bot: Storybot, story_id: str) -> set[str]:
    """What a set may call a story: its declared id, its path below corpus/, its file."""
    found: set[str] = set()
    for alias in bot.collection.ledger.story(story_id).aliases:
        if alias.kind == "id":
            found.add(alias.value.partition("\n")[2].casefold())
        elif alias.kind == "path":
            found.add(alias.value.rpartition("/corpus/")[2].casefold())
            found.add(alias.value.rpartition("/")[2].casefold())
    return found


_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_CAPITAL = re.compile(r"\b[^\W\d_a-zß-öø-ÿ][^\W_]+")


def _check_citations(bot: Storybot, answer: Answer, done: Done) -> None:
    """Look each quotation up at its offsets, and each sentence's figures and names in them.

    It reads the ledger anew and owes nothing to the verifier. Names are all words with
    a capital, the sentence's first included.
    """
    passages = {hit.passage.id: hit.passage.text for hit in answer.hits}
    for sentence in answer.sentences:
        cited = ""
        for citation in sentence.citations:
            body = bot.story(citation.story_id, citation.revision)[1].body
            done.citations += 1
            done.exact += body[citation.start : citation.end] == citation.quote
            cited += f" {citation.quote} {passages.get(citation.passage_id, '')}"
        done.sentences += 1
        done.stands += all(
            set(pattern.findall(sentence.text)) <= set(pattern.findall(cited))
            for pattern in (_FIGURE, _CAPITAL)
        )


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1000
