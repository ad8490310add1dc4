"""Start the site as the README says, ask it a question, and see that its citation holds.

    .venv/bin/python .ci/smoke.py

Wants .venv and no collection of the sample stories yet.
"""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gradio_client import Client

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / ".storybot" / "demo"
QUESTION = "How many people died in the Hallow Cross flood?"
FIRST_START, LATER_START = 600, 90


def main() -> None:
    stories = len(list(ROOT.glob("corpus/*/*.md"))) + len(list(ROOT.glob("corpus/*/*.txt")))
    with tempfile.TemporaryDirectory() as home:
        environment = clean_environment(home)
        port = free_port()
        with make_chat(port, environment, within=FIRST_START) as site:
            added, _, unchanged, failed = site.tally()
            check(added >= stories, f"{added} stories are added")
            check(unchanged == failed == 0, "and none failed")
            ask(site.url, environment)
            taken_port(port, environment)
        pending = storybot("check", "--json", environment=environment)["pending"]
        check(pending == 0, "no passage waits for a vector")
        with make_chat(port, environment, within=LATER_START) as site:
            check(
                site.tally() == (0, 0, added, 0),
                f"all {added} stories are unchanged, so nothing is embedded again",
            )
            ask(site.url, environment)
        check(not answers(f"http://127.0.0.1:{port}/"), "the site is stopped")


def clean_environment(home: str) -> dict[str, str]:
    """This environment with an empty home, no setting and nothing to open a browser with."""
    unwanted = ("STORYBOT_", "XDG_", "MAKE", "MFLAGS", "BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {**kept, "HOME": home}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Site:
    """A running `make chat`."""

    def __init__(self, url: str, log: Path) -> None:
        self.url = url
        self.log = log

    def tally(self) -> tuple[int, ...]:
        """How many stories were added, updated, unchanged and failed."""
        line = r"(\d+) added, (\d+) updated, (\d+) unchanged, (\d+) failed"
        found = re.search(line, self.log.read_text(encoding="utf-8"))
        check(found is not None, "the ingest is reported")
        return tuple(map(int, found.groups())) if found else ()


@contextmanager
def make_chat(port: int, environment: dict[str, str], *, within: float) -> Iterator[Site]:
    """Run `make chat` until the block ends; it must answer ``within`` so many seconds."""
    command = ["make", "chat", f"PORT={port}"]
    print(f"$ {shlex.join(command)}", flush=True)
    began = time.monotonic()
    url = f"http://127.0.0.1:{port}/"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("w", encoding="utf-8") as output:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            while not answers(url):
                if process.poll() is not None or time.monotonic() - began > within:
                    sys.exit(f"make chat did not come up:\n{log.read_text(encoding='utf-8')}")
                time.sleep(0.2)
            print(f"  answers after {time.monotonic() - began:.1f} s", flush=True)
            yield Site(url, log)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                try:
                    process.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            said = log.read_text(encoding="utf-8")
            print("".join(f"  | {line}\n" for line in said.splitlines()), end="", flush=True)
        check("Traceback" not in said, "there was no traceback")


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def ask(url: str, environment: dict[str, str]) -> None:
    """Ask through the page's own API, and find each quote in its story."""
    answer = Client(url, verbose=False).predict(QUESTION, api_name="/ask")
    print(f"  {QUESTION}\n  {answer['text']}", flush=True)
    check(answer["status"] == "answered", "the question is answered")
    check(bool(answer["citations"]), "with a citation")
    for each in answer["citations"]:
        story = storybot(
            *("stories", "show", each["story_id"], "--revision", str(each["revision"]), "--json"),
            environment=environment,
        )
        quoted = story["body"][each["start"] : each["end"]]
        check(quoted == each["quote"], f"citation {each['number']} stands in its story")


def storybot(*words: str, environment: dict[str, str]) -> dict[str, Any]:
    """What a command prints as JSON, asked of the sample stories' collection."""
    done = subprocess.run(
        [ROOT / ".venv" / "bin" / "storybot", *words],
        env={**environment, "STORYBOT_DATA_DIR": str(DEMO)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=LATER_START,
    )
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def taken_port(port: int, environment: dict[str, str]) -> None:
    """A second site on the same port says so in one line."""
    command = ["make", "chat", f"PORT={port}"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LATER_START
    )
    print(f"  | {done.stderr.strip()}", flush=True)
    check(done.returncode != 0, "a second site on the same port ends")
    check(f"Port {port} on 127.0.0.1 cannot be used" in done.stderr, "and says that it is taken")
    check("Traceback" not in done.stderr, "without a traceback")


def check(holds: bool, what: str) -> None:
    print(f"  {'ok' if holds else 'FAILED'}: {what}", flush=True)
    if not holds:
        sys.exit(1)


if __name__ == "__main__":
    main()
