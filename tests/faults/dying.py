"""Ingests in child processes that are killed, and looks at what each left behind.

    python dying.py FOLDER STORIES KILLS SEED

Every other child kills itself between a commit of the ledger and the vectors that
belong to it, before or after they are written; the rest are killed from outside,
half of them while stories are kept, half while vectors are written.
Prints one JSON object a kill. Everything is imported and the model loaded
once, before the children are forked, so that a kill costs no start.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import chromadb  # noqa: F401  so that no child has to
import torch

from helpers import lines, story
from storybot import collection, embedding
from storybot.bot import Storybot
from storybot.chunking import sentence_spans
from storybot.index import VectorIndex
from storybot.settings import PACKAGED_MODEL, load_settings
from storybot.text import stems
from storybot.types import Filters

BATCH = 16


def in_child(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid


def ingest(folder: Path, count: int, kept: int) -> None:
    """Ingest the stories; one byte goes to ``kept`` for each that is acknowledged."""
    with Storybot.open(load_settings(data_dir=folder), background=False) as bot:
        bot.ingest(
            lines(story(n) for n in range(count)),
            source="stories.jsonl",
            progress=lambda _: os.write(kept, b"."),
        )
        bot.collection.embed_pending()


def die_between(call: int, *, after: bool) -> None:
    """Have this process killed at the given write of vectors."""
    real, calls = VectorIndex.upsert, list[int]()

    def upsert(index: VectorIndex, keys: list[str], vectors: object) -> None:
        calls.append(len(keys))
        last = len(calls) > call
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        real(index, keys, vectors)  # type: ignore[arg-type]
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    VectorIndex.upsert = upsert  # type: ignore[method-assign, assignment]


def look(folder: Path, count: int, acknowledged: int) -> None:
    """Fail when a story that was acknowledged is lost, or a second run is not sound."""
    with Storybot.open(load_settings(data_dir=folder), background=False) as bot:
        there = bot.counts().stories
        assert acknowledged <= there <= acknowledged + 1, (acknowledged, there)
        listed = {card.headline for card in bot.stories(limit=count)}
        for n in range(acknowledged):
            assert story(n)["headline"] in listed, n
            assert by_words(bot, n), n
        assert bot.collection.ledger.integrity() == []
        report = bot.ingest(lines(story(n) for n in range(count)), source="stories.jsonl")
        assert (report.added, report.unchanged) == (count - there, there), report
        bot.collection.embed_pending()
        assert bot.collection.check() == []
        assert bot.counts().stories == count
        assert bot.collection.index is not None
        assert bot.collection.index.count() == count
        assert bot.search("K00000").status == "full"
        for n in range(0, count, max(1, count // 10)):
            assert by_words(bot, n), n
            hits = bot.search(f"K{n:05d}", k=3).hits
            assert story(n)["headline"] in [hit.story.headline for hit in hits], n


def by_words(bot: Storybot, n: int) -> bool:
    ledger, now = bot.collection.ledger, datetime.now(UTC)
    rows = [row for row, _ in ledger.keyword(f'"k{n:05d}"', 2, filters=Filters(), now=now)]
    hits = ledger.passages(rows, now=now).values()
    return [card.headline for _, card in hits] == [story(n)["headline"]]


def one_kill(folder: Path, count: int, kill: int, seed: int) -> dict[str, object]:
    random = Random(f"{seed}.{kill}")
    folder.mkdir()
    reading, writing = os.pipe()
    inside = kill % 2 == 1
    place = random.randrange(count // BATCH)
    after = random.random() < 0.5

    def child() -> None:
        if inside:
            die_between(place, after=after)
        ingest(folder, count, writing)

    pid = in_child(child)
    os.close(writing)
    acknowledged = 0
    if not inside:
        early = kill % 4 == 0
        wanted = random.randrange(count) if early else count
        while acknowledged < wanted and (byte := os.read(reading, 1)):
            acknowledged += len(byte)
        time.sleep(random.uniform(0, 0.003 if early else count * 0.02))
        os.kill(pid, signal.SIGKILL)
    while more := os.read(reading, 4096):
        acknowledged += len(more)
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    looking = in_child(lambda: look(folder, count, acknowledged))
    sound = os.waitpid(looking, 0)[1] == 0
    killed = os.WIFSIGNALED(status)
    return {"kill": kill, "inside": inside, "acknowledged": acknowledged, "killed": killed,
            "sound": sound}  # fmt: skip


def main() -> None:
    folder, count, kills, seed = Path(sys.argv[1]), *map(int, sys.argv[2:])
    torch.set_num_threads(1)
    model = embedding._load(PACKAGED_MODEL)
    embedding._load = lambda _: model
    collection._BATCH = BATCH
    stems("K00000")
    sentence_spans("A bridge.")
    for kill in range(kills):
        print(json.dumps(one_kill(folder / str(kill), count, kill, seed)), flush=True)


if __name__ == "__main__":
    main()
