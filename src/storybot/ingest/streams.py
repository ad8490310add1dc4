"""Bytes from a file, a piece at a time: gzip, lines, and limits on both."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

from storybot.errors import InputError

MAX_LINE_BYTES = 32_000_000
MAX_TOTAL_BYTES = 20_000_000_000
GZIP = b"\x1f\x8b"
_PIECE = 1 << 16
_FREE_BYTES = 64_000_000
_MAX_RATIO = 250


def pieces(data: bytes | BinaryIO) -> Iterator[bytes]:
    """The bytes of ``data``, at most 64 KiB at a time."""
    if isinstance(data, bytes):
        for start in range(0, len(data), _PIECE):
            yield data[start : start + _PIECE]
        return
    while piece := data.read(_PIECE):
        yield piece


def gunzip(packed: Iterator[bytes]) -> Iterator[bytes]:
    """Unpack gzip, members joined, at most 64 KiB at a time.

    Raises InputError when it is cut short or damaged, and when it unpacks to
    more than 250 times its size beyond 64 MB, or to more than 20 GB.
    """
    unpacker = zlib.decompressobj(wbits=31)
    taken = given = 0
    for piece in packed:
        taken += len(piece)
        while piece:
            if unpacker.eof:
                piece = piece.lstrip(b"\0")
                if not piece:
                    break
                unpacker = zlib.decompressobj(wbits=31)
            try:
                out = unpacker.decompress(piece, _PIECE)
            except zlib.error as error:
                raise InputError("damaged gzip file", hint="Pack the file again.") from error
            given += len(out)
            if given > max(_FREE_BYTES, taken * _MAX_RATIO) or given > MAX_TOTAL_BYTES:
                raise InputError(
                    f"the gzip file unpacks to more than {given - 1:,} bytes, "
                    f"over {_MAX_RATIO} times its size or {MAX_TOTAL_BYTES:,}",
                    hint="Unpack it yourself, check it, and give the unpacked file.",
                )
            if out:
                yield out
            piece = unpacker.unconsumed_tail or unpacker.unused_data
    if not unpacker.eof:
        raise InputError("the gzip file ends too early", hint="Copy or pack the file again.")


def lines(stream: Iterator[bytes]) -> Iterator[tuple[int, bytes | InputError]]:
    """Whole lines with their numbers; an InputError in place of one that cannot be given.

    A line over 32 MB is passed over. When the stream fails, the line it broke
    off in is left out and the error comes last.
    """
    number, parts, size = 1, list[bytes](), 0
    try:
        for piece in stream:
            *ends, rest = piece.split(b"\n")
            for end in ends:
                yield number, _joined(parts, size, end)
                number, parts, size = number + 1, [], 0
            size += len(rest)
            if size <= MAX_LINE_BYTES:
                parts.append(rest)
            else:
                parts = []
    except InputError as error:
        yield number, error
        return
    if size:
        yield number, _joined(parts, size, b"")


def _joined(parts: list[bytes], size: int, end: bytes) -> bytes | InputError:
    if size + len(end) > MAX_LINE_BYTES:
        return InputError(
            f"the line is longer than {MAX_LINE_BYTES:,} bytes",
            hint="Write one story a line, and no pictures in it.",
        )
    return b"".join([*parts, end])


def whole(stream: Iterator[bytes], limit: int, hint: str) -> bytes:
    """All the bytes; raises InputError, with ``hint``, when there are more than ``limit``."""
    parts, size = list[bytes](), 0
    for piece in stream:
        parts.append(piece)
        size += len(piece)
        if size > limit:
            raise InputError(f"larger than {limit:,} bytes, the most for one file", hint=hint)
    return b"".join(parts)
