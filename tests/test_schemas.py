"""A data directory written under each released schema still opens and answers."""

import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from storybot.bot import Storybot
from storybot.ledger import SCHEMA_VERSION
from storybot.settings import load_settings

DATA = Path(__file__).with_name("data")
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def test_every_schema_has_its_data_directory() -> None:
    kept = {path.name for path in DATA.glob("schema-*.tar.gz")}
    assert kept == {f"schema-{number}.tar.gz" for number in range(1, SCHEMA_VERSION + 1)}


@pytest.mark.parametrize("archive", sorted(DATA.glob("schema-*.tar.gz")), ids=lambda p: p.name)
def test_an_older_data_directory_opens_whole(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    folder = tmp_path / archive.name.removesuffix(".tar.gz")
    with Storybot.open(load_settings(data_dir=folder), background=False) as bot:
        assert bot.counts().stories == 7
        assert bot.collection.check() == []
        found = bot.search("How long is the Athletic captain Roke out for?", now=NOW)
        assert found.status == "full"
        assert "Roke" in found.hits[0].story.headline
        for card in bot.stories(now=NOW):
            assert bot.story(card.id)[1].body
