"""The facets of memories: found by id and document, narrowed by filters, the same after dead rows are dropped."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import numpy as np
import pytest

from archivist.domain.dates import Bound
from archivist.domain.ids import MemoryId
from archivist.domain.queries import Filters
from archivist.domain.times import micros
from archivist.search.columns import Column
from archivist.search.facets import Block, Facets, halves
from tests.builders import NOON, an_id

N = 30


def a_block(n: int = N, start: int = 0) -> Block:
    """Memory i: document 10 + 3 i, tier 1, 2, 3 in turn, importance i % 11, every tenth archived, a day apart."""
    numbers = np.arange(start, start + n)
    return Block(
        docs=10 + 3 * numbers,
        ids=halves([an_id(int(i)) for i in numbers]),
        tiers=(1 + numbers % 3).astype(np.uint8),
        importance=(numbers % 11).astype(np.uint8),
        archived=numbers % 10 == 9,
        events=micros(NOON) + numbers * 86_400_000_000,
    )


def on_day(number: int, behind: int | None = None) -> Bound:
    """The moment of memory `number`; with `behind`, next to the memory of that number at the same moment."""
    return Bound(NOON + timedelta(days=number), None if behind is None else an_id(behind))


@pytest.fixture
def facets() -> Facets:
    facets = Facets()
    facets.append(a_block())
    return facets


def found(facets: Facets, **narrowed: object) -> set[int]:
    allowed = facets.allowed(Filters(**narrowed))  # type: ignore[arg-type]  # the keys are the fields
    return set(range(len(facets)) if allowed is None else np.flatnonzero(allowed))


@pytest.mark.parametrize(
    ("narrowed", "holds"),
    [
        ({}, lambda i: i % 10 != 9),
        ({"archived": True}, lambda i: True),
        ({"tiers": frozenset({2}), "archived": True}, lambda i: i % 3 == 1),
        ({"tiers": frozenset({1, 2, 3}), "archived": True}, lambda i: True),
        ({"importance": 7, "archived": True}, lambda i: i % 11 >= 7),
        ({"importance": 1, "archived": True}, lambda i: i % 11 >= 1),
        ({"start": on_day(5), "archived": True}, lambda i: i >= 5),
        ({"end": on_day(5), "archived": True}, lambda i: i < 5),
        ({"start": on_day(5), "end": on_day(9), "tiers": frozenset({3})}, lambda i: i in {5, 8}),
        ({"start": on_day(5, behind=5), "archived": True}, lambda i: i > 5),
        ({"start": on_day(5, behind=4), "archived": True}, lambda i: i >= 5),
        ({"end": on_day(5, behind=5), "archived": True}, lambda i: i < 5),
        ({"end": on_day(5, behind=6), "archived": True}, lambda i: i <= 5),
    ],
)
def test_a_filter_lets_exactly_the_right_memories_through(facets, narrowed, holds):
    assert found(facets, **narrowed) == {i for i in range(N) if holds(i)}


def test_a_removed_memory_passes_no_filter(facets):
    facets.remove(np.array([3]))
    assert 3 not in found(facets, archived=True)
    assert facets.live == N - 1


def test_memories_are_found_by_id_and_document_and_strangers_are_not(facets):
    assert list(facets.rows_of(halves([an_id(7), an_id(99), an_id(2)]))) == [2, 7]
    assert list(facets.rows_of_docs(np.array([10, 11, 13, 10_000]))) == [0, -1, 1, -1]
    assert facets.ids_of(np.array([5])) == [an_id(5)]


def test_ids_that_share_a_half_are_told_apart(facets):
    twin = str(UUID(int=UUID(an_id(7)).int ^ 1 << 100))
    assert len(facets.rows_of(halves([twin]))) == 0


def test_dropping_dead_rows_closes_up_the_others(facets):
    facets.remove(np.array([0, 1, 29]))
    facets.keep(facets.alive.copy())
    assert (len(facets), facets.live, facets.dead) == (27, 27, 0)
    assert facets.ids_of(np.array([0, 26])) == [an_id(2), an_id(28)]
    assert list(facets.rows_of_docs(np.array([10, 16]))) == [-1, 0]


def test_a_memory_is_replaced_in_place(facets):
    changed = replace(a_block(1, 4), archived=np.array([True]), tiers=np.array([3], dtype=np.uint8))
    facets.replace(np.array([4]), changed)
    assert 4 not in found(facets)
    assert 4 in found(facets, archived=True, tiers=frozenset({3}))


def test_no_memories_are_no_trouble():
    facets = Facets()
    assert facets.last_doc == -1
    assert facets.allowed(Filters()) is None
    assert list(facets.rows_of_docs(np.array([1]))) == [-1]
    assert len(facets.rows_of(halves([]))) == 0


def test_a_memory_takes_forty_bytes():
    facets = Facets()
    facets.append(a_block())
    assert facets.nbytes == N * (8 + 16 + 1 + 1 + 1 + 8 + 1)


def test_a_column_keeps_what_was_appended_through_growth():
    column = Column(np.int64)
    for i in range(500):
        column.append(np.array([i, -i]))
    assert list(column.values[::2]) == list(range(500))
    column.keep(column.values > 0)
    assert list(column.values) == list(range(1, 500))
    assert column.nbytes == 499 * 8


@pytest.mark.parametrize("halves_differ", ["high", "low"])
def test_a_cursor_among_equal_times_parts_the_memories_by_their_ids(halves_differ):
    names = [f"0000000{i}-0000-7000-8000-000000000000" if halves_differ == "high" else an_id(i) for i in range(6)]
    block = replace(
        a_block(6), ids=halves(names), events=np.full(6, micros(NOON)), archived=np.zeros(6, dtype=np.bool_)
    )
    facets = Facets()
    facets.append(block)
    assert found(facets, start=Bound(NOON, MemoryId(names[2]))) == {3, 4, 5}
    assert found(facets, end=Bound(NOON, MemoryId(names[2]))) == {0, 1}
