"""A story that changes is a new revision of itself, never a second story."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import Cli, lines, story
from storybot.bot import Storybot
from storybot.types import IngestReport

Count = Callable[[], int]


@pytest.fixture
def embedded(bot: Storybot, monkeypatch: pytest.MonkeyPatch) -> Count:
    """How many texts were embedded since it was last asked."""
    seen: list[str] = []
    real = bot.collection.embedder.vectors

    def counted(texts: list[str], **more: int) -> object:
        seen.extend(texts)
        return real(texts, **more)

    monkeypatch.setattr(bot.collection.embedder, "vectors", counted)

    def count() -> int:
        bot.collection.embed_pending()
        taken = len(seen)
        seen.clear()
        return taken

    return count


def put(bot: Storybot, *stories: dict[str, object], source: str = "s.jsonl") -> IngestReport:
    report = bot.ingest(lines(stories), source=source)
    assert report.failed == ()
    return report


def outcome(report: IngestReport) -> tuple[int, int, int]:
    return report.added, report.updated, report.unchanged


NAMED = {
    "id": {"id": "a1", "outlet": "Courier"},
    "address": {"id": None, "url": "https://courier.example/bridge"},
    "path": {"id": None},
}


@pytest.mark.parametrize("known_by", NAMED)
def test_an_edited_story_is_a_new_revision(bot: Storybot, known_by: str) -> None:
    first = story(1, **NAMED[known_by])
    edited = {**first, "text": "The old ferry was sold under K00001 and left the port."}
    assert outcome(put(bot, first)) == (1, 0, 0)
    assert outcome(put(bot, first)) == (0, 0, 1)
    assert outcome(put(bot, edited)) == (0, 1, 0)
    assert outcome(put(bot, edited)) == (0, 0, 1)
    (card,) = bot.stories()
    assert bot.story(card.id)[1].number == 2
    assert "sold" in bot.search("K00001").hits[0].passage.text
    assert all("registered" not in hit.passage.text for hit in bot.search("registered").hits)


def test_a_changed_headline_keeps_a_named_story_the_same(bot: Storybot) -> None:
    put(bot, story(1))
    assert outcome(put(bot, story(1, headline="The ferry is sold"))) == (0, 1, 0)
    assert [card.headline for card in bot.stories()] == ["The ferry is sold"]


def test_an_address_is_the_same_with_and_without_its_tracking(bot: Storybot) -> None:
    put(bot, story(1, id=None, url="https://courier.example/bridge"))
    again = story(1, id=None, url="https://courier.example/bridge?utm_source=x#top")
    put(bot, {**again, "text": "The bridge is open."}, source="other.jsonl")
    assert len(bot.stories()) == 1


def test_the_same_id_at_two_outlets_is_two_stories(bot: Storybot) -> None:
    put(bot, story(1, outlet="Courier"), story(1, outlet="Ledger", text="Another story."))
    assert len(bot.stories()) == 2


def test_stories_without_any_name_are_told_apart_in_one_file(bot: Storybot) -> None:
    put(bot, story(1, id=None), story(2, id=None))
    assert len(bot.stories()) == 2


def test_what_is_unchanged_is_not_embedded_again(bot: Storybot, embedded: Count) -> None:
    stories = [story(n) for n in range(8)]
    put(bot, *stories)
    assert embedded() == 8
    put(bot, *stories)
    put(bot, *stories, source="elsewhere.jsonl")
    assert embedded() == 0


def test_only_the_changed_passages_of_a_story_are_embedded_again(
    bot: Storybot, embedded: Count
) -> None:
    paragraphs = [f"Paragraph {n} tells of the harbour wall. " * 14 for n in range(6)]
    put(bot, story(1, text="\n\n".join(paragraphs)))
    whole = embedded()
    assert whole >= 6
    paragraphs[-1] = "The last paragraph now tells of the lighthouse. " * 12
    put(bot, story(1, text="\n\n".join(paragraphs)))
    assert 0 < embedded() <= 2
    assert bot.collection.check() == []


def test_a_line_put_into_a_file_changes_no_other_story(bot: Storybot, embedded: Count) -> None:
    stories = [story(n, id=None) for n in range(6)]
    put(bot, *stories)
    assert embedded() == 6
    report = put(bot, stories[0], story(50, id=None), *stories[1:])
    assert outcome(report) == (1, 0, 6)
    assert embedded() == 1
    assert len(bot.stories()) == 7


def test_lines_in_another_order_change_nothing(bot: Storybot, embedded: Count) -> None:
    stories = [story(n, id=None) for n in range(6)]
    put(bot, *stories)
    embedded()
    assert outcome(put(bot, *reversed(stories))) == (0, 0, 6)
    assert embedded() == 0


def test_an_older_copy_that_comes_late_changes_nothing(bot: Storybot) -> None:
    new = story(1, modified="2026-03-02T10:00:00Z", text="The bridge is open.")
    old = story(1, modified="2026-03-01T10:00:00Z", text="The bridge is shut.")
    put(bot, new)
    report = put(bot, old)
    assert outcome(report) == (0, 0, 1)
    assert "older" in report.warnings[0].reason
    assert [bot.story(card.id)[1].body for card in bot.stories()] == ["The bridge is open."]


def test_a_copy_of_an_earlier_revision_that_comes_late_changes_nothing(bot: Storybot) -> None:
    old, new = story(1, text="The bridge is shut."), story(1, text="The bridge is open.")
    put(bot, old)
    put(bot, new)
    assert outcome(put(bot, old)) == (0, 0, 1)
    assert [bot.story(card.id)[1].body for card in bot.stories()] == ["The bridge is open."]


def test_a_file_that_goes_back_to_its_old_text_is_believed(bot: Storybot) -> None:
    for text in (b"Bridge\n\nIt is shut.", b"Bridge\n\nIt is open.", b"Bridge\n\nIt is shut."):
        bot.ingest(text, source="/news/bridge.txt")
    (card,) = bot.stories()
    assert (card.revision, bot.story(card.id)[1].body) == (3, "It is shut.")


def test_another_story_under_an_old_path_is_another_story(bot: Storybot) -> None:
    for name in ("a1", "a2"):
        text = f"---\nid: {name}\noutlet: Courier\n---\n# Story {name}\n\nText of {name}.\n"
        bot.ingest(text.encode(), source="/news/today.md")
    assert {card.headline for card in bot.stories()} == {"Story a1", "Story a2"}


def test_a_file_is_the_same_however_its_path_is_written(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "news"
    folder.mkdir()
    (folder / "bridge.txt").write_text("Bridge shut\n\nThe bridge is shut.")
    (tmp_path / "link").symlink_to(folder)
    cli("ingest", folder)
    monkeypatch.chdir(folder)
    for name in (
        "bridge.txt",
        "../news/bridge.txt",
        folder / "bridge.txt",
        tmp_path / "link" / "bridge.txt",
        tmp_path / "link",
        str(tmp_path / "n*" / "*.txt"),
    ):
        report = cli.json("ingest", "--json", name)
        assert (report["added"], report["unchanged"]) == (0, 1), name


def test_a_story_deleted_and_added_again_is_there_once(bot: Storybot) -> None:
    put(bot, story(1))
    bot.ask("What was registered under K00001?")
    bot.delete(bot.stories()[0].id)
    put(bot, story(1, text="The old ferry was sold under K00001."))
    bot.collection.embed_pending()
    (card,) = bot.stories()
    assert (card.revision, bot.story(card.id)[1].body) == (
        1,
        "The old ferry was sold under K00001.",
    )
    assert bot.collection.check() == []


def test_a_changed_file_in_a_folder_is_updated_and_the_rest_left(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "news"
    folder.mkdir()
    for n in range(4):
        (folder / f"{n}.json").write_text(json.dumps(story(n, id=None)))
    assert cli.json("ingest", "--json", folder)["added"] == 4
    (folder / "2.json").write_text(json.dumps(story(2, id=None, text="Changed K00002.")))
    shutil.copy(folder / "3.json", folder / "4.json")
    report = cli.json("ingest", "--json", folder)
    assert (report["added"], report["updated"], report["unchanged"]) == (1, 1, 3)
