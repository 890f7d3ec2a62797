"""One-time links: of one kind, for a while, and once."""

from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest

from archivist.domain.errors import NotFound
from archivist.domain.ids import UserId, VaultId
from archivist.domain.links import GONE, LIFE, Kind, Link, usable
from tests.builders import NOON

KINDS: tuple[Kind, ...] = get_args(Kind)


def a_link(kind: Kind = "invitation") -> Link:
    return Link(
        id="l",
        digest="d" * 64,
        kind=kind,
        user=UserId(""),
        maker=UserId("m"),
        into_vault=VaultId(""),
        role="",
        created=NOON,
        expires=NOON + LIFE[kind],
    )


def test_the_numbers_are_those_of_the_specification():
    assert [LIFE[kind] for kind in KINDS] == [timedelta(minutes=60), timedelta(hours=72), timedelta(minutes=30)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_is_usable_until_it_expires_and_as_its_own_kind_alone(kind):
    link = a_link(kind)
    assert usable(link, kind, NOON) is link
    assert usable(link, kind, link.expires - timedelta(microseconds=1)) is link
    refused = [(link, kind, link.expires), *((link, other, NOON) for other in KINDS if other != kind)]
    for given, wanted, now in refused:
        with pytest.raises(NotFound, match=GONE):
            usable(given, wanted, now)


def test_a_used_link_and_none_at_all_are_told_alike():
    texts = set()
    for link in (None, replace(a_link(), used=NOON)):
        with pytest.raises(NotFound) as refused:
            usable(link, "invitation", NOON)
        texts.add(str(refused.value))
    assert texts == {GONE}
