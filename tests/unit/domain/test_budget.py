"""Packing rows into a budget."""

from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.budget import CUT, cost_of, fit
from archivist.domain.queries import Ranked
from tests.builders import a_memory

sizes = st.lists(st.integers(1, 9_000), max_size=20)


@given(sizes, st.integers(1_000, 20_000))
def test_what_fits_is_the_longest_beginning_within_the_budget(lengths, budget):
    rows = [Ranked(a_memory(n, text="word " * length), None) for n, length in enumerate(lengths, 1)]
    fitting = fit(rows, budget)
    spent = sum(cost_of(row.memory) for row in fitting)
    assert [row.memory.id for row in fitting] == [row.memory.id for row in rows[: len(fitting)]]
    assert spent <= budget
    assert len(fitting) == len(rows) or not fitting or spent + cost_of(rows[len(fitting)].memory) > budget


def test_one_row_always_comes_cut_with_a_mark_if_it_is_too_long():
    [row] = fit([Ranked(a_memory(text="é" * 5_000), None)], 1_000)
    assert row.memory.text.endswith(CUT)
    assert cost_of(row.memory) <= 1_000


def test_tags_and_context_count_too():
    plain, tagged = a_memory(), a_memory(tags=("x" * 100,) * 50, source_context="y" * 500)
    assert cost_of(tagged) == cost_of(plain) + 50 * 25 + 125
    assert [row.memory.text for row in fit([Ranked(tagged, None), Ranked(plain, None)], 1_000)] == [CUT]
