"""Names of people, and what a password must be."""

import pytest

from archivist.domain.errors import InvalidArgument
from archivist.domain.users import checked_name, checked_password, name_digest

COMMON = {"hunter2", "passwordpassword", "correcthorsebatterystaple"}


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb", "a\x00b", "a\u202eb", "a\u200bb"])
def test_a_name_that_a_list_cannot_show_is_refused(name):
    with pytest.raises(InvalidArgument) as refused:
        checked_name(name)
    assert refused.value.field == "name"


@pytest.mark.parametrize("name", ["x", "x" * 100, "山田 太郎", "Åsa-Marie O'Neil", "Ольга 2", "علي", "Ana 😀"])
def test_a_name_is_kept_as_it_was_typed(name):
    assert checked_name(f" {name} ") == name


@pytest.mark.parametrize(("one", "other"), [("Ana", "Anna"), ("Ana", "Ana1"), ("O'Neil", "ONeil"), ("Ёж", "Еж")])
def test_names_that_a_reader_tells_apart_are_different(one, other):
    assert name_digest(one) != name_digest(other)


@pytest.mark.parametrize(
    "password",
    [
        "elevenchars",
        "x" * 257,
        "é" * 513,
        "PasswordPassword",
        "hunter2hunter2",
        "mnopqrstuvwx",
        "ana.ana.ana.ana",
        "Example.Org2026",
        "archivist1234",
        "123456789012",
    ],
)
def test_a_password_that_is_too_short_too_long_or_guessed_first_is_refused(password):
    with pytest.raises(InvalidArgument) as refused:
        checked_password(password, "Ana.ana", "example.org", COMMON)
    assert refused.value.field == "password"
    assert password not in refused.value.detail


@pytest.mark.parametrize(
    "password",
    [
        "twelve chars",
        ("many words, " * 22)[:256],
        ("éàüöñ " * 43)[:256],
        "   blanks   ",
        "831204965173",
        "ana and her archivist",
    ],
)
def test_any_other_password_is_taken_exactly_as_it_is(password):
    assert checked_password(password, "Ana", "example.org", COMMON) == password
