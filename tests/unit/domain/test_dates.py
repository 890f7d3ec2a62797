"""Dates that callers write."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.dates import cursor, end_of, start_of
from archivist.domain.errors import InvalidArgument
from archivist.domain.times import iso, micros, moment
from tests.builders import an_id

moments = st.datetimes(timezones=st.just(UTC))


@pytest.mark.parametrize("day", ["2026-11-30", "20261130", "2026-W49-1"])
def test_a_bare_day_begins_at_midnight_utc_and_ends_with_its_last_microsecond(day):
    assert start_of("from", day).moment == datetime(2026, 11, 30, tzinfo=UTC)
    assert end_of("to", day).moment == datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "hour"),
    [
        ("2026-11-30T18:00:00Z", 18),
        ("2026-11-30T18:00", 18),
        ("2026-11-30T18:00:00+05:30", 12),
        ("2026-11-30T04:00-08:00", 12),
    ],
)
def test_moments_are_read_with_their_zone_and_in_utc_without_one(written, hour):
    assert start_of("from", written).moment.hour == hour


@pytest.mark.parametrize(
    "written",
    [
        "",
        "yesterday",
        "2026-13-01",
        "2026-02-30",
        "30.11.2026",
        "2026-11-30#x",
        "1",
        "9" * 5000,
        "0001-01-01T00:00+14:00",
    ],
)
def test_what_is_no_date_is_refused_with_field_and_example(written):
    with pytest.raises(InvalidArgument, match=r"^to: "):
        end_of("to", written)


@pytest.mark.parametrize("written", ["0001-01-01", "9999-12-31"])
def test_the_edges_of_the_calendar_are_dates_too(written):
    assert start_of("from", written).moment <= end_of("to", written).moment


@given(moments)
def test_a_cursor_comes_back_as_the_row_that_it_names(at):
    assert end_of("to", cursor(at, an_id(7))).moment == at
    assert end_of("to", cursor(at, an_id(7))).after == an_id(7)


@given(moments, moments)
def test_written_moments_sort_as_time_does(one, other):
    assert (iso(one) < iso(other)) == (one < other)
    assert moment(micros(one)) == one
