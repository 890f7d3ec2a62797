"""How meaning and words are weighed against each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.search.fusion import COVERAGE_WEIGHT, NEIGHBOUR_WEIGHT, fused, ranking, reported, smoothed

SCORES = st.lists(st.floats(-1, 1.5, width=32), min_size=1, max_size=30).map(lambda x: np.array(x, dtype=np.float32))


def floats(*values):
    return np.array(values, dtype=np.float32)


def test_all_words_are_worth_half_a_cosine():
    assert fused(floats(0.2, 0.7), floats(1, 0)) == pytest.approx([0.2 + COVERAGE_WEIGHT, 0.7])


def test_where_only_one_part_could_be_asked_it_counts_alone():
    assert fused(floats(0.3), None) == pytest.approx([0.3])
    assert fused(None, floats(0.8)) == pytest.approx([0.8])


def test_without_a_vector_the_words_stand_in_for_the_meaning():
    scores = fused(floats(0.8, np.nan, np.nan, -0.2), floats(0.5, 1, 0.25, 0))
    assert scores == pytest.approx([1.05, 1.3, 0.325, -0.2])


def test_where_no_memory_has_a_vector_the_words_decide_alone():
    assert fused(floats(np.nan, np.nan), floats(1, 0.5)) == pytest.approx([0.5, 0.25])
    assert fused(floats(np.nan, 0.4), None) == pytest.approx([0, 0.4])


def test_nothing_asked_is_a_mistake():
    with pytest.raises(ValueError, match="neither"):
        fused(None, None)


def test_a_turn_gets_a_share_of_the_turns_beside_it():
    w = NEIGHBOUR_WEIGHT
    assert smoothed(floats(1, 0, 0, 2)) == pytest.approx([1, w, 2 * w, 2])
    assert smoothed(floats(1)) == pytest.approx([1])


@given(SCORES)
def test_smoothing_does_not_know_left_from_right(scores):
    assert smoothed(scores[::-1])[::-1] == pytest.approx(smoothed(scores), abs=1e-5)


@given(SCORES)
def test_the_ranking_is_an_order_of_all_places_best_first_and_newest_first_among_equals(scores):
    rows = np.arange(len(scores))
    order = ranking(rows, scores, None)
    assert sorted(order) == list(rows)
    assert list(order) == sorted(rows, key=lambda row: (-scores[row], -row))


@given(SCORES, st.data())
def test_what_is_not_allowed_is_left_out_and_the_others_keep_their_order(scores, data):
    rows = np.arange(len(scores))
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=np.bool_)
    assert list(ranking(rows, scores, allowed)) == [row for row in ranking(rows, scores, None) if allowed[row]]


@given(st.floats(-1.5, 2.5), st.floats(-1.5, 2.5))
def test_a_better_score_is_reported_as_a_better_score_between_nought_and_one(one, other):
    assert 0 < reported(one) < 1
    if one + 1e-6 < other:
        assert reported(one) < reported(other)


def test_the_reported_middle_is_where_relevant_begins():
    assert reported(0.5) == pytest.approx(0.5)
