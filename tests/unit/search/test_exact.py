"""The vector matrix against arithmetic in floats: the same neighbours, with filters, through growth and removal."""

import numpy as np
import pytest

from archivist.search.vector import exact
from archivist.search.vector.exact import SHRINKAGE, Matrix
from archivist.search.vector.quantised import quantised, restore

WIDTH = 384


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def cloud(n: int, seed: int = 1):
    """Unit vectors in clusters with a large common part, as embedders make them."""
    dice = np.random.default_rng(seed)
    centres = dice.normal(size=(max(1, n // 20), WIDTH))
    chosen = centres[dice.integers(0, len(centres), n)]
    return unit(chosen + 0.7 * dice.normal(size=(n, WIDTH)) + 3 * np.ones(WIDTH))


def a_matrix(vectors, owners=None) -> Matrix:
    matrix = Matrix(WIDTH)
    matrix.append(np.arange(len(vectors)) if owners is None else np.asarray(owners), *quantised(vectors))
    matrix.recentre()
    return matrix


def centred_cosines(query, vectors):
    """What the scores should be, from the definition."""
    centre = vectors.sum(axis=0) / (len(vectors) + SHRINKAGE)
    return unit(vectors - centre) @ unit(query - centre)


def recall(matrix: Matrix, vectors, queries, allowed=None) -> float:
    hits = []
    for query in queries:
        scores = centred_cosines(query, vectors)
        truth = np.argsort(-(scores if allowed is None else np.where(allowed, scores, -np.inf)))[:10]
        hits.append(np.isin(truth, matrix.nearest(query, 10, allowed)[0]).mean())
    return float(np.mean(hits))


@pytest.mark.parametrize("share", [None, 0.5, 0.01])
@pytest.mark.parametrize("sifted", [False, True])
def test_the_nearest_ten_are_those_of_float_arithmetic(monkeypatch, share, sifted):
    monkeypatch.setattr(exact, "SIFT_FROM", 1_000 if sifted else 10**9)
    monkeypatch.setattr(exact, "SIFTED_LEAST", 1_500)
    vectors = cloud(3_000)
    allowed = None if share is None else np.random.default_rng(2).random(len(vectors)) < share
    assert recall(a_matrix(vectors), vectors, cloud(60, seed=3), allowed) >= 0.96


def test_what_is_not_allowed_never_comes_back_and_the_rest_is_not_short():
    matrix = a_matrix(cloud(300))
    allowed = np.zeros(300, dtype=np.bool_)
    allowed[::30] = True
    owners, _ = matrix.nearest(cloud(1, seed=4)[0], 100, allowed)
    assert sorted(owners) == list(range(0, 300, 30))


def test_scores_are_centred_cosines_best_first():
    vectors, query = cloud(500), cloud(1, seed=5)[0]
    owners, cosines = a_matrix(vectors).nearest(query, 20)
    assert np.all(np.diff(cosines) <= 0)
    assert cosines == pytest.approx(centred_cosines(query, vectors)[owners], abs=0.02)


def test_the_best_window_of_a_memory_counts():
    vectors = cloud(6)
    matrix = a_matrix(vectors, [0, 0, 0, 1, 2, 2])
    for window, owner in enumerate([0, 0, 0, 1, 2, 2]):
        owners, cosines = matrix.nearest(vectors[window], 3)
        assert owners[0] == owner
        assert sorted(owners) == [0, 1, 2]
        assert cosines[0] == pytest.approx(1, abs=0.02)


def test_memories_of_many_windows_do_not_crowd_out_the_others():
    vectors = np.concatenate([np.repeat(cloud(1), 400, axis=0), cloud(40, seed=6)])
    matrix = a_matrix(vectors, [0] * 400 + list(range(1, 41)))
    assert len(set(matrix.nearest(vectors[0], 10)[0])) == 10


def test_chosen_memories_get_the_cosine_that_a_search_gives_them():
    vectors, query = cloud(200), cloud(1, seed=7)[0]
    matrix = a_matrix(vectors, np.repeat(np.arange(100), 2))
    owners, cosines = matrix.nearest(query, 100)
    assert matrix.cosines(query, owners) == pytest.approx(cosines, abs=1e-6)


def test_a_memory_without_vectors_has_no_cosine():
    matrix = a_matrix(cloud(2), [0, 5])
    assert matrix.cosines(cloud(1)[0], np.array([3, 9])) == pytest.approx([np.nan, np.nan], nan_ok=True)


def test_equal_vectors_come_newest_first():
    matrix = a_matrix(np.repeat(cloud(1), 5, axis=0))
    assert list(matrix.nearest(cloud(1)[0], 5)[0]) == [4, 3, 2, 1, 0]


def test_a_removed_memory_is_not_found_and_leaves_no_numbers():
    vectors = cloud(50)
    matrix = a_matrix(vectors)
    matrix.remove(np.array([7, 9]))
    owners, _ = matrix.nearest(vectors[7], 50)
    assert len(matrix) == 48
    assert len(owners) == 48
    assert not {7, 9} & set(owners)
    assert not matrix._data.values[[7, 9]].any()


def test_a_matrix_is_the_same_whether_grown_at_once_or_bit_by_bit_with_removals_between():
    vectors, query = cloud(400), cloud(1, seed=8)[0]
    grown = Matrix(WIDTH)
    for start in range(0, 400, 7):
        owners = np.arange(start, min(start + 7, 400))
        grown.append(owners, *quantised(vectors[owners]))
        grown.recentre()
    grown.remove(np.arange(0, 400, 2))
    grown.keep(np.arange(400) % 2 == 1)
    grown.recentre()
    fresh = a_matrix(vectors[1::2])
    assert len(grown) == len(fresh) == 200
    assert list(grown.nearest(query, 10)[0]) == list(fresh.nearest(query, 10)[0])
    assert grown.nearest(query, 10)[1] == pytest.approx(fresh.nearest(query, 10)[1], abs=1e-3)


def test_vectors_added_after_the_centre_was_set_are_sifted_too(monkeypatch):
    monkeypatch.setattr(exact, "SIFT_FROM", 1_000)
    matrix = a_matrix(cloud(2_000))
    late = cloud(50, seed=9)
    matrix.append(np.arange(2_000, 2_050), *quantised(late))
    matrix.recentre()
    assert [matrix.nearest(vector, 1)[0][0] for vector in late] == list(range(2_000, 2_050))


def test_an_empty_matrix_finds_nothing():
    matrix = Matrix(WIDTH)
    matrix.recentre()
    assert len(matrix.nearest(cloud(1)[0], 5)[0]) == 0
    assert matrix.cosines(cloud(1)[0], np.array([0])) == pytest.approx([np.nan], nan_ok=True)


def test_memory_grows_by_what_a_vector_needs():
    small, large = a_matrix(cloud(1_000)), a_matrix(cloud(2_000))
    assert large.nbytes - small.nbytes == 1_000 * (WIDTH + 4 + 4 + 4 + 1 + 8)


def test_quantised_vectors_are_near_and_nought_stays_nought():
    vectors = np.concatenate([cloud(100), np.zeros((1, WIDTH), dtype=np.float32)])
    scales, data = quantised(vectors)
    assert data.dtype == np.int8
    assert np.abs(restore(scales, data) - vectors).max() <= scales.max() / 2 + 1e-7
    assert scales[-1] == 0
    assert quantised(vectors[:0])[0].shape == (0,)
