"""Markdown stories: front matter, a headline, and a body as plain text."""

from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from storybot.errors import InputError
from storybot.ingest.decoding import decode_text
from storybot.ingest.front_matter import read_front_matter
from storybot.ingest.plain_html import Block, blocks_of
from storybot.ingest.posts import timed_posts
from storybot.ingest.records import build, record_of, tidy
from storybot.types import Draft

_MAX_INLINE_CHARS, _MAX_MARKERS = 100_000, 2_000


def read_markdown(data: bytes, *, source: str) -> Draft:
    """Read one Markdown story. Raises InputError."""
    decoded = decode_text(data)
    if not decoded.text.strip():
        raise InputError("empty file", hint="Put a headline and a text in it.")
    front = read_front_matter(decoded.text)
    record = record_of(front.values)
    blocks = blocks_of(_renderer().render(front.rest))
    headline, blocks = _headline(record.headline, blocks)
    body, headings = _join(blocks)
    warnings = (*decoded.warnings, *front.warnings, *record.warnings)
    draft = build(
        replace(record, headline=headline, body=body, warnings=warnings),
        source=source,
        path=source,
    )
    if draft.genre != "live":
        return draft
    return replace(draft, posts=timed_posts(draft.body, headings, draft.published))


def _renderer() -> MarkdownIt:
    renderer = MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable("table")
    renderer.core.ruler.before("inline", "leave_hard_text", _leave_hard_text)
    return renderer


def _leave_hard_text(state: StateCore) -> None:
    """Keep as it is a paragraph whose markers would take longer than its text is worth."""
    for token in state.tokens:
        if token.type == "inline" and (
            len(token.content) > _MAX_INLINE_CHARS
            or sum(map(token.content.count, "[*_`<")) > _MAX_MARKERS
        ):
            token.type = "text"


def _headline(given: str, blocks: list[Block]) -> tuple[str, list[Block]]:
    """The given headline, else the first H1, else the first line; and the blocks without it."""
    first = next((n for n, block in enumerate(blocks) if block.level == 1), None)
    if given:
        same = first is not None and " ".join(blocks[first].text.split()) == given
        return given, [block for n, block in enumerate(blocks) if not (same and n == first)]
    if first is not None:
        return blocks[first].text, blocks[:first] + blocks[first + 1 :]
    if not blocks:
        return "", []
    line, _, rest = blocks[0].text.partition("\n")
    return line, ([Block(rest)] if rest.strip() else []) + blocks[1:]


def _join(blocks: list[Block]) -> tuple[str, list[tuple[int, str]]]:
    """The body, and the start and text of each heading in it."""
    body = ""
    parts: list[str] = []
    headings: list[tuple[int, str]] = []
    size = 0
    for number, block in enumerate(blocks):
        text = tidy(block.text)
        gap = "" if not number else "\n" if block.item and blocks[number - 1].item else "\n\n"
        size += len(gap)
        if block.level:
            headings.append((size, text))
        parts += (gap, text)
        size += len(text)
    body = "".join(parts)
    return body, headings
