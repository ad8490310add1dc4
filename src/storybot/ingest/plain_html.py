"""HTML to the text a reader would see, in blocks."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_BLOCKS = frozenset(
    [
        "p",
        "div",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "blockquote",
        "pre",
        "table",
        "thead",
        "tbody",
        "tr",
        "hr",
        "section",
        "article",
        "aside",
        "header",
        "footer",
        "figure",
        "figcaption",
        "main",
        "nav",
        "dl",
        "dt",
        "dd",
        "address",
        "details",
        "summary",
    ]
)
_UNSEEN = frozenset(
    [
        "script",
        "style",
        "template",
        "noscript",
        "head",
        "title",
        "iframe",
        "object",
        "svg",
        "math",
        "canvas",
        "select",
    ]
)
_VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
_SPACES = re.compile(r"[ \t]+")
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0+)?\s*(?:;|$)"
    r"|font-size\s*:\s*0|(?<![-\w])color\s*:\s*(?:white|#f{3,8}\b|transparent"
    r"|rgba?\(\s*255\s*,\s*255\s*,\s*255)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of text; ``level`` is 1 to 6 for headings, 0 else."""

    text: str
    level: int = 0
    item: bool = False


def blocks_of(html: str) -> list[Block]:
    """The visible text: no tags, comments, scripts, styles or hidden elements."""
    reader = _Reader()
    reader.feed(_without_comments(html) + "<br>")  # closes what was left open, so no scan repeats
    reader.close()
    reader.end_block()
    return reader.blocks


def _without_comments(html: str) -> str:
    parts, at = [], 0
    while (start := html.find("<!--", at)) >= 0:
        parts.append(html[at:start])
        end = html.find("-->", start + 2)
        if end < 0:
            return "".join(parts)
        at = end + 3
    return "".join(parts) + html[at:]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._text: list[str] = []
        self._hidden: list[str] = []
        self._lists: list[int | None] = []
        self._marker = ""
        self._level = 0
        self._pre = 0
        self._cells = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden:
            if tag == self._hidden[0] and tag not in _VOID:
                self._hidden.append(tag)
            return
        values = {name: value or "" for name, value in attrs}
        if tag not in _VOID and (
            tag in _UNSEEN or "hidden" in values or _HIDDEN_STYLE.search(values.get("style", ""))
        ):
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            self.end_block()
            self._open(tag, values)
        elif tag == "br":
            self._text.append("\n")
        elif tag in ("td", "th"):
            while self._text and self._text[-1].isspace():
                self._text.pop()
            self._text.append(" | " if self._cells else "")
            self._cells += 1

    def _open(self, tag: str, values: dict[str, str]) -> None:
        if tag in ("ul", "ol"):
            start = values.get("start", "1")
            self._lists.append((int(start) if start.isdecimal() else 1) if tag == "ol" else None)
        elif tag == "li":
            number = self._lists[-1] if self._lists else None
            self._marker = "- " if number is None else f"{number}. "
            if number is not None:
                self._lists[-1] = number + 1
        elif tag == "pre":
            self._pre += 1
        elif tag == "tr":
            self._cells = 0
        elif tag[0] == "h" and tag[1:].isdecimal():
            self._level = int(tag[1])

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and tag in _BLOCKS and self._hidden[0] not in _BLOCKS | _UNSEEN:
            self._hidden.clear()  # left open, as `<span hidden>` in a paragraph that ends
        if self._hidden:
            if tag == self._hidden[0]:
                self._hidden.pop()
        elif tag in _BLOCKS:
            self.end_block(row=tag == "tr")
            if tag in ("ul", "ol") and self._lists:
                self._lists.pop()
            elif tag == "li":
                self._marker = ""
            elif tag == "pre":
                self._pre = max(0, self._pre - 1)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._text.append(data)

    def end_block(self, *, row: bool = False) -> None:
        text = "".join(self._text)
        text = (
            text.strip("\n")
            if self._pre
            else _SPACES.sub(" ", text).replace("\n ", "\n").replace(" \n", "\n").strip()
        )
        self._text = []
        if text.strip():
            self.blocks.append(Block(self._marker + text, self._level, bool(self._marker) or row))
            self._marker = ""
        self._level = 0
