"""The memory of recent queries is bounded and forgets the least used."""

import numpy as np
import pytest

from archivist.embedders.recent import RecentQueries


def vector(number: int) -> np.ndarray:
    return np.full(3, number, np.float32)


def test_the_query_not_used_for_longest_is_forgotten():
    recent = RecentQueries(capacity=2)
    recent.put("a", vector(1))
    recent.put("b", vector(2))
    assert recent.get("a") is not None
    recent.put("c", vector(3))
    assert recent.get("b") is None
    assert recent.get("a") is not None
    assert recent.get("c") is not None


def test_a_kept_vector_cannot_be_changed_by_who_gets_it():
    recent = RecentQueries()
    recent.put("a", vector(1))
    with pytest.raises(ValueError, match="read-only"):
        recent.get("a")[0] = 5


def test_the_words_of_a_query_are_not_kept():
    recent = RecentQueries()
    recent.put("my secret question", vector(1))
    assert "secret" not in repr(vars(recent))
