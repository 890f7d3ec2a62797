"""Roles: what they can hold, and whom they can manage."""

import itertools

import pytest

from archivist.domain.access import Scope
from archivist.domain.errors import InvalidArgument
from archivist.domain.roles import CAPS, ROLES, checked_role, may_manage


def test_a_greater_role_has_all_that_a_lesser_one_has():
    for less, more in itertools.pairwise(ROLES):
        assert CAPS[less] <= CAPS[more]


def test_every_role_may_read_and_only_the_two_greatest_may_delete():
    assert all(Scope.READ in CAPS[role] for role in ROLES)
    assert [role for role in ROLES if Scope.DELETE in CAPS[role]] == ["admin", "owner"]


def test_an_owner_manages_everybody_and_an_admin_those_below():
    managed = {mine: {theirs for theirs in ROLES if may_manage(mine, theirs)} for mine in ROLES}
    assert managed == {"viewer": set(), "member": set(), "admin": {"viewer", "member"}, "owner": set(ROLES)}


def test_nobody_below_an_owner_can_give_a_role_that_is_as_great_as_theirs():
    for mine in ("viewer", "member", "admin"):
        assert not any(may_manage(mine, theirs) for theirs in ROLES[ROLES.index(mine) :])


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_a_role(role):
    assert checked_role(role) == role


@pytest.mark.parametrize("word", ["", "Owner", "root", "owner ", "administrator"])
def test_another_word_is_none(word):
    with pytest.raises(InvalidArgument, match="viewer, member, admin, owner"):
        checked_role(word)
