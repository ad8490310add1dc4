"""A data directory that was damaged is noticed when it is opened, and says the way out."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from helpers import Cli, Disk, copied, lines, story, wait_until
from storybot.bot import Storybot
from storybot.errors import DiskFullError
from storybot.index import VectorIndex, seal
from storybot.ledger import Ledger, NewPassage
from storybot.settings import PACKAGED_MODEL, load_settings
from storybot.types import Alias, Draft

MANY = 1_500
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with more vectors than Chroma keeps in its log alone.

    Its passages are cut and its vectors made up here: embedding that many takes a minute.
    """
    folder = tmp_path_factory.mktemp("large") / "data"
    folder.mkdir()
    texts = [f"Ledger line {n} is under K{n:05d}." for n in range(MANY)]
    passages, at = [], 0
    for n, text in enumerate(texts):
        passages.append(NewPassage(at, at + len(text), "", f"{n:032x}"))
        at += len(text) + 1
    draft = Draft("s", "Ledger lines", "\n".join(texts), aliases=(Alias("path", "s"),))
    ledger = Ledger(folder / "ledger.db")
    ledger.set_meta("embedding_model", PACKAGED_MODEL)
    ledger.set_meta("index", "vectors-00000000")
    ledger.write(draft, passages, now=NOW)
    index = VectorIndex(folder / "vectors-00000000")
    rows = np.random.default_rng(1).normal(size=(MANY, 384)).astype(np.float32)
    index.upsert(
        [passage.vector_key for passage in passages],
        rows / np.linalg.norm(rows, axis=1, keepdims=True),
    )
    ledger.mark_embedded([passage.vector_key for passage in passages])
    index.close()
    ledger.set_meta("index_seal", seal(index.folder))
    ledger.close()
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "data"
    with Storybot.open(load_settings(data_dir=folder), background=False) as bot:
        bot.ingest(lines(story(n) for n in range(15)), source="s.jsonl")
        bot.collection.embed_pending()
    return folder


@pytest.fixture
def opened(data_dir: Path) -> Iterator[Callable[[Path], Storybot]]:
    """Opens a copy of a data directory after a damage is done to it."""
    bots: list[Storybot] = []

    def open_copy(source: Path, damage: Callable[[Path], object], **more: bool) -> Storybot:
        copied(source, data_dir)
        damage(next(data_dir.glob("vectors-*")))
        bots.append(Storybot.open(load_settings(data_dir=data_dir), **more))
        return bots[-1]

    yield open_copy  # type: ignore[misc]
    for bot in bots:
        bot.close()


def segment(folder: Path) -> Path:
    return next(path for path in folder.iterdir() if path.is_dir())


def without_segment(folder: Path) -> None:
    shutil.rmtree(segment(folder))


def halved(folder: Path) -> None:
    data = segment(folder) / "data_level0.bin"
    os.truncate(data, data.stat().st_size // 2)


def zeroed(folder: Path) -> None:
    data = segment(folder) / "data_level0.bin"
    with data.open("r+b") as file:
        file.seek(data.stat().st_size // 2)
        file.write(bytes(data.stat().st_size // 2))


def scrambled(folder: Path) -> None:
    data = segment(folder) / "data_level0.bin"
    data.write_bytes(np.random.default_rng(2).bytes(data.stat().st_size))


def without_list_of_ids(folder: Path) -> None:
    (segment(folder) / "index_metadata.pickle").unlink()


def cut_links(folder: Path) -> None:
    os.truncate(segment(folder) / "link_lists.bin", 1)


def garbage(folder: Path) -> None:
    (folder / "chroma.sqlite3").write_bytes(b"garbage " * 2_000)


def emptied(folder: Path) -> None:
    os.truncate(folder / "chroma.sqlite3", 0)


def halved_catalogue(folder: Path) -> None:
    file = folder / "chroma.sqlite3"
    os.truncate(file, file.stat().st_size // 2)


def from_the_future(folder: Path) -> None:
    with sqlite3.connect(folder / "chroma.sqlite3") as connection:
        connection.execute(
            "INSERT INTO migrations SELECT dir, version + 90, 'x', sql, 'x' FROM migrations"
        )
    connection.close()


def gone(folder: Path) -> None:
    shutil.rmtree(folder)


def other_vectors(folder: Path) -> None:
    """As when a folder of vectors is put back from another day."""
    index = VectorIndex(folder)
    keys = sorted(index.keys())
    index.delete(keys[: len(keys) // 2])
    index.upsert([f"x{n}" for n in range(len(keys))], np.eye(len(keys), 384, dtype=np.float32))
    index.close()


def test_an_index_left_as_it_was_is_not_tried_before_it_is_opened(
    small: Path, opened: Callable[..., Storybot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storybot.collection.can_be_opened", lambda _: pytest.fail("tried"))
    assert opened(small, lambda _: None, background=False).health().status == "ready"


DAMAGES = [without_segment, halved, zeroed, scrambled, without_list_of_ids, cut_links]
LOSSES = [garbage, emptied, halved_catalogue, gone, other_vectors]


def named(damage: Callable[[Path], None]) -> str:
    return damage.__name__.replace("_", " ")


def test_a_sound_one_opens_without_a_word(large: Path, opened: Callable[..., Storybot]) -> None:
    bot = opened(large, lambda _: None, background=False)
    assert bot.health().status == "ready"
    assert bot.counts().pending == 0


@pytest.mark.parametrize("damage", DAMAGES, ids=named)
def test_a_damaged_index_is_noticed_and_told_with_each_answer(
    large: Path, opened: Callable[..., Storybot], damage: Callable[[Path], None]
) -> None:
    bot = opened(large, damage, background=False)
    assert bot.health().status == "degraded"
    assert "check --repair" in bot.health().text
    assert bot.counts().pending == MANY
    found = bot.search("What is under K00777?")
    assert found.status == "partial"
    assert "K00777" in found.hits[0].passage.text
    assert any(
        notice.code == "index_degraded" and "check --repair" in notice.text
        for notice in bot.ask("What is under K00777?").notices
    )


@pytest.mark.parametrize("damage", [halved, scrambled], ids=named)
def test_damage_after_a_crash_does_not_end_the_process_that_opens_it(
    large: Path, opened: Callable[..., Storybot], damage: Callable[[Path], None]
) -> None:
    def crashed(folder: Path) -> None:
        with sqlite3.connect(folder.parent / "ledger.db") as connection:
            connection.execute("DELETE FROM meta WHERE key = 'index_seal'")
        connection.close()
        damage(folder)

    assert opened(large, crashed, background=False).counts().pending == MANY


def test_a_copy_with_other_file_times_is_sound(
    large: Path, opened: Callable[..., Storybot]
) -> None:
    def copied_again(folder: Path) -> None:
        for path in folder.rglob("*"):
            os.utime(path, (1, 1))

    bot = opened(large, copied_again, background=False)
    assert (bot.health().status, bot.counts().pending) == ("ready", 0)


@pytest.mark.parametrize("damage", LOSSES, ids=named)
def test_a_lost_index_is_rebuilt_by_itself(
    small: Path, opened: Callable[..., Storybot], damage: Callable[[Path], None]
) -> None:
    bot = opened(small, damage)
    assert bot.search("K00012").hits[0].story.headline == story(12)["headline"]
    wait_until(lambda: bot.health().status == "ready")
    assert bot.collection.check() == []
    assert bot.search("K00012").status == "full"
    assert len(list(bot.collection.folder.glob("vectors-*"))) == 1


def test_the_command_tells_of_it_and_repairs_it(small: Path, data_dir: Path) -> None:
    copied(small, data_dir)
    garbage(next(data_dir.glob("vectors-*")))
    cli = Cli(data_dir)
    first = cli("ask", "What was registered under K00012?")
    assert first.exit_code == 0
    assert "K00012" in first.stdout
    assert "check --repair" in first.stdout
    second = cli("ask", "What was registered under K00013?")
    assert "no vector yet" in second.stdout
    assert "check --repair" in second.stdout
    assert cli("check").exit_code == 1
    assert cli("check", "--repair").exit_code == 0
    assert cli("check").exit_code == 0
    assert "check --repair" not in cli("ask", "What was registered under K00012?").stdout


def test_an_index_of_a_newer_chroma_is_not_trusted(
    small: Path, opened: Callable[..., Storybot]
) -> None:
    bot = opened(small, from_the_future)
    wait_until(lambda: bot.health().status == "ready")
    assert bot.collection.check() == []


@pytest.mark.parametrize("words", [["ask", "x"], ["ingest", __file__], ["check"], ["stories"]])
def test_a_ledger_that_cannot_be_used_stops_with_one_line(
    small: Path, data_dir: Path, words: list[str]
) -> None:
    copied(small, data_dir)
    ledger = data_dir / "ledger.db"
    with sqlite3.connect(ledger) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    whole = ledger.read_bytes()
    for told, data in (
        ("Upgrade storybot", whole),
        ("from a backup", b"garbage " * 2_000),
        ("from a backup", b""),
        ("from a backup", None),
    ):
        ledger.unlink()
        for beside in data_dir.glob("ledger.db-*"):
            beside.unlink()
        if data is not None:
            ledger.write_bytes(data)
        for _ in range(2):
            result = Cli(data_dir)(*words)
            assert result.exit_code == 3
            assert told in result.stderr
            assert result.stderr.count("\n") == 1
            assert result.stdout == ""


def test_a_disk_that_fills_up_stops_an_ingest_and_the_next_run_ends_it(
    small_disk: Disk, tmp_path: Path
) -> None:
    cli = Cli(small_disk.path / "data")
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    first.write_bytes(lines(story(n) for n in range(5)))
    second.write_bytes(lines(story(n) for n in range(5, 20)))
    assert cli("ingest", first).exit_code == 0
    ballast = small_disk.fill()
    result = cli("ingest", second)
    assert result.exit_code == 3
    assert "Free some room" in result.stderr
    assert result.stderr.count("\n") == 1
    ballast.unlink()
    report = cli.json("ingest", "--json", first, second)
    assert report["added"] + report["unchanged"] == 20
    assert report["unchanged"] >= 5
    checked = cli.json("check", "--json")
    assert (checked["stories"], checked["faults"]) == (20, [])


@pytest.mark.parametrize("where", ["stories", "vectors"])
def test_no_room_stops_cleanly_and_keeps_what_was_acknowledged(
    bot: Storybot, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    kept: list[int] = []
    data = lines(story(n, section="x" * 1_000) for n in range(20))

    def ingest() -> None:
        kept.clear()
        bot.ingest(data, source="s.jsonl", progress=lambda tally: kept.append(1))
        bot.collection.embed_pending()

    with monkeypatch.context() as patch:
        if where == "stories":
            writer = bot.collection.ledger._writer
            pages = writer.execute("PRAGMA page_count").fetchone()[0]
            writer.execute(f"PRAGMA max_page_count = {pages + 4}")
        else:

            def full(*_: object, **__: object) -> None:
                raise OSError(28, "No space left on device")

            patch.setattr(bot.collection.index._collection, "upsert", full)  # type: ignore[union-attr]
        with pytest.raises(DiskFullError) as raised:
            ingest()
        assert "it resumes" in raised.value.hint
    acknowledged = len(kept)
    assert 0 < acknowledged <= 20
    assert bot.counts().stories == acknowledged
    assert bot.collection.ledger.integrity() == []
    for n in (0, acknowledged - 1):
        assert bot.search(f"K{n:05d}").hits[0].story.headline == story(n)["headline"]
    if where == "stories":
        writer.execute("PRAGMA max_page_count = 100000")
    ingest()
    assert bot.counts().stories == 20
    assert bot.collection.check() == []


def test_a_folder_that_may_not_be_written_is_told_in_one_line(
    small: Path, small_disk: Disk
) -> None:
    cli = Cli(copied(small, small_disk.path / "data"))
    small_disk.writable(allowed=False)
    for words in (["ask", "x"], ["ingest", __file__], ["check", "--repair"]):
        result = cli(*words)
        assert result.exit_code == 3
        assert "writ" in result.stderr
        assert result.stderr.count("\n") == 1
    small_disk.writable(allowed=True)
    assert cli("check").exit_code == 0
