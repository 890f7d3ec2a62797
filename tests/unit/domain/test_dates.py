"""Dates that callers write."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain import dates
from archivist.domain.dates import Bound, checked_zone, cursor, end_of, says_its_zone, start_of, written, zone_named
from archivist.domain.errors import InvalidArgument
from archivist.domain.times import EARLIEST, LATEST, iso, micros, moment
from tests.builders import NOON, an_id

moments = st.datetimes(timezones=st.just(UTC))
days = st.dates(min_value=datetime(1900, 1, 1).date(), max_value=datetime(2100, 1, 1).date())
zones = st.sampled_from(
    ["Europe/Berlin", "America/Sao_Paulo", "America/Havana", "Asia/Kathmandu", "Pacific/Apia", "Africa/Cairo"]
).map(ZoneInfo)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("day", ["2026-11-30", "20261130", "2026-W49-1", " 2026-11-30 "])
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
    ("zone", "day", "start", "hours"),
    [
        ("Europe/Berlin", "2026-11-30", "2026-11-29T23:00Z", 24),
        ("Asia/Kathmandu", "2026-11-30", "2026-11-29T18:15Z", 24),
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00Z", 23),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00Z", 25),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00Z", 23),  # midnight did not exist
        ("America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00Z", 25),  # its last hour came twice
        ("America/Havana", "2026-11-01", "2026-11-01T04:00Z", 25),  # midnight comes twice
        ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00Z", 0),  # left out when the date line moved
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00Z", 24.5),
    ],
)
def test_a_bare_day_is_as_long_as_it_is_in_its_zone(zone, day, start, hours):
    begins, ends = start_of("from", day, ZoneInfo(zone)), end_of("to", day, ZoneInfo(zone))
    assert begins.moment == datetime.fromisoformat(start)
    assert ends.moment - begins.moment == timedelta(hours=hours)


@given(days, zones)
def test_days_follow_each_other_without_gap_or_overlap_in_any_zone(day, zone):
    ends = end_of("to", day.isoformat(), zone).moment
    assert ends == start_of("from", (day + timedelta(days=1)).isoformat(), zone).moment
    assert start_of("from", day.isoformat(), zone).moment <= ends


def test_a_moment_without_an_offset_is_meant_in_the_zone_and_one_with_it_is_not_touched():
    assert start_of("from", "2026-07-01T12:00", BERLIN).moment == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert start_of("from", "2026-07-01T12:00+00:00", BERLIN).moment == datetime(2026, 7, 1, 12, tzinfo=UTC)


def test_a_time_that_comes_twice_or_never_leaves_nothing_out():
    twice, never = "2026-10-25T02:30", "2026-03-29T02:30"
    assert end_of("to", twice, BERLIN).moment - start_of("from", twice, BERLIN).moment == timedelta(hours=1)
    assert end_of("to", never, BERLIN).moment - start_of("from", never, BERLIN).moment == timedelta(hours=1)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "yesterday",
        "2026-13-01",
        "2026-02-30",
        "30.11.2026",
        "1",
        "9" * 5000,
        "0001-01-01T00:00+14:00",
        "2026-11-30#x",
        f"2026-11-30#{an_id(1)}",
        f"2026-11-30T12:00#{an_id(1)}",
        f"#{an_id(1)}",
        "2026-11-30T12:00:00.000000Z#",
        f"2026-11-30T12:00:00.000000Z#{an_id(1)}#",
        f"2026-11-30T12:00:00.000000Z#{an_id(1).upper()}",
    ],
)
def test_what_is_no_date_is_refused_with_field_and_example(written):
    with pytest.raises(InvalidArgument, match=r"^to: .*(such as 2026-11-30|as the last answer gave it)"):
        end_of("to", written)


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12))])
@pytest.mark.parametrize("written", ["0001-01-01", "9999-12-31"])
def test_the_edges_of_the_calendar_are_dates_in_every_zone(written, zone):
    assert EARLIEST <= start_of("from", written, zone).moment <= end_of("to", written, zone).moment <= LATEST


@given(moments)
def test_a_cursor_comes_back_as_the_row_that_it_names_in_every_zone(at):
    bound = Bound(at, an_id(7))
    for zone in (UTC, BERLIN):
        assert end_of("to", cursor(at, an_id(7)), zone) == start_of("from", cursor(at, an_id(7)), zone) == bound
    assert end_of("to", written(bound)) == bound
    assert end_of("to", written(Bound(at))) == Bound(at)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2026-11-30", False),
        ("2026-11-30T12:00", False),
        ("2026-11-30T12:00Z", True),
        ("2026-11-30T12:00-08:00", True),
        ("20261130t120000+0100", True),
        (cursor(NOON, an_id(1)), True),
        ("nonsense", False),
    ],
)
def test_what_says_its_zone_needs_none_of_an_account(text, says):
    assert says_its_zone(text) is says


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Europe/Lisbon", "Europe/Lisbon"),
        (" europe/lisbon ", "Europe/Lisbon"),
        ("AMERICA/ARGENTINA/BUENOS_AIRES", "America/Argentina/Buenos_Aires"),
        ("UTC", ""),
        ("utc", ""),
        ("", ""),
    ],
)
def test_a_zone_is_kept_as_the_database_spells_it(given, kept):
    assert checked_zone(given) == kept
    assert zone_named(kept) is not None


@pytest.mark.parametrize(
    "name", ["Berlin", "Europe", "CEST", "+01:00", "localtime", "Factory", "../../etc/passwd", "x\x00"]
)
def test_what_is_no_zone_is_refused_with_an_example(name):
    with pytest.raises(InvalidArgument, match=r"zone: must be an IANA time zone, such as Europe/Lisbon"):
        checked_zone(name)


def test_a_computer_without_zones_says_how_to_get_them(monkeypatch):
    monkeypatch.setattr(dates, "available_timezones", lambda: set())
    assert checked_zone("UTC") == ""
    with pytest.raises(InvalidArgument, match="install the Python package tzdata"):
        checked_zone("Europe/Lisbon")


@pytest.mark.parametrize("name", ["Atlantis/Capital", "Europe", "/etc/passwd", "x\x00"])
def test_a_zone_that_this_computer_does_not_know_is_none(name):
    assert zone_named(name) is None


@given(moments, moments)
def test_written_moments_sort_as_time_does(one, other):
    assert (iso(one) < iso(other)) == (one < other)
    assert moment(micros(one)) == one
