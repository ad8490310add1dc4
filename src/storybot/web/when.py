"""Dates and times as the page writes them: 3 May 2026, 14:05 UTC+02:00."""

from datetime import UTC, date, datetime, timedelta, timezone

from storybot.types import Moment
from storybot.web import texts


def written(value: date) -> str:
    """A date, or the date of a datetime, in words."""
    return f"{value.day} {texts.MONTHS[value.month - 1]} {value.year}"


def local(instant: datetime, offset: int | None) -> datetime:
    """``instant`` on the clock ``offset`` minutes east of UTC, or in UTC."""
    return instant.astimezone(timezone(timedelta(minutes=offset)) if offset else UTC)


def day(moment: Moment) -> str:
    """The date of ``moment`` where its source was."""
    if moment.instant is not None:
        return written(local(moment.instant, moment.offset))
    if moment.date is not None:
        return written(moment.date)
    return texts.AS_GIVEN.format(raw=moment.raw) if moment.raw.strip() else texts.UNDATED


def clock(moment: Moment) -> str:
    """The date and time of ``moment`` in the zone its source named, or else in UTC."""
    if moment.instant is None:
        return day(moment)
    there = local(moment.instant, moment.offset)
    return f"{written(there)}, {there:%H:%M} {there.tzname()}"
