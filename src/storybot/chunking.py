"""A story's body cut into passages the embedding model can read whole.

Cuts fall at paragraph ends where they can, else at sentence ends, else at
words, and never leave a passage across two posts of a live page.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import sentencex

from storybot.types import Post

TokenSpans = Callable[[Sequence[str]], list[list[tuple[int, int]]]]

PASSAGE_PIECES = 180
PREFIX_PIECES = 48
_SPEAKER = re.compile(r"\s*[A-Z][.:]\s*")
_LOOSE_QUOTE = re.compile(r"(?<=\s)([\"“‘']\s*)$")


@dataclass(frozen=True, slots=True)
class Chunk:
    """``body[start:end]`` and the prefix embedded before it."""

    start: int
    end: int
    prefix: str


@dataclass(frozen=True, slots=True)
class _Unit:
    start: int
    end: int
    pieces: int
    ends_paragraph: bool
    post: int


def embedded_text(prefix: str, text: str) -> str:
    """What the model reads of a passage."""
    return f"{prefix}\n{text}" if prefix else text


def vector_key(model: str, prefix: str, text: str) -> str:
    """The name of a passage's vector: equal when the same model reads the same text."""
    read = f"{model}\0{embedded_text(prefix, text)}"
    return hashlib.sha256(read.encode()).hexdigest()[:32]


def _own_quotes(pieces: list[str]) -> list[str]:
    """Pieces of a line with each opening quotation mark at the head of what it quotes."""
    for at in range(len(pieces) - 1):
        loose = _LOOSE_QUOTE.search(pieces[at])
        if loose:
            pieces[at + 1] = pieces[at][loose.start(1) :] + pieces[at + 1]
            pieces[at] = pieces[at][: loose.start(1)]
    return _own_speaker(pieces)


def _own_speaker(pieces: list[str]) -> list[str]:
    """Pieces of a line with the letter that marks a speaker, as in "Q.", kept to what is said."""
    if len(pieces) > 1 and _SPEAKER.fullmatch(pieces[0]):
        return [pieces[0] + pieces[1], *pieces[2:]]
    return pieces


@lru_cache(maxsize=4096)
def sentence_spans(text: str, language: str = "en") -> tuple[tuple[int, int], ...]:
    """Offsets of the sentences of ``text``, blanks around them left out."""
    spans: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        pieces = _own_quotes(list(sentencex.segment(language or "en", line)))
        at = start
        for piece in pieces if "".join(pieces) == line else [line]:
            left = at + len(piece) - len(piece.lstrip())
            right = at + len(piece.rstrip())
            at += len(piece)
            if left < right:
                spans.append((left, right))
        start += len(line) + 1
    return tuple(spans)


def chunk(
    headline: str,
    body: str,
    token_spans: TokenSpans,
    *,
    limit: int,
    language: str = "en",
    posts: Sequence[Post] = (),
    target: int = PASSAGE_PIECES,
) -> list[Chunk]:
    """Cut ``body`` so that prefix and passage are at most ``limit`` word pieces.

    ``token_spans`` is the model's own tokenizer; ``limit`` leaves out the special
    pieces. Every letter of the body stands in exactly one chunk.
    """
    headline_spans = token_spans([headline])[0] if headline.strip() else []
    kept = headline_spans[: min(PREFIX_PIECES, limit // 3)]
    prefix = headline[: kept[-1][1]] if kept else ""
    room = max(8, min(target, limit - len(kept)))
    while True:
        units = _units(body, token_spans, room=room, language=language, posts=posts)
        chunks = [Chunk(start, end, prefix) for start, end in _pack(units, room)]
        read = [embedded_text(prefix, body[each.start : each.end]) for each in chunks]
        longest = max((len(spans) for spans in token_spans(read)), default=0)
        if longest <= limit or room <= 8:
            return chunks
        room = max(8, room * limit // (longest + 1))


def _units(
    body: str, token_spans: TokenSpans, *, room: int, language: str, posts: Sequence[Post]
) -> list[_Unit]:
    sentences = sentence_spans(body, language)
    texts = [body[start:end] for start, end in sentences]
    units: list[_Unit] = []
    for index, ((start, end), spans) in enumerate(zip(sentences, token_spans(texts), strict=True)):
        following = sentences[index + 1][0] if index + 1 < len(sentences) else len(body)
        last = "\n" in body[end:following] or following == len(body)
        for piece_start, piece_end, pieces in _fit(body, start, end, spans, room):
            post = next(
                (n for n, p in enumerate(posts) if p.start <= piece_start < p.end), len(posts)
            )
            units.append(_Unit(piece_start, piece_end, pieces, last and piece_end == end, post))
    return units


def _fit(
    body: str, start: int, end: int, spans: list[tuple[int, int]], room: int
) -> list[tuple[int, int, int]]:
    """A sentence over ``room`` pieces, cut between words where there are any."""
    if len(spans) <= room:
        return [(start, end, len(spans))]
    parts: list[tuple[int, int, int]] = []
    first = 0
    begin = start
    while first < len(spans):
        last = min(first + room, len(spans))
        if last < len(spans):
            for cut in range(last, first + room // 2, -1):
                if body[start + spans[cut][0] - 1].isspace():
                    last = cut
                    break
        stop = end if last == len(spans) else start + spans[last][0]
        trimmed = begin + len(body[begin:stop].rstrip())
        parts.append((begin, trimmed, last - first))
        begin, first = stop, last
    return parts


def _pack(units: Sequence[_Unit], room: int) -> list[tuple[int, int]]:
    chunks: list[tuple[int, int]] = []
    group: list[_Unit] = []
    for unit in units:
        full = sum(member.pieces for member in group) + unit.pieces > room
        if group and (full or unit.post != group[-1].post):
            if full and unit.post == group[-1].post:
                group, carried = _at_paragraph(group)
            else:
                carried = []
            chunks.append((group[0].start, group[-1].end))
            group = carried
            if group and sum(member.pieces for member in group) + unit.pieces > room:
                chunks.append((group[0].start, group[-1].end))
                group = []
        group.append(unit)
    if group:
        chunks.append((group[0].start, group[-1].end))
    return chunks


def _at_paragraph(group: list[_Unit]) -> tuple[list[_Unit], list[_Unit]]:
    """Close at the last paragraph end past the middle of the group, if there is one."""
    total = sum(unit.pieces for unit in group)
    so_far = total
    for index in range(len(group) - 1, 0, -1):
        if so_far < total / 2:
            break
        if group[index].ends_paragraph:
            return group[: index + 1], group[index + 1 :]
        so_far -= group[index].pieces
    return group, []
