"""Reading stories: bytes in, drafts and failures out."""

from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, Literal

from storybot.errors import InputError
from storybot.ingest import json_reader, streams
from storybot.ingest.binary import refuse_binary
from storybot.ingest.decoding import decode_text, wide_encoding
from storybot.ingest.markdown import read_markdown
from storybot.ingest.text import read_text
from storybot.types import Draft, Failure

__all__ = ["MAX_LIST_BYTES", "MAX_STORY_BYTES", "SUFFIXES", "read_stories"]

MAX_STORY_BYTES = 10_000_000
MAX_LIST_BYTES = 64_000_000
_PLAIN = (".txt", ".text")
_MARKDOWN = (".md", ".markdown")
_LINES = (".jsonl", ".ndjson")
_KINDS = (*_PLAIN, *_MARKDOWN, ".json", *_LINES)
SUFFIXES = (*_KINDS, *(f"{kind}.gz" for kind in _KINDS))

_HEAD_BYTES = 1 << 16
_SPLIT = "Split it into one file a story, or give the stories as JSON Lines (.jsonl)."
_Kind = Literal["text", "markdown", "json", "lines"]


def read_stories(data: bytes | BinaryIO, *, source: str) -> Iterator[Draft | Failure]:
    """Read every story of one input, of the kind its content and then its name show.

    ``source`` is its path, and the path alias of a file with one story. What
    cannot be read comes as a Failure and the rest goes on. JSON Lines are read
    a line at a time. Raises only what reading ``data`` raises (OSError).
    """
    try:
        yield from _read(data, source)
    except InputError as error:
        yield Failure(source, error.line, str(error), error.hint)


def _read(data: bytes | BinaryIO, source: str) -> Iterator[Draft | Failure]:
    name = source.lower()
    head, stream = _peek(streams.pieces(data))
    if head.startswith(streams.GZIP):
        head, stream = _peek(streams.gunzip(stream))
        name = name.removesuffix(".gz")
    if wide_encoding(head):
        text = decode_text(streams.whole(stream, MAX_LIST_BYTES, _SPLIT)).text
        head, stream = _peek(streams.pieces(text.encode()))
    if not name.endswith((".json", *_LINES)):
        refuse_binary(head)
    kind, stream = _kind_of(head, stream, name)
    if kind == "lines":
        yield from json_reader.read_lines(streams.lines(stream), source=source)
    elif kind == "json":
        yield from json_reader.read_json(
            streams.whole(stream, MAX_LIST_BYTES, _SPLIT), source=source
        )
    else:
        read = read_markdown if kind == "markdown" else read_text
        yield read(streams.whole(stream, MAX_STORY_BYTES, _SPLIT), source=source)


def _peek(stream: Iterator[bytes], size: int = _HEAD_BYTES) -> tuple[bytes, Iterator[bytes]]:
    """The first ``size`` bytes or more, and the stream from its start."""
    taken, length = list[bytes](), 0
    try:
        for piece in stream:
            taken.append(piece)
            length += len(piece)
            if length >= size:
                break
    except InputError as error:
        return b"".join(taken), chain(taken, _failing(error))
    return b"".join(taken), chain(taken, stream)


def _failing(error: InputError) -> Iterator[bytes]:
    yield from ()
    raise error


def _kind_of(head: bytes, stream: Iterator[bytes], name: str) -> tuple[_Kind, Iterator[bytes]]:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    lowered = start[:200].lower()
    if lowered.startswith((b"<!doctype html", b"<html", b"<?xml", b"<rss", b"<feed")):
        raise InputError(
            "a web page or feed, not a story's text",
            hint="Save the story as text, Markdown or JSON.",
        )
    if start[:1] in (b"{", b"["):
        if not name.endswith((*_PLAIN, *_MARKDOWN)):
            return _json_kind(start, stream, name)
        stored = streams.whole(stream, MAX_STORY_BYTES, _SPLIT)
        stream = streams.pieces(stored)
        if _is_story(stored) or _first_lines(start, 1):
            return _json_kind(start, stream, name)
    if start.startswith((b"---\n", b"---\r", b"--- ")) or name.endswith(_MARKDOWN):
        return "markdown", stream
    if name.endswith(_LINES):
        return "lines", stream
    if name.endswith(".json"):
        return "json", stream
    unnamed = not name.endswith(_PLAIN)
    return ("markdown" if unnamed and start.startswith(b"# ") else "text"), stream


def _json_kind(start: bytes, stream: Iterator[bytes], name: str) -> tuple[_Kind, Iterator[bytes]]:
    if start[:1] == b"{" and b"\n" not in start and len(start) >= _HEAD_BYTES // 2:
        head, stream = _peek_line(stream)
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    written = [line for line in start.split(b"\n") if line.strip()]
    stories = _first_lines(start, 2)
    if name.endswith(_LINES):
        pretty = not stories and written[0].strip() in (b"{", b"[")
        listed = len(written) == 1 and start[:1] == b"[" and _parses(written[0]) is not None
        return ("json" if pretty or listed else "lines"), stream
    return ("lines" if stories and len(written) > 1 else "json"), stream


def _peek_line(stream: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The stream's first line and a little more, as long as a line may be."""
    taken, length = list[bytes](), 0
    for piece in stream:
        taken.append(piece)
        length += len(piece)
        if (b"\n" in piece and length > len(piece)) or length > streams.MAX_LINE_BYTES:
            break
    return b"".join(taken), chain(taken, stream)


def _first_lines(start: bytes, count: int) -> bool:
    """Whether one of the first written lines is an object by itself."""
    written = [line for line in start.split(b"\n") if line.strip()][:count]
    return any(isinstance(_parses(line), dict) for line in written)


def _is_story(data: bytes) -> bool:
    value = _parses(data)
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_is_object, value)))


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _parses(data: bytes) -> object | None:
    if len(data) > streams.MAX_LINE_BYTES:
        return None
    try:
        return json_reader.parse(data)[0]
    except InputError:
        return None
