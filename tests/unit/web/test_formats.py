"""How numbers and times read on pages."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from jinja2 import Environment

from archivist.web import formats

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("span", "text"),
    [
        ({"seconds": 0}, "just now"),
        ({"seconds": 59}, "just now"),
        ({"seconds": 60}, "1 minute ago"),
        ({"minutes": 59, "seconds": 59}, "59 minutes ago"),
        ({"hours": 1}, "1 hour ago"),
        ({"hours": 23}, "23 hours ago"),
        ({"days": 3}, "3 days ago"),
        ({"days": 60}, "60 days ago"),
        ({"days": 61}, "2 months ago"),
        ({"days": 729}, "24 months ago"),
        ({"days": 730}, "2 years ago"),
        ({"days": 20_000}, "54 years ago"),
        ({"days": -78}, "in 2 months"),
        ({"hours": -1}, "in 1 hour"),
        ({"seconds": -20}, "just now"),
    ],
)
def test_a_time_reads_as_its_distance(span, text):
    assert formats.distance(NOW - timedelta(**span), NOW) == text


def test_a_time_carries_its_exact_moment_in_utc_whatever_zone_it_came_in():
    environment = Environment(autoescape=True)
    environment.filters["ago"] = formats.ago
    moment = datetime(2026, 11, 27, 14, 5, tzinfo=timezone(timedelta(hours=2)))
    text = environment.from_string("{{ moment|ago }}, {{ none|ago }}").render(moment=moment, now=NOW)
    assert text == (
        '<time datetime="2026-11-27T12:05:00Z" title="27 November 2026, 12:05 UTC">2 days ago</time>, never'
    )


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 memories"), (1, "1 memory"), (2, "2 memories"), (1234567, "1,234,567 memories")]
)
def test_a_count_is_said_with_its_noun(number, text):
    assert formats.plural(number, "memory", "memories") == text


def test_a_secret_to_type_comes_in_groups_of_four():
    assert formats.grouped("JBSWY3DPEH") == "JBSW Y3DP EH"


def test_a_day_has_no_leading_zero():
    assert formats.day(datetime(2026, 3, 1, tzinfo=UTC)) == "1 March 2026"
