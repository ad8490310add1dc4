"""From types to what the page shows. All escaping is done here.

The strings go into Gradio's Markdown components. Each is one line of HTML in
which nothing taken from a story or a question can be markup: all its ASCII
punctuation, line breaks, tabs and outer or doubled spaces are numeric references.
"""

import re
from collections.abc import Container, Iterable, Sequence
from itertools import pairwise
from urllib.parse import urlsplit

from storybot.types import Answer, Citation, Moment, Notice, Revision, Sentence, StoryCard
from storybot.web import texts
from storybot.web.cited import citations, nearest, status_line
from storybot.web.when import clock, day

_UNSAFE = re.compile(r"[\0\t\n\f!-/:-@\[-`{-~\ud800-\udfff]|(?<!\S) | (?!\S)")
_BREAK = re.compile(r"\r?\n(?:[^\S\n]*\n)+|\Z")
Span = tuple[int, int]


def escape(text: str) -> str:
    """``text`` so that a page displays exactly it, in an element or an attribute.

    A carriage return before a line feed is left out, any other becomes a line
    feed; NUL and lone surrogates, which no page can hold, become U+FFFD.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.sub(_reference, text)


def _reference(found: re.Match[str]) -> str:
    char = found.group()
    return "\ufffd" if char == "\0" or char >= "\ud800" else f"&#{ord(char)};"


def web_address(url: str) -> str:
    """``url`` if it is a plain http or https address, else an empty string."""
    if re.search(r"[\x00-\x20\x7f\\]", url):
        return ""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and host and "@" not in parts.netloc else ""


def question_markdown(question: str) -> str:
    return f'<h2 class="question">{escape(question)}</h2>'


def notice_markdown(*lines: str, kind: str = "notice") -> str:
    """storybot's own words, a paragraph each, `commands` set apart; empty lines left out."""
    inside = "".join(f"<p>{_with_code(line)}</p>" for line in lines if line)
    return f'<div class="{kind}">{inside}</div>'


def _with_code(line: str) -> str:
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return escape(line)
    return "".join(
        f"<code>{escape(part)}</code>" if at % 2 else escape(part) for at, part in enumerate(parts)
    )


def answer_markdown(
    answer: Answer | Sequence[Sentence],
    *,
    turn_id: str,
    stage: str = "",
    note: str = "",
    withdrawn: Container[str] = frozenset(),
) -> str:
    """An answer, or the sentences of one being made.

    ``turn_id`` (letters and digits) sets its anchors apart from other answers'.
    ``stage`` is what is being done, ``note`` a remark under it. Sentences that
    cite a story in ``withdrawn`` are not shown.
    """
    whole = answer if isinstance(answer, Answer) else None
    sentences = whole.sentences if whole else tuple(answer)  # type: ignore[arg-type]
    parts = [_sentences(sentences, turn_id, withdrawn)]
    if whole and whole.status == "declined":
        parts.append(f'<p class="declined">{escape(texts.DECLINED)}</p>')
    if whole:
        parts.append(_notices(whole.notices))
        if whole.status == "declined":
            parts.append(_nearest(whole, turn_id, withdrawn))
        elif sentences:
            parts.append(f'<p class="status">{escape(status_line(whole))}</p>')
    if stage:
        parts.append(f'<p class="stage">{escape(stage)}</p>')
    if note:
        parts.append(f'<p class="status">{escape(note)}</p>')
    return f'<div class="answer">{"".join(parts)}</div>'


def _sentences(sentences: Sequence[Sentence], turn_id: str, withdrawn: Container[str]) -> str:
    blocks: list[str] = []
    running: list[str] = []

    def close() -> None:
        if running:
            blocks.append(f'<p class="words">{" ".join(running)}</p>')
            running.clear()

    for sentence in sentences:
        if any(citation.story_id in withdrawn for citation in sentence.citations):
            close()
            blocks.append(f'<p class="status">{escape(texts.WITHDRAWN)}</p>')
            continue
        if sentence.lead:
            close()
            blocks.append(f'<p class="lead">{escape(sentence.lead)}</p>')
        marks = "".join(_mark(citation, turn_id) for citation in sentence.citations)
        running.append(f'<span class="said">{escape(sentence.text)}</span>{marks}')
    close()
    return "".join(blocks)


def _mark(citation: Citation, turn_id: str) -> str:
    return (
        f'<a class="cite" href="#src-{turn_id}-{citation.number}">'
        f'<span class="unseen">{texts.SOURCE} </span>&#91;{citation.number}&#93;</a>'
    )


_SHOWN_OTHERWISE = ("not_in_stories", "nearest")


def _notices(notices: Iterable[Notice]) -> str:
    shown = (notice for notice in notices if notice.code not in _SHOWN_OTHERWISE)
    return "".join(f'<p class="notice">{escape(notice.text)}</p>' for notice in shown)


def _nearest(answer: Answer, turn_id: str, withdrawn: Container[str]) -> str:
    items = "".join(
        f'<li><a href="#near-{turn_id}-{place}">{escape(card.headline)}</a> '
        f'<span class="meta">{escape(_meta(card.outlet, card.published))}</span></li>'
        for place, card in enumerate(nearest(answer), 1)
        if card.id not in withdrawn
    )
    return f'<p class="lead">{escape(texts.NEAREST)}</p><ul>{items}</ul>' if items else ""


def _meta(outlet: str, published: Moment) -> str:
    return " · ".join(part for part in (outlet, day(published)) if part)


def sources_markdown(
    answer: Answer | Sequence[Sentence], turn_id: str, *, withdrawn: Container[str] = frozenset()
) -> str:
    """The list beside an answer: for each number its story and the words quoted."""
    items = []
    sentences = answer.sentences if isinstance(answer, Answer) else answer
    for number, group in citations(sentences).items():
        first = group[0]
        if first.story_id in withdrawn:
            continue
        quotes = "".join(f"<blockquote>{escape(c.quote)}</blockquote>" for c in group)
        link = f'href="#src-{turn_id}-{number}"'
        items.append(
            f'<section class="source" id="src-{turn_id}-{number}" tabindex="-1">'
            f'<span class="number">{number}</span><h3><a {link}>{escape(first.headline)}</a></h3>'
            f'<p class="meta">{escape(_meta(first.outlet, first.published))}</p>{quotes}'
            f'<p class="more"><a {link}>{escape(texts.OPEN_SOURCE)}</a></p></section>'
        )
    inside = "".join(items) or f'<p class="notice">{escape(texts.SOURCES_EMPTY)}</p>'
    return f'<div class="sources"><h2>{escape(texts.SOURCES)}</h2>{inside}</div>'


def story_markdown(
    revision: Revision,
    card: StoryCard,
    *,
    highlight: Sequence[Span] = (),
    anchor: str = "story",
) -> str:
    """A story to read, with ``highlight`` (code point spans of the body) marked.

    The element carries ``anchor`` as its id; the first mark has ``anchor`` and
    ``-mark``. A marked run that crosses a paragraph break is several ``<mark>``.
    """
    facts = [texts.PUBLISHED.format(time=clock(revision.published))]
    if revision.modified.instant or revision.modified.date:
        facts.append(texts.UPDATED.format(time=clock(revision.modified)))
    if card.revisions > 1:
        facts.append(texts.REVISION.format(n=revision.number, total=card.revisions))
    kicker = " · ".join(part for part in (card.outlet, card.section) if part)
    parts = [
        f'<p class="kicker">{escape(kicker)}</p><h2>{escape(revision.headline)}</h2>',
        _paragraph("byline", texts.BY.format(authors=", ".join(revision.authors)))
        if revision.authors
        else "",
        _paragraph("meta", " · ".join(facts)),
        _paragraph("notice", texts.PARTIAL) if revision.partial else "",
    ]
    if revision.correction:
        parts.append(
            f'<p class="correction"><strong>{escape(texts.CORRECTION)}</strong> '
            f"{escape(revision.correction)}</p>"
        )
    if url := web_address(card.url):
        label = texts.ORIGINAL.format(host=urlsplit(url).hostname)
        parts.append(f'<p class="more"><a href="{escape(url)}">{escape(label)}</a></p>')
    if revision.dateline:
        parts.append(_paragraph("dateline", revision.dateline))
    parts.append(f'<div class="body">{_body(revision.body, highlight, anchor)}</div>')
    return f'<section class="story" id="{anchor}" tabindex="-1">{"".join(parts)}</section>'


def _paragraph(kind: str, text: str) -> str:
    return f'<p class="{kind}">{escape(text)}</p>'


def _body(body: str, highlight: Sequence[Span], anchor: str) -> str:
    """The body as paragraphs whose text, joined, is ``body``.

    The blank lines between two paragraphs stay, unseen, at the end of the first.
    """
    edges = sorted({edge for span in highlight for edge in span})
    first = iter([f' id="{anchor}-mark" tabindex="-1"'])

    def run(start: int, end: int) -> str:
        out = []
        for left, right in pairwise([start, *(e for e in edges if start < e < end), end]):
            inside = escape(body[left:right])
            if inside and any(low <= left and right <= high for low, high in highlight):
                inside = f"<mark{next(first, '')}>{inside}</mark>"
            out.append(inside)
        return "".join(out)

    parts = []
    start = 0
    for gap in _BREAK.finditer(body):
        shown = run(start, gap.start())
        unseen = run(*gap.span())
        hidden = f'<span class="gap">{unseen}</span>' if unseen else ""
        parts.append(f"<p>{shown}{hidden}</p>" if shown else hidden)
        start = gap.end()
    return "".join(parts)
