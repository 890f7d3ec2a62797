"""Values to rows and back."""

from dataclasses import dataclass
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.access import Scope
from archivist.storage.shapes import Shape, scopes_of, words_of


@dataclass(frozen=True)
class Thing:
    id: str
    at: datetime
    ended: datetime | None
    on: bool
    names: tuple[str, ...]
    scopes: frozenset[Scope]


SHAPE = Shape(of=Thing, times=("at", "ended"), flags=("on",), lists=("names",), scopes=("scopes",))
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
THINGS = st.builds(
    Thing,
    id=st.text(),
    at=MOMENTS,
    ended=st.none() | MOMENTS,
    on=st.booleans(),
    names=st.lists(st.text()).map(tuple),
    scopes=st.frozensets(st.sampled_from(Scope)),
)


@given(THINGS)
def test_a_value_comes_back_equal(thing):
    assert SHAPE.value(SHAPE.row(thing)) == thing


@given(THINGS)
def test_a_row_holds_text_and_whole_numbers_alone(thing):
    assert {type(value) for value in SHAPE.row(thing).values()} <= {str, int, type(None)}


@given(st.frozensets(st.sampled_from(Scope)))
def test_scopes_are_words_in_one_order(scopes):
    assert scopes_of(words_of(scopes)) == scopes
    assert words_of(scopes) == " ".join(sorted(scopes))
