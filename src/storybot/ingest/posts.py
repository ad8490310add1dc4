"""The timed posts of a live page: headings such as ``14:05 — Fire is out``."""

import re
from datetime import UTC, datetime, timedelta, timezone

from storybot.ingest.moments import read_clock
from storybot.types import Moment, Post

_TIMED = re.compile(
    r"[\[(]?(?P<time>\d{1,2}(?:[:.h]\d{2}){0,2}(?:\s?[ap]\.?m\b\.?)?(?:\s[A-Z]{2,5}\b)?)[\])]?"
    r"(?:\s*(?:[—–:|-]|\.\s)|\s|$)",
    re.IGNORECASE | re.ASCII,
)
_MARKED = re.compile(r"^#{2,6}[^\S\n]+(?P<title>.+)$", re.MULTILINE)


def post_time(heading: str) -> str:
    """The time a heading begins with, as written; "" when it begins with none."""
    match = _TIMED.match(heading.strip())
    if not match:
        return ""
    written = match["time"]
    if read_clock(written) is None:  # the word after the time was no zone
        written = written.rpartition(" ")[0]
    return written if read_clock(written) else ""


def marked_headings(body: str) -> list[tuple[int, str]]:
    """Start and title of each ``## title`` line of a plain body."""
    return [(match.start(), match["title"]) for match in _MARKED.finditer(body)]


def timed_posts(body: str, headings: list[tuple[int, str]], published: Moment) -> tuple[Post, ...]:
    """A post for each heading that begins with a time, up to the next heading.

    The day and the offset are those of ``published``; without an offset a post
    has a date alone, and its clock time stays in ``raw``.
    """
    ends = [start for start, _ in headings[1:]] + [len(body)]
    posts = []
    for (start, title), end in zip(headings, ends, strict=True):
        if written := post_time(title):
            text = body[start:end].rstrip()
            posts.append(Post(_moment(written, published), start, start + len(text)))
    return tuple(posts)


def _moment(written: str, published: Moment) -> Moment:
    clock = read_clock(written)
    if clock is None or published.date is None:
        return Moment(written)
    if published.instant is None or published.offset is None:
        return Moment(written, date=published.date, flag="date only")
    zone = timezone(timedelta(minutes=published.offset))
    local = datetime.combine(published.date, clock, tzinfo=zone)
    return Moment(written, local.astimezone(UTC), published.date, published.offset, "ok")
