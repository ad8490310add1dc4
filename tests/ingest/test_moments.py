"""Times are read when there is one reading, and only kept when there is none or two."""

from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storybot.ingest.moments import read_clock, read_moment
from storybot.types import Moment

NIGHT = datetime(2024, 3, 6, 4, 30, tzinfo=UTC)
TWO = datetime(2024, 3, 5, 14, 0, tzinfo=UTC)
FIFTH = date(2024, 3, 5)


@pytest.mark.parametrize(
    ("raw", "instant", "offset"),
    [
        ("2024-03-05T23:30:00-05:00", NIGHT, -300),
        ("2024-03-05T23:30:00 -0500", NIGHT, -300),
        ("2024-03-05T14:00Z", TWO, 0),
        ("2024-03-05 14:00 UTC", TWO, 0),
        ("20240305T140000Z", TWO, 0),
        ("2024-03-05T14:00:00.250000Z", TWO + timedelta(milliseconds=250), 0),
        ("2024-03-05T14:00:00,123456789+00:00", TWO + timedelta(microseconds=123456), 0),
        ("2024-03-05T19:30:00+05:30", TWO, 330),
        ("2024-03-05T14:00:00+00:00[Europe/London]", TWO, 0),
        ("Tue, 05 Mar 2024 14:00:00 GMT", TWO, 0),
        ("Tue, 05 Mar 2024 15:00:00 +0100", TWO, 60),
        ("5 Mar 24 14:00:00 +0000", TWO, 0),
        ("Tue, 05 Mar 2024 14:00:00 -0000", TWO, None),
        ("March 5, 2024 at 2:00\u202fPM UTC", TWO, 0),
    ],
)
def test_instants(raw: str, instant: datetime, offset: int | None) -> None:
    assert read_moment(raw) == Moment(raw, instant, FIFTH, offset, "ok")


@pytest.mark.parametrize(
    "raw",
    [
        "2024-03-05", "2024/03/05", "2024.3.5", "20240305", "5 March 2024", "March 5, 2024",
        "5th of March 2024", "Tuesday, 5 March 2024", "Tues. Mar. 5, 2024", "2024年3月5日",
        "2024-03-05T23:30", "2024-03-05 23:30:00", "Mar. 5, 2024, 4:30 p.m.",
        "5 Mar 2024 14:00:00", "March 5, 2024 at 4.30pm",
    ],
)  # fmt: skip
def test_days_and_clock_times_without_a_zone_give_the_day(raw: str) -> None:
    assert read_moment(raw) == Moment(raw, date=FIFTH, flag="date only")


@pytest.mark.parametrize("zone", ["BST", "IST", "CST", "EST", "CET"])
def test_zone_names_are_not_guessed(zone: str) -> None:
    raw = f"Tue, 05 Mar 2024 14:00:00 {zone}"
    assert read_moment(raw) == Moment(raw, date=FIFTH, flag="ambiguous")


@pytest.mark.parametrize(
    ("raw", "day", "flag"),
    [
        ("04/05/2024", None, "ambiguous"),
        ("4.5.2024", None, "ambiguous"),
        ("04-05-2024 10:00", None, "ambiguous"),
        ("13/05/24", None, "ambiguous"),
        ("5 Mar 24", None, "ambiguous"),
        ("13/05/2024", date(2024, 5, 13), "date only"),
        ("05/13/2024", date(2024, 5, 13), "date only"),
        ("05/05/2024", date(2024, 5, 5), "date only"),
        ("13/13/2024", None, "none"),
        ("00/05/2024", None, "none"),
    ],
)
def test_day_and_month_in_figures(raw: str, day: date | None, flag: str) -> None:
    moment = read_moment(raw)
    assert (moment.raw, moment.date, moment.flag, moment.instant) == (raw, day, flag, None)


@pytest.mark.parametrize(
    "raw",
    [
        None, "", "soon", "10:30", "2024", "2024-03", "2024-02-30", "2024-03-05T25:00Z",
        "2024-03-05T14", "2024-03-05T14:00+99:00", "2024-03-05T13:00 p.m.", "1066-10-14",
        "2500-01-01", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00+14:00", 1709683200, True,
        ["2024-03-05"], "5 Foo 2024", "٢٠٢٤-٠٣-٠٥",
    ],
)  # fmt: skip
def test_rubbish_is_kept_and_not_read(raw: object) -> None:
    moment = read_moment(raw)
    assert (moment.instant, moment.date, moment.offset, moment.flag) == (None, None, None, "none")
    assert moment.raw == ("" if raw is None else str(raw))


def test_dates_and_datetimes_are_accepted() -> None:
    east = datetime(2024, 3, 5, 15, 0, tzinfo=timezone(timedelta(hours=1)))
    assert read_moment(east) == Moment("2024-03-05T15:00:00+01:00", TWO, FIFTH, 60, "ok")
    assert read_moment(datetime(2024, 3, 5, 15, 0)).flag == "date only"
    assert read_moment(FIFTH) == Moment("2024-03-05", date=FIFTH, flag="date only")


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("14:05", time(14, 5)), ("2.05 p.m.", time(14, 5)), ("2pm", time(14)),
        ("12:10 am", time(0, 10)), ("14:05 BST", time(14, 5)), ("14h05", time(14, 5)),
        ("25:00", None), ("13:00 pm", None), ("14", None), ("Mayor", None),
    ],
)  # fmt: skip
def test_clock(text: str, clock: time | None) -> None:
    assert read_clock(text) == clock


@given(
    st.one_of(st.text(), st.from_regex(r"[0-9]{1,4}[-/. ][0-9A-Za-z]{1,4}[-/. ][0-9]{1,4}.{0,9}"))
)
def test_never_raises_and_never_half_reads(raw: str) -> None:
    moment = read_moment(raw)
    assert (moment.flag == "ok") == (moment.instant is not None)
    if moment.flag == "none":
        assert moment.date is None


@given(st.datetimes(datetime(1601, 1, 1), datetime(2199, 1, 1), timezones=st.timezones()))
def test_iso_round_trips(when: datetime) -> None:
    offset = when.utcoffset()
    kept = offset is not None and offset.seconds % 60 == 0 and abs(offset) <= timedelta(hours=14)
    if kept:
        assert read_moment(when.isoformat()).instant == when.astimezone(UTC)
