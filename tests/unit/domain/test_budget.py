"""Packing rows into a budget."""

from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.budget import CUT, cost_of, enough_rows, fit
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


@given(sizes, st.integers(1_000, 20_000))
def test_one_row_always_comes_within_the_budget_and_says_if_it_was_cut(lengths, budget):
    rows = [Ranked(a_memory(n, text="é" * length), None) for n, length in enumerate(lengths, 1)]
    fitting = fit(rows, budget)
    assert bool(fitting) == bool(rows)
    assert sum(cost_of(row.memory) for row in fitting) <= budget
    for row, whole in zip(fitting, rows, strict=False):
        assert row.cut == row.memory.text.endswith(CUT) == (row.memory.text != whole.memory.text)
    assert len(fitting) <= 1 or not any(row.cut for row in fitting)


@given(st.integers(1_000, 200_000))
def test_no_page_holds_as_many_rows_as_are_read_for_it(budget):
    rows = [Ranked(a_memory(1, text="x"), None)] * enough_rows(budget)
    assert len(fit(rows, budget)) < len(rows)


def test_tags_and_context_count_too():
    plain, tagged = a_memory(), a_memory(tags=("x" * 100,) * 50, source_context="y" * 500)
    assert cost_of(tagged) == cost_of(plain) + 50 * 25 + 125


def test_a_row_whose_tags_alone_fill_the_budget_comes_without_them_and_says_that_it_was_cut():
    tagged = a_memory(tags=("x" * 100,) * 50, source_context="y" * 500)
    [row] = fit([Ranked(tagged, None), Ranked(a_memory(2), None)], 1_000)
    assert (row.memory.text, row.memory.tags, row.cut) == (tagged.text, (), True)
    assert cost_of(row.memory) <= 1_000
