"""Small tools the tests share."""

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from click.testing import CliRunner, Result

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 120.0
COMMAND = [sys.executable, "-c", "from storybot.cli import main; main()"]
NAMES = ["crane", "ferry", "school", "market", "bridge", "theatre", "orchard", "museum", "station"]


def story(number: int, **fields: object) -> dict[str, object]:
    """A short story whose code, K00012 for 12, stands in no other."""
    name = NAMES[number % len(NAMES)]
    return {
        "id": f"s{number}",
        "outlet": "The Courier",
        "headline": f"The {name} of ward {number}",
        "text": f"The old {name} was registered under K{number:05d} and painted again in May.",
        **fields,
    }


def lines(stories: Iterable[dict[str, object]]) -> bytes:
    """Stories as JSON Lines."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in stories)


def copied(source: Path, target: Path) -> Path:
    """A copy of a data directory that nobody has open."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("owner.*"))
    return target


def wait_until(holds: Callable[[], bool], *, seconds: float = PATIENCE) -> None:
    """Return once ``holds()``; fail after ``seconds``."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "what was waited for did not come"
        time.sleep(0.05)


def environment() -> dict[str, str]:
    """The tests' environment without any setting."""
    return {name: value for name, value in os.environ.items() if not name.startswith("STORYBOT_")}


@dataclass(frozen=True)
class Cli:
    """The command, run in this process. A traceback fails the test that caused it."""

    data_dir: Path

    def __call__(self, *arguments: str | Path, stdin: str | bytes | None = None) -> Result:
        from storybot.cli import main

        words = ["--data-dir", str(self.data_dir), *map(str, arguments)]
        result = CliRunner().invoke(main, words, input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "Traceback" not in result.stderr
        return result

    def json(self, *arguments: str | Path) -> Any:
        """Run a command that must do well, and read what it prints."""
        result = self(*arguments)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)


def start(data_dir: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    """Start the command as a process of its own."""
    return subprocess.Popen(
        [*COMMAND, "--data-dir", str(data_dir), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


class Server:
    """`storybot serve` on a free port of its own, from ``with`` to its end."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.url = ""
        self.errors: list[str] = []

    def __enter__(self) -> Self:
        self.process = start(self.data_dir, "serve", "--port", "0")
        told: queue.Queue[str] = queue.Queue()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._threads = [
            threading.Thread(target=_follow, args=(self.process.stdout, told.put)),
            threading.Thread(target=_follow, args=(self.process.stderr, self.errors.append)),
        ]
        for thread in self._threads:
            thread.start()
        try:
            line = told.get(timeout=PATIENCE)
            self.url = next(word for word in line.split() if word.startswith("http"))
        except (queue.Empty, StopIteration):
            self.stop()
            raise AssertionError(f"the server did not start: {self.errors}") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> int:
        """End the server as a service manager would; returns its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return self.process.returncode


def _follow(stream: Iterable[str], take: Callable[[str], object]) -> None:
    for line in stream:
        take(line)
    take("")


@dataclass(frozen=True)
class Disk:
    """A file system in memory at ``path``."""

    path: Path

    def mount(self, megabytes: int = 64) -> bool:
        self.path.mkdir(exist_ok=True)
        return self._run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", self.path)

    def resize(self, megabytes: int) -> None:
        assert self._run("mount", "-o", f"remount,size={megabytes}m", self.path)

    def writable(self, *, allowed: bool) -> None:
        assert self._run("mount", "-o", f"remount,{'rw' if allowed else 'ro'}", self.path)

    def fill(self) -> Path:
        """Use up all the room there is; returns the file to remove to have it back."""
        ballast = self.path / "ballast"
        with ballast.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(1 << 16)):
                    pass
            except OSError:
                pass
        return ballast

    def unmount(self) -> None:
        self._run("umount", "-l", self.path)

    @staticmethod
    def _run(*words: str | Path) -> bool:
        return subprocess.run(words, check=False, capture_output=True).returncode == 0
