"""Coverage against its definition, and the cut against sorting everything."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.search.keyword.coverage import Scores, best, bound_of_best, idf

HOLDERS = st.lists(st.frozensets(st.integers(0, 39)), min_size=1, max_size=6)


def scored(holders, rows=40) -> Scores:
    """Term number i is held by the rows holders[i]."""
    scores = Scores(rows, rows, {str(i): len(held) for i, held in enumerate(holders)})
    for i, held in enumerate(holders):
        scores.add(str(i), np.array(sorted(held), dtype=np.int32))
    return scores


@given(HOLDERS)
def test_coverage_is_the_weight_of_the_words_held_over_that_of_all_words(holders):
    weights = [math.log(1 + (40 - len(held) + 0.5) / (len(held) + 0.5)) for held in holders]
    expected = [
        sum(w for w, held in zip(weights, holders, strict=True) if row in held) / sum(weights) for row in range(40)
    ]
    assert scored(holders).by_row == pytest.approx(expected, abs=1e-5)


@given(st.integers(1, 10**6), st.data())
def test_a_rarer_word_weighs_more_and_every_word_weighs_something(memories, data):
    common = data.draw(st.integers(1, memories))
    rare = data.draw(st.integers(0, common - 1))
    assert idf(memories, rare) > idf(memories, common) > 0


def test_more_holders_than_memories_weigh_like_all_of_them():
    assert idf(10, 12) == idf(10, 10)


@given(HOLDERS, st.integers(1, 50), st.one_of(st.none(), st.frozensets(st.integers(0, 39))))
def test_the_best_are_the_same_as_from_sorting_all(holders, limit, wanted):
    scores = scored(holders).by_row
    allowed = None if wanted is None else np.isin(np.arange(40), list(wanted))
    lists = sorted((np.array(sorted(held), dtype=np.int32) for held in holders), key=len)
    bound = bound_of_best(scores, lists, allowed, limit)
    rows = [row for row in range(40) if scores[row] > 0 and (allowed is None or allowed[row])]
    expected = sorted(rows, key=lambda row: (-scores[row], -row))[:limit]
    assert list(best(scores, bound, allowed, limit)) == expected
    assert sum(scores[row] >= bound for row in rows) >= min(limit, len(rows))
