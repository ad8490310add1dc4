"""Conversations as the server keeps them, each under its signed session cookie."""

import secrets
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

from storybot.types import Answer, Event, Sentence, Turn

TURNS = 20
SESSIONS = 1_000
State = Literal["working", "done", "failed", "stopped"]


@dataclass(slots=True)
class Exchange:
    """A question and what has come of it so far. ``lines`` say why it failed."""

    question: str
    id: str = field(default_factory=lambda: secrets.token_hex(4))
    state: State = "working"
    stage: str = ""
    sentences: tuple[Sentence, ...] = ()
    answer: Answer | None = None
    lines: tuple[str, ...] = ()

    def take(self, event: Event) -> None:
        """Record one step of the answer being made."""
        if event.kind == "stage":
            self.stage = event.stage
        elif event.kind == "sentence" and event.sentence is not None:
            self.sentences += (event.sentence,)
        elif event.answer is not None:
            self.answer = event.answer
            self.sentences = event.answer.sentences
            self.state = "done"


class Conversation:
    """The newest exchanges of one session, at most ``TURNS``."""

    def __init__(self) -> None:
        self._exchanges: list[Exchange] = []
        self._lock = Lock()

    def begin(self, question: str) -> Exchange:
        exchange = Exchange(question)
        with self._lock:
            self._exchanges = [*self._exchanges, exchange][-TURNS:]
        return exchange

    def exchanges(self) -> tuple[Exchange, ...]:
        with self._lock:
            return tuple(self._exchanges)

    def history(self) -> tuple[Turn, ...]:
        """The finished turns, oldest first."""
        return tuple(
            Turn(exchange.question, exchange.answer)
            for exchange in self.exchanges()
            if exchange.answer is not None
        )

    def find(self, exchange_id: str) -> Exchange | None:
        return next((e for e in self.exchanges() if e.id == exchange_id), None)

    def stop(self) -> None:
        """Mark what is still being made as stopped; its maker then ends."""
        for exchange in self.exchanges():
            if exchange.state == "working":
                exchange.state = "stopped"

    def clear(self) -> None:
        self.stop()
        with self._lock:
            self._exchanges = []


class Conversations:
    """All sessions; the least recently used goes when there are ``SESSIONS``."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Conversation] = OrderedDict()
        self._lock = Lock()

    def of(self, session: str | None) -> Conversation:
        """The session's conversation, made when new. Without a session: one that is not kept."""
        if session is None:
            return Conversation()
        with self._lock:
            conversation = self._kept.setdefault(session, Conversation())
            self._kept.move_to_end(session)
            while len(self._kept) > SESSIONS:
                self._kept.popitem(last=False)
            return conversation


@contextmanager
def stopped_when_left(exchange: Exchange) -> Iterator[None]:
    """An exchange left unfinished, as when its page goes away, is marked stopped."""
    try:
        yield
    finally:
        if exchange.state == "working":
            exchange.state = "stopped"
