"""A process killed while it ingests loses nothing it has acknowledged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import environment

SEED = 20260301


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="forks its children")
@pytest.mark.parametrize(
    ("stories", "kills", "seconds"),
    [(60, 5, 300), pytest.param(2_000, 50, 4 * 3600, marks=pytest.mark.torture)],
)
def test_nothing_acknowledged_is_lost(
    tmp_path: Path, stories: int, kills: int, seconds: int
) -> None:
    ran = subprocess.run(
        [
            sys.executable,
            Path(__file__).with_name("dying.py"),
            tmp_path,
            str(stories),
            str(kills),
            str(SEED),
        ],
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment(),
        check=False,
    )
    rounds = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [each for each in rounds if not each["sound"]] == [], ran.stderr
    assert len(rounds) == kills, ran.stderr
    assert all(each["killed"] for each in rounds if each["inside"])
    assert any(each["killed"] for each in rounds if not each["inside"])
