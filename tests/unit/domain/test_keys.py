"""Keys: how they are written, recognised and narrowed."""

import itertools
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain import keys
from archivist.domain.access import ALL_SCOPES, LOCAL_OWNER, Scope
from archivist.domain.errors import Unauthenticated
from archivist.domain.ids import KeyId
from archivist.domain.keys import Key
from tests.builders import MINE, NOON

READ, WRITE = frozenset({Scope.READ}), frozenset({Scope.WRITE})
FULL = keys.new_secret(read_only=False)
READ_ONLY = keys.new_secret(read_only=True)


def a_key(secret: str, scopes: frozenset[Scope]) -> Key:
    digest = keys.digest_of(secret)
    return Key(
        id=KeyId("k"),
        vault=MINE,
        digest=digest,
        start=secret[:9],
        name="",
        owner=LOCAL_OWNER,
        scopes=scopes,
        created=NOON,
    )


def test_a_generated_key_is_letters_and_digits_behind_its_prefix():
    assert FULL.startswith("mk_")
    assert FULL.removeprefix("mk_").isalnum()
    assert READ_ONLY.removeprefix("mk_ro_").isalnum()


def test_sec_122_every_generated_key_parses_and_no_full_key_looks_like_a_read_only_one():
    secrets = [keys.new_secret(read_only=False) for _ in range(5_000)]
    assert all(keys.parse(secret).most == ALL_SCOPES for secret in secrets)
    assert len(set(secrets)) == len(secrets)
    assert not any(secret.startswith(("mk_ro_", "mk-ro-")) for secret in secrets)


@given(st.integers(0, 51), st.sampled_from("0aZ"))
def test_sec_122_a_key_with_a_slip_is_refused(position, letter):
    slipped = FULL[:position] + letter + FULL[position + 1 :]
    if slipped != FULL:
        with pytest.raises(Unauthenticated):
            keys.parse(slipped)


def test_sec_122_hyphens_are_another_spelling_of_the_same_prefix():
    assert keys.parse(READ_ONLY.replace("mk_ro_", "mk-ro-")) == keys.parse(READ_ONLY)
    assert keys.parse(FULL.replace("mk_", "mk-", 1)) == keys.parse(FULL)


@pytest.mark.parametrize(
    "spelling",
    [
        READ_ONLY.replace("mk_ro_", "mk_"),
        READ_ONLY.replace("mk_ro_", "mk-"),
        FULL.replace("mk_", "mk_ro_"),
        FULL.replace("mk_", "mk-ro-"),
        READ_ONLY.replace("mk_ro_", "mk_ro-"),
        READ_ONLY.replace("mk_ro_", "mk-ro_"),
        READ_ONLY.upper(),
    ],
    ids=["full", "full with hyphens", "read-only", "read-only with hyphens", "mixed", "mixed again", "capitals"],
)
def test_sec_124_no_rewriting_of_a_prefix_gives_a_key(spelling):
    with pytest.raises(Unauthenticated):
        keys.parse(spelling)


@pytest.mark.parametrize(
    "suffix",
    [":reads", ":READ", ":", "::read", ":read:read", ":read:off", ":read ", ":delete", ":write\n", "%3Aread", ":all"],
)
def test_sec_123_a_suffix_that_is_not_one_of_the_three_is_refused_not_dropped(suffix):
    for secret in (FULL, READ_ONLY):
        with pytest.raises(Unauthenticated):
            keys.parse(secret + suffix)


FORMS = [("", ALL_SCOPES), (":read", READ), (":write", WRITE), (":off", frozenset())]
RECORDS = [ALL_SCOPES, READ, WRITE, READ | WRITE, frozenset({Scope.DELETE})]


@pytest.mark.parametrize(("form", "record"), list(itertools.product(FORMS, RECORDS)))
def test_sec_123_a_key_allows_at_most_what_its_record_and_its_form_both_allow(form, record):
    suffix, most = form
    for secret, least in ((FULL, ALL_SCOPES), (READ_ONLY, READ)):
        for spelling in (secret, secret.replace("mk_ro_", "mk-ro-") if least == READ else secret.replace("mk_", "mk-")):
            who = keys.principal(a_key(secret, record), keys.parse(spelling + suffix), NOON)
            assert who.scopes == record & most & least


def test_a_revoked_or_expired_key_is_nobody():
    presented = keys.parse(FULL)
    for ended in ({"revoked": NOON}, {"expires": NOON}):
        fields = {name: getattr(a_key(FULL, READ), name) for name in Key.__dataclass_fields__} | ended
        with pytest.raises(Unauthenticated):
            keys.principal(Key(**fields), presented, NOON)
        assert "expires" not in ended or keys.principal(Key(**fields), presented, NOON - timedelta(seconds=1))
