"""Many ask while stories are added: no errors, and the answers of a quiet day."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers import PATIENCE, lines, story, wait_until
from storybot.bot import Storybot
from storybot.settings import load_settings

FACTS = {
    "Who bought the Larkspur lighthouse?": "The Larkspur lighthouse was bought by Ottilie Marsh.",
    "Who won the Hallow Cross regatta?": "Bram Strake won the Hallow Cross regatta in a gale.",
    "Why was the Pellin cannery shut?": "The Pellin cannery was shut because herring ran out.",
    "When does the Quayside library open?": "The Quayside library opens on Monday at noon.",
    "How many eels were caught in Dunmere?": "In Dunmere 412 eels were caught within an hour.",
    "Who found the Tannahill statue?": "The Tannahill statue was found by Idris Vane.",
}


@pytest.fixture
def busy(data_dir: Path) -> Iterator[Storybot]:
    with Storybot.open(load_settings(data_dir=data_dir)) as bot:
        known = [story(n, headline=text[4:22], text=text) for n, text in enumerate(FACTS.values())]
        bot.ingest(lines(known), source="known.jsonl")
        wait_until(lambda: bot.health().status == "ready")
        yield bot


@pytest.mark.parametrize(
    ("sessions", "questions", "stories"),
    [(6, 3, 40), pytest.param(30, 10, 500, marks=pytest.mark.torture)],
)
def test_answers_while_stories_come_in_are_those_of_a_quiet_day(
    busy: Storybot, sessions: int, questions: int, stories: int
) -> None:
    quiet = {question: busy.ask(question).text for question in FACTS}
    assert all(fact in quiet[question] for question, fact in FACTS.items())
    embedder, asked = busy.collection.embedder, list(FACTS)
    pieces = embedder.token_spans(asked)
    failed: list[Exception] = []
    wrong: list[tuple[str, str]] = []
    counting = threading.Event()
    together = threading.Barrier(sessions + 2)

    def guarded(work: Callable[[], None]) -> None:
        try:
            together.wait(PATIENCE)
            work()
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    def session(number: int) -> None:
        for turn in range(questions):
            question = asked[(number * questions + turn) % len(asked)]
            text = busy.ask(question).text
            if text != quiet[question]:
                wrong.append((quiet[question], text))

    def add() -> None:
        for start in range(0, stories, 10):
            numbers = range(100 + start, 110 + start)
            report = busy.ingest(lines(story(n) for n in numbers), source="new.jsonl")
            assert report.added == 10

    def count() -> None:
        while not counting.is_set():
            assert embedder.token_spans(asked) == pieces
            time.sleep(0.001)

    works = [lambda number=number: session(number) for number in range(sessions)]
    asking = [threading.Thread(target=guarded, args=(work,)) for work in (*works, add)]
    counter = threading.Thread(target=guarded, args=(count,))
    for thread in (*asking, counter):
        thread.start()
    for thread in asking:
        thread.join(600)
    counting.set()
    counter.join(PATIENCE)
    assert failed == []
    assert wrong == []
    assert busy.counts().stories == len(FACTS) + stories
    wait_until(lambda: busy.health().status == "ready", seconds=600)
    assert busy.collection.check() == []
    assert {question: busy.ask(question).text for question in FACTS} == quiet
