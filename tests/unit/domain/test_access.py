"""Authority can only shrink."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.access import Scope, authorise, parse_scopes
from archivist.domain.errors import InsufficientScope, InvalidArgument
from archivist.domain.ids import is_uuid, uuid7
from archivist.domain.operations import SCOPES, permit
from tests.builders import NOON, a_principal

sets = st.frozensets(st.sampled_from(Scope), min_size=1)


@given(sets, sets)
def test_narrowing_never_adds_a_scope(held, wanted):
    assert a_principal(*held).narrowed(wanted).scopes == held & wanted


@pytest.mark.parametrize("operation", SCOPES)
@given(held=sets)
def test_an_operation_is_permitted_exactly_with_its_scope(operation, held):
    if SCOPES[operation] in held:
        permit(a_principal(*held), operation)
    else:
        with pytest.raises(InsufficientScope):
            permit(a_principal(*held), operation)


def test_an_operation_without_a_row_is_refused_to_all():
    with pytest.raises(KeyError):
        permit(a_principal(), "unheard_of")


def test_no_scope_contains_another():
    for held in Scope:
        for needed in Scope:
            if held is not needed:
                with pytest.raises(InsufficientScope):
                    authorise(a_principal(held), needed)


def test_only_writing_reflecting_and_deleting_change_a_vault():
    assert not a_principal(Scope.READ).may_change
    assert all(a_principal(scope).may_change for scope in Scope if scope is not Scope.READ)


def test_scopes_are_written_short_or_in_full():
    assert parse_scopes("read, memories:write") == {Scope.READ, Scope.WRITE}


@pytest.mark.parametrize("words", ["", ",", "admin", "read,admin", "READ", "memories:all"])
def test_words_that_are_no_scopes_are_refused(words):
    with pytest.raises(InvalidArgument, match="read, write, reflect, delete"):
        parse_scopes(words)


def test_ids_made_later_sort_later_and_look_like_version_seven():
    ids = [uuid7(NOON.replace(second=second)) for second in range(3)]
    assert ids == sorted(ids)
    assert all(is_uuid(id) and id[14] == "7" and id[19] in "89ab" for id in ids)
