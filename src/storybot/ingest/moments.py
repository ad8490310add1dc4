"""Times as sources write them: read when there is one reading, else only kept.

A clock time without a zone gives the date alone (flag ``date only``) and stays
in ``raw``, to be placed by the outlet's zone. A zone name other than UTC, GMT
or Z gives the date and the flag ``ambiguous``: BST, IST and CST each name two.
"""

import re
import unicodedata
from datetime import UTC, date, datetime, time, timedelta, timezone

from storybot.types import Moment

FIRST_YEAR, LAST_YEAR = 1600, 2200
_MAX_CHARS = 100
_MONTHS = {
    name[:length]: number
    for number, name in enumerate(
        [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ],
        1,
    )
    for length in {3, len(name)}
} | {"sept": 9, "febr": 2}
_FLAGS = re.ASCII | re.IGNORECASE
_CLOCK = (
    r"(?P<hour>\d{1,2})(?:(?P<sep>[:.h])(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]"
    r"(?P<fraction>\d{1,9}))?)?)?(?:\s?(?P<half>[ap])\.?m\b\.?)?"
)
_PLACE = r"(?:\s?\([a-z ]{1,40}\)|\[[a-z_/+-]+\])?"
_ZONE = rf"(?:\s?(?P<zone>[+-]\d{{2}}(?::?\d{{2}})?|z|[a-z]{{2,5}}){_PLACE})?"
_TIME = rf"(?:(?:T|\s|,\s?|\sat\s|,\sat\s|\s-\s|:(?=\d\d:)){_CLOCK}{_ZONE})?"
_WEEKDAY = r"(?:(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|\w{3,6}day)\.?,?\s)?"
_ISO = re.compile(
    rf"(?P<year>\d{{4}})([-/.])(?P<month>\d{{1,2}})\2(?P<day>\d{{1,2}}){_TIME}", _FLAGS
)
_COMPACT = re.compile(
    r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?:T(?P<hour>\d{2})(?P<minute>\d{2})"
    rf"(?P<second>\d{{2}})?{_ZONE})?",
    _FLAGS,
)
_KANJI = re.compile(
    r"(?P<year>\d{4})年\s?(?P<month>\d{1,2})月\s?(?P<day>\d{1,2})日"
    r"(?:\s?(?P<hour>\d{1,2})[時:](?P<minute>\d{2})分?)?",
    _FLAGS,
)
_DAY_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\sof)?[\s-](?P<name>[a-z]{{3,9}})\.?,?[\s-]"
    rf"(?P<year>\d{{4}}|\d{{2}}){_TIME}",
    _FLAGS,
)
_MONTH_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<name>[a-z]{{3,9}})\.?\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s"
    rf"(?P<year>\d{{4}}){_TIME}",
    _FLAGS,
)
_NUMERIC = re.compile(
    rf"(?P<one>\d{{1,2}})([-/.])(?P<two>\d{{1,2}})\2(?P<year>\d{{4}}|\d{{2}}){_TIME}", _FLAGS
)
_ONLY_CLOCK = re.compile(rf"{_CLOCK}{_ZONE}", _FLAGS)


def read_moment(raw: object) -> Moment:
    """Read a date or time; never raises, never guesses.

    Strings, dates and datetimes are read; all else gives flag ``none``. ``date``
    is the day in the source's own zone, also when ``instant`` is known.
    """
    if isinstance(raw, datetime):
        return _placed(raw.isoformat(), raw.date(), raw.timetz())
    if isinstance(raw, date):
        return _day(raw.isoformat(), raw)
    if raw is None or not isinstance(raw, str):
        return Moment("" if raw is None else str(raw)[:_MAX_CHARS])
    kept = raw.strip()
    if len(kept) > _MAX_CHARS:
        return Moment(kept[:_MAX_CHARS])
    text = " ".join(unicodedata.normalize("NFKC", kept).replace("\u2212", "-").split())
    try:
        return _read(kept, text)
    except (ValueError, OverflowError):
        return Moment(kept)


def read_clock(text: str) -> time | None:
    """Read a time of day such as ``14:05``, ``2.05 p.m.`` or ``14:05 BST``; no zone is applied."""
    match = _ONLY_CLOCK.fullmatch(" ".join(text.split()))
    if not match or not (match["minute"] or match["half"]):
        return None
    try:
        return _clock(match)
    except ValueError:
        return None


def _read(raw: str, text: str) -> Moment:
    for pattern in (_ISO, _COMPACT, _KANJI):
        if match := pattern.fullmatch(text):
            day = date(int(match["year"]), int(match["month"]), int(match["day"]))
            return _timed(raw, day, match)
    for pattern in (_DAY_FIRST, _MONTH_FIRST):
        match = pattern.fullmatch(text)
        if match and (month := _MONTHS.get(match["name"].lower())):
            year = int(match["year"])
            if len(match["year"]) == 2:
                if match["minute"] is None:
                    return Moment(raw, flag="ambiguous")
                year += 2000 if year < 50 else 1900
            return _timed(raw, date(year, month, int(match["day"])), match)
    if match := _NUMERIC.fullmatch(text):
        return _numeric(raw, match)
    return Moment(raw)


def _numeric(raw: str, match: re.Match[str]) -> Moment:
    one, two = int(match["one"]), int(match["two"])
    if not (1 <= one <= 31 and 1 <= two <= 31) or (one > 12 and two > 12):
        return Moment(raw)
    if len(match["year"]) == 2 or (one != two and max(one, two) <= 12):
        return Moment(raw, flag="ambiguous")
    return _timed(raw, date(int(match["year"]), min(one, two), max(one, two)), match)


def _timed(raw: str, day: date, match: re.Match[str]) -> Moment:
    found = match.groupdict()
    if found.get("hour") is None:
        return _day(raw, day)
    if not found.get("minute") and not found.get("half"):
        return Moment(raw)
    if found.get("half") and int(found["hour"]) > 12:
        return Moment(raw)
    clock = _clock(match)
    zone = (found.get("zone") or "").upper()
    if zone[:1] in ("+", "-") and zone:
        minutes = int(zone[1:3]) * 60 + int(zone[3:].lstrip(":") or 0)
        if minutes > 14 * 60 or int(zone[3:].lstrip(":") or 0) > 59:
            return Moment(raw)
        east = minutes if zone[0] == "+" else -minutes
        moment = _placed(raw, day, clock.replace(tzinfo=timezone(timedelta(minutes=east))))
        unknown = zone[0] == "-" and not minutes  # RFC 3339 and 5322: the local zone is not known
        return Moment(raw, moment.instant, moment.date, None, moment.flag) if unknown else moment
    if zone in ("Z", "UTC", "GMT", "UT"):
        return _placed(raw, day, clock.replace(tzinfo=UTC))
    moment = _day(raw, day)
    return Moment(raw, date=moment.date, flag="ambiguous") if zone and moment.date else moment


def _clock(match: re.Match[str]) -> time:
    found = match.groupdict()
    hour, second = int(found["hour"]), min(int(found.get("second") or 0), 59)
    if int(found.get("second") or 0) > 60:
        raise ValueError("no such second")
    if half := found.get("half"):
        if not 1 <= hour <= 12:
            raise ValueError("no such hour")
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    fraction = ((found.get("fraction") or "") + "000000")[:6]
    return time(hour, int(found.get("minute") or 0), second, int(fraction))


def _day(raw: str, day: date) -> Moment:
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        return Moment(raw)
    return Moment(raw, date=day, flag="date only")


def _placed(raw: str, day: date, clock: time) -> Moment:
    moment = datetime.combine(day, clock)
    offset = moment.utcoffset()
    if offset is None or _day(raw, day).date is None:
        return _day(raw, day)
    return Moment(raw, moment.astimezone(UTC), day, int(offset.total_seconds() // 60), "ok")
