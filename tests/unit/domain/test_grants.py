"""How long tokens live, and that a family keeps its end and its scopes."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.access import ALL_SCOPES, Scope
from archivist.domain.grants import (
    ACCESS,
    CODE,
    GRACE,
    REFRESH_IDLE,
    REFRESH_TOTAL,
    TRANSACTION,
    AuthorizationCode,
    access_token,
    refresh_token,
)
from tests.builders import MINE, NOON

A_CODE = AuthorizationCode(
    vault=MINE,
    digest="c" * 64,
    grant="g",
    family="f",
    client="a" * 64,
    redirect_uri="http://127.0.0.1/cb",
    challenge="x" * 43,
    toolset="coding",
    scopes=frozenset({Scope.READ, Scope.WRITE}),
    session="s",
    created=NOON,
    expires=NOON + CODE,
)


def test_the_numbers_are_those_of_the_specification():
    assert (timedelta(minutes=60), timedelta(seconds=60), timedelta(seconds=30)) == (ACCESS, CODE, GRACE)
    assert (timedelta(days=60), timedelta(days=180)) == (REFRESH_IDLE, REFRESH_TOTAL)
    assert timedelta(minutes=10) == TRANSACTION


def test_the_first_tokens_carry_on_what_the_code_was_good_for():
    for made in (access_token(A_CODE, "d" * 64, A_CODE.scopes, NOON), refresh_token(A_CODE, "d" * 64, NOON)):
        for name in ("vault", "grant", "family", "client", "toolset", "scopes"):
            assert getattr(made, name) == getattr(A_CODE, name)
        assert (made.created, made.ended, made.spent, made.successor) == (NOON, None, None, "")


@given(st.frozensets(st.sampled_from(Scope)))
def test_an_access_token_may_hold_less_and_the_refresh_token_keeps_all(scopes):
    first = refresh_token(A_CODE, "d" * 64, NOON)
    assert access_token(first, "e" * 64, scopes, NOON).scopes == scopes
    assert refresh_token(first, "e" * 64, NOON).scopes == A_CODE.scopes


@given(st.lists(st.integers(0, 59), max_size=8))
def test_no_refresh_moves_the_end_of_the_family(days):
    token, now = refresh_token(A_CODE, "d" * 64, NOON), NOON
    for step in days:
        now += timedelta(days=step)
        token = refresh_token(token, "e" * 64, now)
        assert token.until == NOON + REFRESH_TOTAL
        assert token.expires == min(now + REFRESH_IDLE, NOON + REFRESH_TOTAL)
        assert token.family == A_CODE.family


@pytest.mark.parametrize("scopes", [frozenset(), ALL_SCOPES])
def test_an_access_token_lives_for_an_hour_whatever_its_family_is_worth(scopes):
    late = replace(refresh_token(A_CODE, "d" * 64, NOON), until=NOON + timedelta(minutes=1))
    made = access_token(late, "e" * 64, scopes, NOON)
    assert (made.expires, made.until) == (NOON + ACCESS, NOON + ACCESS)
