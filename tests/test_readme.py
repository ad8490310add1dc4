"""What the documents say is there."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest

from helpers import ROOT
from storybot.cli import main
from storybot.settings import Settings

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "corpus/*.md", "eval/*.md")
    for path in ROOT.glob(pattern)
)
ASSIGNED = re.compile(r"[A-Z_]+=\S*")
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:storybot|make) [^`]+)`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
ROW = re.compile(r"^\| `storybot ([a-z ]+?)(?: [A-Z.]+)*` \|", re.MULTILINE)


def block_lines() -> Iterator[list[str]]:
    """The words of each command in a code block, without the settings before it."""
    for block in BLOCK.findall(README):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            while words and ASSIGNED.fullmatch(words[0]):
                assert words.pop(0).split("=")[0] in environment_names()
            if words:
                yield words


def environment_names() -> set[str]:
    return {f"STORYBOT_{name.upper()}" for name in Settings.model_fields}


def commands(group: click.Group, path: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        yield f"{path}{name}"
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")


def parse(words: list[str]) -> None:
    """Parse a command line to the end. Raises a click.UsageError when it is wrong."""
    command: click.Command = main
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    if command is main:
        raise click.UsageError(f"no such command: {words}")
    command.make_context(command.name, list(words))


def makes(words: list[str]) -> None:
    """Check that the Makefile has the targets and variables named."""
    for word in words:
        name, assigned, _ = word.partition("=")
        found = rf"\$[({{]{name}[)}}]" if assigned else rf"^{name}:"
        assert re.search(found, MAKEFILE, re.MULTILINE), word


def test_every_command_in_a_code_block_is_one() -> None:
    kinds = set()
    for first, *rest in block_lines():
        kind = Path(first).name or first
        kinds.add(kind)
        if kind == "storybot":
            parse(rest)
        elif kind == "make":
            makes(rest)
        else:
            assert (first, rest) == (".", [".venv/bin/activate"])
    assert kinds == {"storybot", "make", "."}


@pytest.mark.parametrize("line", sorted(set(INLINE.findall(README + CONTRIBUTING))))
def test_every_command_in_the_text_is_one(line: str) -> None:
    first, *rest = line.split()
    if first == "make":
        makes(rest)
        return
    # The text may name a command without what it is given.
    with suppress(click.MissingParameter):
        parse(rest)


def test_a_wrong_command_would_be_seen() -> None:
    for wrong in (
        ["fetch"],
        ["ask"],
        ["ask", "a question", "--colour"],
        ["search", "-k", "0", "x"],
    ):
        with pytest.raises(click.UsageError):
            parse(wrong)
    with pytest.raises(AssertionError):
        makes(["chart"])
    with pytest.raises(AssertionError):
        makes(["quality", "COLOUR=red"])


def test_the_table_of_commands_is_whole() -> None:
    assert sorted(ROW.findall(README)) == sorted(commands(main))


def test_the_table_of_settings_is_whole() -> None:
    rows = re.findall(r"^\| `(STORYBOT_[A-Z_]+)` \| (.+?) \|", README, re.MULTILINE)
    assert {name for name, _ in rows} == environment_names()
    for name, default in rows:
        field = Settings.model_fields[name.removeprefix("STORYBOT_").lower()]
        if field.default_factory is None:
            assert default.strip("`") == ("none" if field.default is None else str(field.default))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target
