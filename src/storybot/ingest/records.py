"""One record of named fields to one `Draft`, whatever format it came in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from storybot.errors import InputError
from storybot.ingest.addresses import canonical_url
from storybot.ingest.decoding import clean
from storybot.ingest.moments import read_moment
from storybot.types import Alias, Draft, StoryStatus

MAX_STORY_CHARS = 5_000_000
MAX_FIELD_CHARS = 10_000

_NAMES = {
    "headline": "headline",
    "title": "headline",
    "id": "id",
    "outlet": "outlet",
    "source": "outlet",
    "section": "section",
    "url": "url",
    "published": "published",
    "date": "published",
    "datepublished": "published",
    "modified": "modified",
    "updated": "modified",
    "datemodified": "modified",
    "authors": "authors",
    "author": "authors",
    "byline": "authors",
    "dateline": "dateline",
    "genre": "genre",
    "agency": "agency",
    "agency_id": "agency_id",
    "language": "language",
    "lang": "language",
    "correction": "correction",
    "status": "status",
    "embargoed_until": "embargo",
    "embargo": "embargo",
}
_BODY_NAMES = {"text": "body", "body": "body", "content": "body"}
_TEXT_FIELDS = sorted({*_NAMES.values(), "body"} - {"authors"})
_BLANK = re.compile(r"\n{3,}")
_LOST = "\ufffd"


@dataclass(frozen=True, slots=True)
class Record:
    """The known fields of a story as text; "" where a field is missing."""

    headline: str = ""
    body: str = ""
    id: str = ""
    outlet: str = ""
    section: str = ""
    url: str = ""
    published: str = ""
    modified: str = ""
    authors: tuple[str, ...] = ()
    dateline: str = ""
    genre: str = ""
    agency: str = ""
    agency_id: str = ""
    language: str = ""
    correction: str = ""
    status: str = ""
    embargo: str = ""
    warnings: tuple[str, ...] = ()


def field_of(key: str, *, with_body: bool = False) -> str:
    """The field a key stands for, in any letter case; "" for keys storybot does not read."""
    folded = key.strip().lower().replace("-", "_")
    if folded.startswith("embargo"):
        return "embargo"
    return _NAMES.get(folded, "") or (_BODY_NAMES.get(folded, "") if with_body else "")


def record_of(values: Mapping[str, object], *, with_body: bool = False) -> Record:
    """Read known keys; raises InputError naming a field whose value has the wrong type."""
    texts: dict[str, str] = {}
    warnings: list[str] = []
    authors: tuple[str, ...] = ()
    for key, value in values.items():
        field = field_of(str(key), with_body=with_body)
        if not field or value is None:
            continue
        if field == "authors":
            authors = authors or _authors(key, value, warnings)
        elif text := _text(key, field, value, warnings):
            texts.setdefault(field, text)
    known = {name: texts.get(name, "") for name in _TEXT_FIELDS}
    return Record(**known, authors=authors, warnings=tuple(dict.fromkeys(warnings)))


def build(record: Record, *, source: str, path: str, line: int | None = None) -> Draft:
    """Make a draft of a record; ``path`` is its path alias, "" for none. Raises InputError."""
    headline = " ".join(record.headline.split())
    body = tidy(record.body)
    if not headline:
        raise InputError("no headline", hint="Give the story a headline.", line=line)
    _check_text(headline, body, line, record.warnings)
    status, embargo = _status(record.status, line), _embargo(record.embargo, line)
    address, canonical, warnings = _address(record.url)
    return Draft(
        source=source,
        headline=headline,
        body=body,
        aliases=_aliases(record, canonical, path),
        line=line,
        outlet=record.outlet,
        section=record.section,
        url=address,
        status=status,
        embargoed_until=embargo,
        authors=record.authors,
        dateline=record.dateline,
        genre=record.genre.lower(),
        agency=record.agency,
        language=record.language,
        published=read_moment(record.published),
        modified=read_moment(record.modified),
        correction=record.correction,
        warnings=(*record.warnings, *warnings),
    )


def tidy(text: str) -> str:
    """Drop spaces at line ends, more than one blank line, and blank lines around."""
    return _BLANK.sub("\n\n", "\n".join(map(str.rstrip, text.split("\n")))).strip("\n")


def _check_text(headline: str, body: str, line: int | None, warnings: Sequence[str]) -> None:
    if not body:
        told = " ".join(f"Also: {warning}." for warning in warnings[:1])
        hint = f"Give the story's text below its headline. {told}".strip()
        raise InputError("no body text", hint=hint, line=line)
    if len(body) > MAX_STORY_CHARS:
        raise InputError(
            f"the text has {len(body):,} characters; the limit is {MAX_STORY_CHARS:,}",
            hint="Split it into several stories.",
            line=line,
        )
    if not any(char.isalnum() for char in body):
        raise InputError("no letters or digits in the text", hint="Give the text.", line=line)
    if _LOST in headline or _LOST in body:
        raise InputError(
            "letters were lost before storybot got the text (U+FFFD in it)",
            hint="Export the story again from where its letters are whole, as UTF-8.",
            line=line,
        )


def _wrong(key: str, wanted: str, value: object) -> InputError:
    kind = {dict: "an object", list: "a list", bool: "true or false", str: "text"}.get(
        type(value), "a number"
    )
    return InputError(
        f"{key}: {wanted} expected, not {kind}", hint=f"Write {key} as {wanted}, or leave it out."
    )


def _text(key: str, field: str, value: object, warnings: list[str]) -> str:
    if field == "outlet" and isinstance(value, Mapping):
        value = value.get("name")
    if field == "id" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _wrong(key, "text", value)
    text, found = clean(value)
    warnings += found
    if field == "body":
        return text
    text = " ".join(text.split())
    if len(text) > MAX_FIELD_CHARS:
        raise InputError(
            f"{key}: longer than {MAX_FIELD_CHARS:,} characters", hint=f"Shorten {key}."
        )
    return "" if text in ("~", "null") and field != "headline" else text


def _authors(key: str, value: object, warnings: list[str]) -> tuple[str, ...]:
    names = []
    for item in value if isinstance(value, (list, tuple)) else [value]:
        name = item.get("name") if isinstance(item, Mapping) else item
        if not isinstance(name, str):
            raise _wrong(key, "text or a list of names", name)
        names.append(_text(key, "author", name, warnings))
    return tuple(dict.fromkeys(name for name in names if name))


def _status(text: str, line: int | None) -> StoryStatus:
    match text.lower():
        case "" | "usable":
            return "usable"
        case "withheld":
            return "withheld"
        case "killed":
            return "killed"
    raise InputError(
        f"status: {text!r} is not known", hint="Write usable, withheld or killed.", line=line
    )


def _embargo(text: str, line: int | None) -> datetime | None:
    if text and (instant := read_moment(text).instant) is None:
        raise InputError(
            f"embargoed_until: {text!r} is not a time with its zone",
            hint="Write it like 2024-03-05T06:00:00+00:00.",
            line=line,
        )
    return instant if text else None


def _address(url: str) -> tuple[str, str, tuple[str, ...]]:
    """The address to link, the one to compare, and a warning when it is neither."""
    if not url:
        return "", "", ()
    try:
        return url, canonical_url(url), ()
    except InputError as error:
        return "", "", (f"url left out: {error}",)


def _aliases(record: Record, canonical: str, path: str) -> tuple[Alias, ...]:
    outlet = record.outlet.casefold()
    aliases = []
    if record.id:
        aliases.append(Alias("id", f"{outlet}\n{record.id}"))
    if record.agency_id:
        aliases.append(Alias("agency", f"{outlet}\n{record.agency_id}"))
    if canonical:
        aliases.append(Alias("url", canonical))
    if path:
        aliases.append(Alias("path", path))
    return tuple(aliases)
