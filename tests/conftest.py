"""What every test stands on.

No test reaches beyond this machine: pytest-socket lets loopback through and nothing
else. The model is loaded once a worker. No test sees the settings or the collection of
whoever runs it.
"""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import pytest
from filelock import FileLock

from helpers import ROOT, Cli, Server, copied

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "ANONYMIZED_TELEMETRY": "False",
    "GRADIO_ANALYTICS_ENABLED": "False",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_WAIT_POLICY": "PASSIVE",
    "OMP_NUM_THREADS": "1",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", action="store_true", help="run the long tests too")


def pytest_configure() -> None:
    os.environ.update(OFFLINE)
    for name in [name for name in os.environ if name.startswith("STORYBOT_")]:
        if name != "STORYBOT_CHROMIUM":
            del os.environ[name]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--torture"):
        return
    for item in items:
        if item.get_closest_marker("torture"):
            item.add_marker(pytest.mark.skip(reason="long: run `make torture`"))


@pytest.fixture(scope="session", autouse=True)
def _nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Default folders that are this run's own, and one load of the model."""
    from storybot import embedding

    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
            patch.setenv(name, str(home / name))
        patch.setattr(embedding, "_load", lru_cache(maxsize=None)(embedding._load))
        yield


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORYBOT_CHROMIUM", raising=False)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def bot(data_dir: Path) -> "Iterator[Storybot]":  # noqa: F821
    """An empty collection; vectors are written when ``embed_pending`` is called."""
    from storybot.bot import Storybot
    from storybot.settings import load_settings

    with Storybot.open(load_settings(data_dir=data_dir), background=False) as opened:
        yield opened


@pytest.fixture
def cli(data_dir: Path) -> Cli:
    """Runs the command in this process, on the test's own collection."""
    return Cli(data_dir)


@pytest.fixture(scope="session")
def corpus_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of the sample newsroom, not open. Copy it, do not open it.

    Made once a run, whichever worker comes first.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, made = shared / "newsroom" / "data", shared / "newsroom.made"
    with FileLock(shared / "newsroom.lock"):
        if not made.exists():
            _make_newsroom(folder)
            made.touch()
    return folder


def _make_newsroom(folder: Path) -> None:
    from storybot.bot import Storybot
    from storybot.ingest.run import find_inputs
    from storybot.settings import load_settings

    files, _ = find_inputs([str(ROOT / "corpus")])
    with Storybot.open(load_settings(data_dir=folder), background=False) as opened:
        for file in files:
            report = opened.ingest(
                file.read_bytes(), source=str(file), now=datetime(2026, 10, 1, tzinfo=UTC)
            )
            assert not report.failed
        opened.collection.embed_pending()


@pytest.fixture(scope="session")
def corpus_bot(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Storybot]":  # noqa: F821
    """The sample newsroom, open. To be asked, not written to."""
    from storybot.bot import Storybot
    from storybot.settings import load_settings

    folder = copied(corpus_dir, tmp_path_factory.mktemp("corpus_bot") / "data")
    with Storybot.open(load_settings(data_dir=folder), background=False) as opened:
        yield opened


@pytest.fixture(scope="session")
def site(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of `storybot serve` over the sample newsroom, in its own process."""
    folder = copied(corpus_dir, tmp_path_factory.mktemp("site") / "data")
    with Server(folder) as server:
        yield server.url


@pytest.fixture
def small_disk(tmp_path: Path) -> "Iterator[Disk]":  # noqa: F821
    """A file system of its own, whose size and writability a test sets. Needs root."""
    from helpers import Disk

    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("mounting needs root")
    disk = Disk(tmp_path / "disk")
    if not disk.mount():
        pytest.skip("this machine does not let root mount")
    try:
        yield disk
    finally:
        disk.unmount()
