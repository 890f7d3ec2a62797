"""Secrets: of one kind each, and answers that only the holder of a token can make again."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain import secrets
from archivist.domain.secrets import KINDS

kinds = st.sampled_from(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_is_of_its_kind_and_of_no_other(kind):
    made = secrets.new(kind)
    assert [other for other in KINDS if secrets.is_a(other, made)] == [kind]


def test_every_kind_has_a_prefix_of_its_own_and_256_bits():
    made = [secrets.new(kind) for kind in KINDS]
    assert len({one[:4] for one in made}) == len(KINDS)
    assert all(re.fullmatch(r"av[a-z]_[A-Za-z0-9_-]{43}", one) for one in made)


def test_no_two_are_alike():
    assert len({secrets.new("access") for _ in range(10_000)}) == 10_000


@given(kinds, st.text(max_size=60))
def test_other_text_is_no_secret(kind, text):
    assert not secrets.is_a(kind, text) or re.fullmatch(r"av[a-z]_[A-Za-z0-9_-]{43}", text)


REAL = "ava_" + "a" * 43


@pytest.mark.parametrize(
    "slipped", [REAL + "\n", " " + REAL, REAL[:-1], REAL + "a", REAL.upper(), REAL.replace("_", "-")]
)
def test_a_slip_makes_it_none(slipped):
    assert secrets.is_a("access", REAL)
    assert not secrets.is_a("access", slipped)


@given(st.text(), st.text())
def test_digests_are_equal_for_equal_text_alone(one, other):
    assert (secrets.digest(one) == secrets.digest(other)) == (one == other)
    assert re.fullmatch("[0-9a-f]{64}", secrets.digest(one))


@given(kinds, st.text(min_size=1), st.text())
def test_a_derived_secret_can_be_made_again_and_has_the_form_of_its_kind(kind, parent, salt):
    made = secrets.derived(kind, parent, salt)
    assert made == secrets.derived(kind, parent, salt)
    assert secrets.is_a(kind, made)


@given(st.text(max_size=50), st.text(max_size=50), st.text(max_size=50), st.text(max_size=50))
def test_another_parent_or_another_salt_derives_something_else(parent, other_parent, salt, other_salt):
    made = secrets.derived("refresh", parent, salt)
    padded = parent.encode().ljust(64, b"\x00")[:64] == other_parent.encode().ljust(64, b"\x00")[:64]
    if not padded:
        assert made != secrets.derived("refresh", other_parent, salt)
    if salt != other_salt:
        assert made != secrets.derived("refresh", parent, other_salt)


@given(st.text(), st.text())
def test_two_kinds_derived_from_the_same_share_nothing(parent, salt):
    bodies = {secrets.derived(kind, parent, salt)[4:] for kind in KINDS}
    assert len(bodies) == len(KINDS)
