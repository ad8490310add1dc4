"""The block of ``key: value`` lines that opens a Markdown story.

YAML's shapes are read, its types are not: every value stays the text it is
written as. Tags, anchors, aliases and deep or huge blocks are refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from storybot.errors import InputError
from storybot.ingest.records import field_of

MAX_CHARS = 64_000
_MAX_DEPTH = 8
_FENCE = re.compile(r"(?:---|\.\.\.)[^\S\n]*")
_KEY_LINE = re.compile(r"([A-Za-z_][\w -]{0,40}?)[^\S\n]*:(?:[^\S\n]+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
_GUARDED = ("status", "embargo")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values, the text after the block, and what could not be read as written."""

    values: Mapping[str, object]
    rest: str
    warnings: tuple[str, ...] = ()


def read_front_matter(text: str) -> FrontMatter:
    """Split a text into front matter and the rest; values are str, lists and dicts of str.

    Broken YAML is read line by line with a warning. Raises InputError, with the
    line, for tags, anchors, aliases, depth over 8, and over 64,000 characters.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return FrontMatter({}, text)
    end = next((n for n, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    warnings: list[str] = []
    if end is None or not _looks_like_fields(lines[1:end]):
        block = _unclosed(lines)
        if not block:
            return FrontMatter({}, text)
        warnings.append("line 1: front matter has no closing ---; its first lines are read")
        rest = "\n".join(lines[1 + len(block) :])
    else:
        block, rest = lines[1:end], "\n".join(lines[end + 1 :])
    _check_size(block)
    try:
        _refuse_unsafe("\n".join(block))
        values = yaml.load("\n".join(block), Loader=yaml.BaseLoader)  # noqa: S506
        if not isinstance(values, dict):
            return FrontMatter(_by_line(block, warnings), rest, tuple(warnings))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 2
        problem = getattr(error, "problem", None) or "not YAML"
        warnings.append(f"line {line}: front matter is not valid ({problem}); read line by line")
        values = _by_line(block, warnings)
    return FrontMatter(values, rest, tuple(warnings))


def _looks_like_fields(block: list[str]) -> bool:
    """Whether a fenced block is fields rather than a text between two rules."""
    written = [line for line in block if line.strip() and not line.lstrip().startswith("#")]
    return not written or bool(_KEY_LINE.fullmatch(written[0]) or written[0][0] in "{\"'&!*-[?%")


def _unclosed(lines: list[str]) -> list[str]:
    block: list[str] = []
    for line in lines[1:]:
        if not (_KEY_LINE.fullmatch(line) or _ITEM.fullmatch(line)):
            break
        block.append(line)
    return block


def _check_size(block: list[str]) -> None:
    size = sum(len(line) + 1 for line in block)
    if size > MAX_CHARS:
        raise InputError(
            f"front matter has {size:,} characters; the limit is {MAX_CHARS:,}",
            hint="Keep the story's text below the closing ---.",
            line=1,
        )


def _refuse_unsafe(block: str) -> None:
    depth = 0
    for event in yaml.parse(block, Loader=yaml.BaseLoader):
        line = event.start_mark.line + 2 if event.start_mark else 2
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _refused("an anchor or alias (& or *)", line)
        if getattr(event, "tag", None):
            raise _refused("a tag (!)", line)
        if depth > _MAX_DEPTH:
            raise _refused(f"more than {_MAX_DEPTH} levels", line)


def _refused(what: str, line: int) -> InputError:
    return InputError(
        f"line {line}: front matter holds {what}, which is refused",
        hint="Write plain `key: value` lines, and put values that begin with & * or ! in quotes.",
        line=line,
    )


def _by_line(block: list[str], warnings: list[str]) -> dict[str, object]:
    """Read what can be read of broken YAML; a line about status or embargo must be readable."""
    values: dict[str, object] = {}
    last = ""
    for number, line in enumerate(block, 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if match := _KEY_LINE.fullmatch(line):
            last = match[1]
            try:
                values[last] = _value((match[2] or "").strip(), number)
                continue
            except yaml.YAMLError:
                pass
        elif (item := _ITEM.fullmatch(line)) and last:
            items = values.get(last)
            values[last] = [*(items if isinstance(items, list) else []), item[1].strip()]
            continue
        if field_of(line.partition(":")[0]) in _GUARDED:
            raise InputError(
                f"line {number}: cannot read {line.strip()[:60]!r}",
                hint="Write it as `key: value`, so that the story is not shown too early.",
                line=number,
            )
        warnings.append(f"line {number}: left out, not `key: value`: {line.strip()[:60]}")
    return values


def _value(text: str, number: int) -> object:
    if text[:1] in ("&", "*"):
        raise _refused("an anchor or alias (& or *)", number)
    if text[:1] == "!":
        raise _refused("a tag (!)", number)
    if text[:1] in ("[", "{", '"', "'"):
        _refuse_unsafe(text)
        return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    return text
