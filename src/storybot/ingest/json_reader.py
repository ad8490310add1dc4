"""JSON stories: one object, a list of them, or one on each line."""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from storybot.errors import InputError
from storybot.ingest.addresses import canonical_url
from storybot.ingest.decoding import decode_text
from storybot.ingest.posts import marked_headings, timed_posts
from storybot.ingest.records import Record, build, record_of
from storybot.types import Draft, Failure


@dataclass(slots=True)
class Paths:
    """Path aliases for the records of one file that have no id and no url."""

    source: str
    seen: dict[str, int] = field(default_factory=dict)

    def name(self, record: Record) -> str:
        """Made of headline and date, so that a record keeps it wherever it stands."""
        if record.id or _has_address(record):
            return ""
        headline = unicodedata.normalize("NFC", " ".join(record.headline.split()).casefold())
        name = f"{self.source}#{headline}|{record.published}"
        self.seen[name] = self.seen.get(name, 0) + 1
        return name if self.seen[name] == 1 else f"{name}#{self.seen[name]}"


def _has_address(record: Record) -> bool:
    try:
        return bool(canonical_url(record.url))
    except InputError:
        return False


def parse(data: bytes) -> tuple[object, tuple[str, ...]]:
    """Parse JSON of any encoding; returns the value and warnings. Raises InputError."""
    decoded = decode_text(data)
    try:
        return json.loads(decoded.text, strict=False), decoded.warnings
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, " if "\n" in decoded.text.strip() else ""
        raise InputError(
            f"not valid JSON: {error.msg} at {place}column {error.colno}",
            hint="Check the quotes, commas and brackets there.",
            line=error.lineno,
        ) from error
    except (RecursionError, ValueError) as error:
        raise InputError(
            "not valid JSON for a story: nested too deep, or a number too long",
            hint="Give flat objects with a headline and a text.",
        ) from error


def read_json(data: bytes, *, source: str) -> Iterator[Draft | Failure]:
    """Read a file that holds one object, or a list of them. Raises InputError."""
    value, warnings = parse(data)
    if isinstance(value, Mapping):
        yield story(value, source=source, path=source, warnings=warnings)
        return
    if not isinstance(value, list):
        raise InputError("not a story: a JSON object or a list expected", hint=_SHAPE)
    if not value:
        raise InputError("no stories in the file: the list is empty", hint=_SHAPE)
    paths = Paths(source)
    for number, item in enumerate(value, 1):
        try:
            yield story(item, source=source, path=paths, warnings=warnings)
        except InputError as error:
            yield Failure(source, None, f"record {number}: {error}", error.hint)


def read_lines(
    lines: Iterable[tuple[int, bytes | InputError]], *, source: str
) -> Iterator[Draft | Failure]:
    """Read one story a line; a bad line is a Failure and the rest go on."""
    paths = Paths(source)
    for number, line in lines:
        try:
            if isinstance(line, InputError):
                raise line
            if not line.strip():
                continue
            value, warnings = parse(line)
            yield story(value, source=source, path=paths, line=number, warnings=warnings)
        except InputError as error:
            yield Failure(source, number, str(error), error.hint)


def story(
    value: object,
    *,
    source: str,
    path: str | Paths,
    line: int | None = None,
    warnings: tuple[str, ...] = (),
) -> Draft:
    """Make a draft of one parsed object. Raises InputError."""
    if not isinstance(value, Mapping):
        raise InputError("not a story: a JSON object expected", hint=_SHAPE, line=line)
    record = record_of(value, with_body=True)
    if not record.headline:
        raise InputError("headline: missing or empty", hint=_SHAPE, line=line)
    if not record.body.strip():
        raise InputError("text: missing or empty (no body text)", hint=_SHAPE, line=line)
    alias = path if isinstance(path, str) else path.name(record)
    record = replace(record, warnings=(*warnings, *record.warnings))
    draft = build(record, source=source, path=alias, line=line)
    if draft.genre != "live":
        return draft
    posts = timed_posts(draft.body, marked_headings(draft.body), draft.published)
    return replace(draft, posts=posts)


_SHAPE = 'Write {"headline": "...", "text": "...", "published": "2024-03-05T14:00:00+00:00"}.'
