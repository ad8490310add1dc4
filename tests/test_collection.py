"""A collection opens sound or says what is wrong, and mends its vectors from the ledger."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers import lines, story, wait_until
from storybot.bot import Storybot
from storybot.collection import Collection
from storybot.embedding import packaged_model_path
from storybot.errors import (
    DiskFullError,
    ModelError,
    StoreDamagedError,
    StoreGoneError,
    StoreModelError,
)
from storybot.index import VectorIndex
from storybot.ledger import Ledger
from storybot.settings import Settings, load_settings


def put(bot: Storybot, *numbers: int, **fields: object) -> None:
    report = bot.ingest(lines(story(n, **fields) for n in numbers), source="stories.jsonl")
    assert not report.failed


def filled(bot: Storybot, count: int) -> None:
    put(bot, *range(count))
    bot.collection.embed_pending()


def top(bot: Storybot, number: int) -> str:
    return bot.search(f"K{number:05d}").hits[0].story.headline


def vector_folders(folder: Path) -> list[Path]:
    return sorted(folder.glob("vectors-*"))


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    return load_settings(data_dir=data_dir)


@pytest.fixture
def working(settings: Settings) -> Iterator[Storybot]:
    """A collection whose vectors are written in the background, as a server has it."""
    with Storybot.open(settings) as opened:
        yield opened


def test_a_new_story_is_searched_by_words_at_once_and_by_vector_soon(bot: Storybot) -> None:
    put(bot, 1, 2, 3)
    assert bot.health().status == "indexing"
    assert bot.search("K00002").status == "partial"
    assert top(bot, 2) == "The school of ward 2"
    bot.collection.embed_pending()
    assert bot.health().status == "ready"
    assert bot.search("K00002").status == "full"
    assert bot.collection.check() == []


def test_vectors_are_written_in_the_background(working: Storybot) -> None:
    put(working, *range(10))
    wait_until(lambda: working.health().status == "ready")
    assert working.collection.check() == []


def test_what_was_left_unembedded_is_embedded_on_the_next_start(settings: Settings) -> None:
    with Storybot.open(settings, background=False) as first:
        put(first, *range(5))
    with Storybot.open(settings) as second:
        wait_until(lambda: second.health().status == "ready")
        assert second.collection.check() == []


def test_a_copy_in_another_place_opens(bot: Storybot, tmp_path: Path) -> None:
    filled(bot, 5)
    bot.close()
    shutil.move(bot.collection.folder, tmp_path / "elsewhere")
    with Storybot.open(load_settings(data_dir=tmp_path / "elsewhere")) as moved:
        assert moved.collection.check() == []
        assert top(moved, 3) == "The market of ward 3"


def test_deleting_a_story_removes_its_vectors(bot: Storybot) -> None:
    filled(bot, 3)
    gone, *_ = bot.stories()
    bot.delete(gone.id)
    assert bot.collection.index is not None
    assert len(bot.collection.index.keys()) == 2
    assert bot.collection.check() == []


def test_deleting_a_story_works_while_the_vectors_are_broken(bot: Storybot) -> None:
    filled(bot, 3)
    shutil.rmtree(vector_folders(bot.collection.folder)[0])
    bot.delete(bot.stories()[0].id)
    assert len(bot.stories()) == 2


def test_the_same_path_can_be_opened_removed_and_opened_in_one_process(settings: Settings) -> None:
    for count in (3, 5):
        with Storybot.open(settings, background=False) as opened:
            assert opened.counts().stories == 0
            filled(opened, count)
            assert opened.counts().stories == count
            assert opened.collection.check() == []
        shutil.rmtree(settings.data_dir)


def test_a_removed_data_directory_is_told_and_not_made_again(working: Storybot) -> None:
    put(working, 1)
    wait_until(lambda: working.health().status == "ready")
    shutil.rmtree(working.collection.folder)
    for use in (
        lambda: working.ask("What was painted?"),
        lambda: put(working, 2),
        lambda: working.search("K00001"),
        working.counts,
        working.collection.check,
    ):
        with pytest.raises(StoreGoneError, match="removed or replaced") as raised:
            use()
        assert "Restart" in raised.value.hint
    working.collection.wake()
    wait_until(lambda: "removed or replaced" in working.collection.trouble)
    assert not working.collection.folder.exists()


def test_removed_vectors_are_rebuilt_while_in_use(working: Storybot) -> None:
    put(working, *range(6))
    wait_until(lambda: working.health().status == "ready")
    shutil.rmtree(vector_folders(working.collection.folder)[0])
    assert top(working, 4) == "The bridge of ward 4"
    working.collection.wake()
    wait_until(lambda: working.health().status == "ready")
    assert working.collection.check() == []
    assert working.search("K00004").status == "full"


def test_an_index_that_keeps_breaking_is_given_up_and_told(
    working: Storybot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(index: VectorIndex, *_: object) -> None:
        index.broken = True
        raise StoreDamagedError("broken again")

    monkeypatch.setattr(VectorIndex, "upsert", breaks)
    put(working, 1)

    def given_up() -> bool:
        working.collection.wake()
        return "again and again" in working.collection.trouble

    wait_until(given_up)
    assert working.health().status == "degraded"
    answer = working.ask("Which crane was registered under K00001?")
    assert any("again and again" in notice.text for notice in answer.notices)
    assert top(working, 1) == "The ferry of ward 1"


def test_trouble_that_has_passed_is_not_told_any_more(
    working: Storybot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> None:
        raise DiskFullError("No room.", hint="Free some.")

    with monkeypatch.context() as patch:
        patch.setattr(VectorIndex, "upsert", no_room)
        put(working, 1)
        wait_until(lambda: working.health().text == "No room. Free some.")
        assert working.health().status == "degraded"
    working.collection.wake()
    wait_until(lambda: working.health().status == "ready")
    assert working.collection.check() == []


def test_the_background_outlives_a_model_that_fails_once(
    working: Storybot, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = working.collection.embedder.vectors

    def fails(*_: object, **__: object) -> None:
        raise ModelError("No memory.")

    with monkeypatch.context() as patch:
        patch.setattr(working.collection.embedder, "vectors", fails)
        put(working, 1)
        wait_until(lambda: "No memory." in working.health().text)
    assert working.collection.embedder.vectors == real
    working.collection.wake()
    wait_until(lambda: working.health().status == "ready")


def test_what_a_killed_process_left_in_the_index_is_dropped(settings: Settings) -> None:
    with Storybot.open(settings, background=False) as first:
        filled(first, 3)
        assert first.collection.index is not None
        stored = first.collection.index.vectors(first.collection.ledger.vector_keys())
        first.collection.index.upsert(["stray"], next(iter(stored.values()))[None])
        (settings.data_dir / "vectors-0000abcd").mkdir()
    with Storybot.open(settings, background=False) as second:
        assert second.collection.index is not None
        assert second.collection.index.keys() == set(second.collection.ledger.vector_keys())
        assert [path.name for path in vector_folders(settings.data_dir)] == [
            second.collection.index.folder.name
        ]
        assert second.collection.check() == []


def test_a_lost_ledger_does_not_pass_for_an_empty_collection(settings: Settings) -> None:
    with Storybot.open(settings, background=False) as first:
        filled(first, 3)
    ledger = settings.data_dir / "ledger.db"
    for lose in (ledger.unlink, ledger.touch):
        lose()
        with pytest.raises(StoreDamagedError, match="gone or empty") as raised:
            Storybot.open(settings)
        assert "backup" in raised.value.hint


def test_check_names_what_waits_and_repair_ends_it(bot: Storybot) -> None:
    put(bot, *range(4))
    assert bot.collection.check() == ["vectors: 4 passages wait for theirs"]
    bot.collection.repair()
    assert bot.collection.check() == []


def test_check_finds_a_lost_vector_and_repair_makes_it(bot: Storybot) -> None:
    filled(bot, 4)
    assert bot.collection.index is not None
    bot.collection.index.delete(bot.collection.ledger.vector_keys()[:1])
    assert bot.collection.check() == ["vectors: 3 of 4 are there"]
    bot.collection.repair()
    assert bot.collection.check() == []
    assert bot.search("K00002").status == "full"


def test_check_finds_lost_keywords_and_repair_makes_them(bot: Storybot) -> None:
    filled(bot, 2)
    bot.collection.ledger._writer.execute("DELETE FROM passages_fts")
    assert bot.collection.check() == ["ledger: keyword index: 2 passages missing, 0 too many"]
    bot.collection.repair()
    assert bot.collection.check() == []
    assert top(bot, 1) == "The ferry of ward 1"


def test_repair_does_not_claim_to_mend_the_ledger(bot: Storybot, monkeypatch: Any) -> None:
    from storybot.service import Service

    filled(bot, 1)
    monkeypatch.setattr(Ledger, "integrity", lambda _: ["a page is damaged"])
    found = Service(bot).check(repair=True)
    assert found.faults == ["ledger: a page is damaged"]
    assert not found.repaired


def test_another_model_is_refused_with_the_way_out(settings: Settings) -> None:
    with Storybot.open(settings, background=False) as first:
        filled(first, 2)
    other = load_settings(data_dir=settings.data_dir, embedding_model="another/model")
    with pytest.raises(StoreModelError, match="another/model") as raised:
        Storybot.open(other)
    assert "storybot reembed" in raised.value.hint
    with Storybot.open(settings, background=False) as again:
        assert again.collection.check() == []


def test_an_empty_collection_takes_whatever_model_is_set(settings: Settings) -> None:
    mistyped = load_settings(data_dir=settings.data_dir, embedding_model="mistyped/model")
    with Storybot.open(mistyped, background=False) as first, pytest.raises(ModelError):
        put(first, 1)
    with Storybot.open(settings, background=False) as second:
        filled(second, 1)
        assert second.collection.check() == []


def test_reembedding_changes_the_model_and_keeps_the_stories(settings: Settings) -> None:
    with Storybot.open(settings, background=False) as first:
        filled(first, 5)
        before = set(first.collection.ledger.vector_keys())
    other = load_settings(data_dir=settings.data_dir, embedding_model=str(packaged_model_path()))
    changed = Collection.open(other, background=False, reembed=True)
    changed.embed_pending()
    changed.close()
    with Storybot.open(other, background=False) as second:
        assert second.collection.check() == []
        assert not before & set(second.collection.ledger.vector_keys())
        assert second.counts().stories == 5
        assert top(second, 3) == "The market of ward 3"
        assert len(vector_folders(settings.data_dir)) == 1
    with pytest.raises(StoreModelError):
        Storybot.open(settings)


def test_reembedding_that_was_cut_short_is_ended_on_the_next_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Storybot.open(settings, background=False) as first:
        filled(first, 5)
    other = load_settings(data_dir=settings.data_dir, embedding_model=str(packaged_model_path()))
    real, calls = Ledger.replace_passages, list[str]()

    def stops(ledger: Ledger, story_id: str, *rest: Any) -> None:
        calls.append(story_id)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(ledger, story_id, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "replace_passages", stops)
        with pytest.raises(KeyboardInterrupt):
            Collection.open(other, background=False, reembed=True)
    with Storybot.open(other, background=False) as second:
        second.collection.embed_pending()
        assert second.collection.check() == []
        assert second.counts().stories == 5
        assert top(second, 4) == "The bridge of ward 4"
