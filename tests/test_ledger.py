"""The ledger keeps every story, and shows only what may be shown at the time asked."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from storybot.errors import (
    DiskFullError,
    NotFoundError,
    StoreDamagedError,
    StoreError,
    StoreGoneError,
    StoreVersionError,
)
from storybot.ledger import Ledger, NewPassage
from storybot.types import Alias, Draft, Filters, Moment

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=1)


def draft(name: str = "a", body: str = "The bridge is shut.", **fields: object) -> Draft:
    return Draft(
        source=f"{name}.txt",
        headline=f"Story {name}",
        body=body,
        aliases=(Alias("id", f"courier\n{name}"),),
        **fields,  # type: ignore[arg-type]
    )


def whole(made: Draft, key: str = "") -> list[NewPassage]:
    return [NewPassage(0, len(made.body), made.headline, key or f"key of {made.body}")]


def put(ledger: Ledger, made: Draft, *, now: datetime = NOW) -> str:
    story_id = ledger.write(made, whole(made), now=now).story_id
    assert story_id is not None
    return story_id


def found(ledger: Ledger, query: str, *, now: datetime = NOW, **limits: object) -> list[str]:
    rows = ledger.keyword(query, 10, filters=Filters(**limits), now=now)  # type: ignore[arg-type]
    passages = ledger.passages([row for row, _ in rows], now=now)
    return [passages[row][0].text for row, _ in rows]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    opened = Ledger(path)
    yield opened
    opened.close()


def test_a_story_is_found_by_its_words_once_it_is_written(ledger: Ledger) -> None:
    put(ledger, draft(body="🌉 The bridge of Łódź is shut."))
    assert found(ledger, "bridg") == ["🌉 The bridge of Łódź is shut."]
    assert found(ledger, "ferri") == []


def test_what_is_written_is_there_after_reopening(ledger: Ledger, path: Path) -> None:
    story_id = put(ledger, draft())
    ledger.close()
    again = Ledger(path)
    assert [card.id for card in again.stories(now=NOW)] == [story_id]
    assert again.body(story_id, 1) == "The bridge is shut."
    again.close()


def test_a_new_revision_takes_the_place_of_the_old_one(ledger: Ledger) -> None:
    story_id = put(ledger, draft())
    assert put(ledger, draft(body="The bridge is open.")) == story_id
    assert found(ledger, "shut") == []
    assert found(ledger, "open") == ["The bridge is open."]
    assert ledger.revision(story_id, now=NOW)[1].number == 2
    assert ledger.revision(story_id, 1, now=NOW)[1].body == "The bridge is shut."


def test_an_embargoed_revision_waits_for_its_time(ledger: Ledger) -> None:
    story_id = put(ledger, draft())
    put(ledger, draft(body="The bridge is open.", embargoed_until=LATER))
    just_before = LATER - timedelta(seconds=1)
    assert found(ledger, "open OR shut", now=just_before) == ["The bridge is shut."]
    assert found(ledger, "open OR shut", now=LATER) == ["The bridge is open."]
    assert ledger.revision(story_id, now=just_before)[1].number == 1
    assert ledger.revision(story_id, now=LATER)[1].number == 2
    with pytest.raises(NotFoundError):
        ledger.revision(story_id, 2, now=just_before)


@pytest.mark.parametrize("status", ["killed", "withheld"])
def test_what_is_withdrawn_is_nowhere(ledger: Ledger, status: str) -> None:
    story_id = put(ledger, draft(outlet="Courier"))
    put(ledger, draft(outlet="Courier", status=status))
    assert found(ledger, "bridg") == []
    assert ledger.stories(now=NOW) == []
    assert ledger.names("outlet", now=NOW) == []
    assert ledger.counts(now=NOW).stories == 0
    for number in (None, 1, 2):
        with pytest.raises(NotFoundError):
            ledger.revision(story_id, number, now=NOW)


def test_filters_include_their_start_and_leave_out_their_end(ledger: Ledger) -> None:
    put(ledger, draft(published=Moment("", instant=NOW, flag="ok")))
    second = timedelta(seconds=1)
    assert found(ledger, "bridg", since=NOW, until=NOW + second) == ["The bridge is shut."]
    assert found(ledger, "bridg", since=NOW + second) == []
    assert found(ledger, "bridg", until=NOW) == []


def test_a_deleted_story_leaves_nothing(ledger: Ledger) -> None:
    story_id = put(ledger, draft())
    ledger.mark_embedded(["key of The bridge is shut."])
    ledger.delete(story_id, now=NOW)
    assert found(ledger, "bridg") == []
    assert ledger.orphans() == ["key of The bridge is shut."]
    assert ledger.integrity() == []
    with pytest.raises(NotFoundError):
        ledger.delete(story_id, now=NOW)


def test_passages_without_a_vector_come_latest_first_and_each_vector_once(ledger: Ledger) -> None:
    for name in ("a", "b", "c"):
        put(ledger, draft(name, body=f"Body of {name}."))
    copy = draft("d", body="Body of a.")
    ledger.write(copy, whole(copy), now=NOW)
    assert [key for key, _, _ in ledger.pending(10)] == [
        "key of Body of a.",
        "key of Body of c.",
        "key of Body of b.",
    ]
    ledger.mark_embedded(["key of Body of a."])
    assert ledger.counts(now=NOW).pending == 2


def test_the_same_story_written_by_many_at_once_is_one(ledger: Ledger) -> None:
    together = threading.Barrier(6)

    def write() -> None:
        together.wait()
        for n in range(20):
            put(ledger, draft(str(n)))

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cards = ledger.stories(now=NOW, limit=1000)
    assert len(cards) == 20
    assert {card.revisions for card in cards} == {1}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")
def test_threads_that_come_and_go_leave_no_files_open(ledger: Ledger) -> None:
    put(ledger, draft())
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(60):
        thread = threading.Thread(target=ledger.stories, kwargs={"now": NOW})
        thread.start()
        thread.join()
    assert len(list(Path("/proc/self/fd").iterdir())) < before + 20


def test_a_full_disk_stops_the_write_and_nothing_else(ledger: Ledger) -> None:
    kept = put(ledger, draft("a"))
    pages = ledger._writer.execute("PRAGMA page_count").fetchone()[0]
    ledger._writer.execute(f"PRAGMA max_page_count = {pages}")
    large = draft("b", body="A long body. " * 5_000)
    with pytest.raises(DiskFullError, match="disk is full") as raised:
        put(ledger, large)
    assert "it resumes" in raised.value.hint
    assert [card.id for card in ledger.stories(now=NOW)] == [kept]
    assert found(ledger, "bridg") == ["The bridge is shut."]
    assert ledger.integrity() == []
    ledger._writer.execute(f"PRAGMA max_page_count = {pages + 1000}")
    put(ledger, large)
    assert len(ledger.stories(now=NOW)) == 2


def test_a_ledger_of_a_newer_storybot_is_not_touched(ledger: Ledger, path: Path) -> None:
    put(ledger, draft())
    ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreVersionError, match="newer") as raised:
        Ledger(path)
    assert "Upgrade" in raised.value.hint
    assert path.read_bytes() == before


def test_another_programs_database_is_not_touched(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreDamagedError, match="not storybot's"):
        Ledger(path)


def complaints(path: Path) -> list[str]:
    """What opening and checking a ledger says is wrong with it."""
    try:
        opened = Ledger(path)
    except StoreDamagedError as error:
        return [f"{error} {error.hint}"]
    try:
        return opened.integrity()
    except StoreDamagedError as error:
        return [f"{error} {error.hint}"]
    finally:
        opened.close()


@pytest.mark.parametrize("damage", ["garbage", "half"])
def test_a_damaged_file_does_not_pass_for_a_sound_one(
    ledger: Ledger, path: Path, damage: str
) -> None:
    for n in range(40):
        put(ledger, draft(str(n), body=f"Body {n}. " * 200))
    ledger.close()
    assert complaints(path) == []
    data = path.read_bytes()
    path.write_bytes(os.urandom(9_000) if damage == "garbage" else data[: len(data) // 2])
    assert complaints(path)
    if damage == "garbage":
        assert "Restore the file from a backup" in complaints(path)[0]


def test_a_lost_keyword_row_is_noticed_and_mended(ledger: Ledger) -> None:
    put(ledger, draft("a"))
    put(ledger, draft("b", body="The ferry sails."))
    ledger._writer.execute("DELETE FROM passages_fts WHERE rowid = 1")
    assert any("1 passages missing" in complaint for complaint in ledger.integrity())
    ledger.rebuild_keywords()
    assert ledger.integrity() == []
    assert found(ledger, "bridg OR ferri OR sail") == ["The ferry sails.", "The bridge is shut."]


def test_a_removed_file_is_gone_not_damaged(ledger: Ledger, path: Path) -> None:
    put(ledger, draft())
    path.unlink()
    for use in (
        lambda: ledger.stories(now=NOW),
        lambda: put(ledger, draft("b")),
        ledger.integrity,
        lambda: ledger.meta("x"),
    ):
        with pytest.raises(StoreGoneError, match="removed or replaced"):
            use()


def test_a_replaced_file_is_gone_too(ledger: Ledger, path: Path) -> None:
    put(ledger, draft())
    path.unlink()
    other = Ledger(path)
    with pytest.raises(StoreGoneError):
        ledger.stories(now=NOW)
    assert other.stories(now=NOW) == []
    other.close()


def test_a_closed_ledger_says_so(ledger: Ledger) -> None:
    ledger.close()
    with pytest.raises(StoreError, match="was closed"):
        ledger.stories(now=NOW)
    with pytest.raises(StoreError, match="was closed"):
        put(ledger, draft())
