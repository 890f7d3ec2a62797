"""How long a session lives, and how long its person counts as just arrived."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.access import LOCAL_OWNER
from archivist.domain.sessions import FRESH, HALF, IDLE, TOTAL, Session, is_alive, is_fresh
from tests.builders import NOON

A_SECOND = timedelta(seconds=1)
WHOLE = Session(id="s", digest="d" * 64, user=LOCAL_OWNER, stage="full", agent="", created=NOON, used=NOON, fresh=NOON)


def test_the_numbers_are_those_of_the_specification():
    assert (timedelta(hours=8), timedelta(days=7), timedelta(minutes=10)) == (IDLE, TOTAL, FRESH)


@pytest.mark.parametrize(("after", "alive"), [(timedelta(0), True), (IDLE - A_SECOND, True), (IDLE, False)])
def test_a_session_that_nobody_uses_ends_after_eight_hours(after, alive):
    assert is_alive(WHOLE, NOON + after) is alive


@pytest.mark.parametrize(("after", "alive"), [(TOTAL - A_SECOND, True), (TOTAL, False)])
def test_a_session_that_is_used_all_the_time_ends_after_a_week(after, alive):
    assert is_alive(replace(WHOLE, used=NOON + after), NOON + after) is alive


@given(st.timedeltas(timedelta(0), TOTAL), st.timedeltas(timedelta(0), TOTAL))
def test_use_never_carries_a_session_beyond_its_week(used, later):
    session = replace(WHOLE, used=NOON + used)
    assert is_alive(session, NOON + used + later) == (later < IDLE and used + later < TOTAL)


@pytest.mark.parametrize(("after", "alive"), [(HALF - A_SECOND, True), (HALF, False)])
def test_half_a_session_waits_ten_minutes_for_its_second_factor(after, alive):
    half = replace(WHOLE, stage="half", used=NOON + after)
    assert is_alive(half, NOON + after) is alive


@pytest.mark.parametrize(("after", "fresh"), [(FRESH - A_SECOND, True), (FRESH, False)])
def test_a_person_has_just_shown_who_they_are_for_ten_minutes(after, fresh):
    assert is_fresh(WHOLE, NOON + after) is fresh


def test_half_a_session_is_never_fresh():
    assert not is_fresh(replace(WHOLE, stage="half"), NOON)
