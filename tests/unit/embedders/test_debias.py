"""The matrix that takes language out of vectors: what it does, and that it is the one the sentences make."""

import hashlib

import numpy as np

from archivist.embedders import debias
from archivist.embedders.builtin import SPACE
from archivist.embedders.debias import load, unit
from tools.debias import made, sentences

DIGESTS = {"debias-1": "01630f5fc899f8dd215216fbc06f01cf7d501ef66b3b845cae0e42ec234da9dd"}


def test_the_committed_matrix_is_what_its_command_makes(models):
    kept, again = load(), made(models)
    np.testing.assert_allclose(kept.mean, again.mean, atol=2e-3)
    np.testing.assert_allclose(kept.directions @ kept.directions.T, again.directions @ again.directions.T, atol=0.02)


def test_another_matrix_has_another_version_and_so_another_space():
    matrix = load()
    digest = hashlib.sha256(matrix.mean.tobytes() + matrix.directions.tobytes()).hexdigest()
    assert {debias.VERSION: digest} == DIGESTS
    assert SPACE.endswith(debias.VERSION)


def test_the_directions_are_orthonormal_and_float32():
    matrix = load()
    assert matrix.directions.shape == (384, 8)
    assert matrix.mean.dtype == matrix.directions.dtype == np.float32
    np.testing.assert_allclose(matrix.directions.T @ matrix.directions, np.eye(8), atol=1e-5)


def test_what_lies_along_the_directions_does_not_show_any_more():
    matrix = load()
    vectors = np.random.default_rng(7).normal(size=(5, 384)).astype(np.float32)
    shifted = vectors + np.random.default_rng(8).normal(size=(5, 8)).astype(np.float32) @ matrix.directions.T
    np.testing.assert_allclose(matrix.apply(vectors), matrix.apply(shifted), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(matrix.apply(vectors), axis=1), 1, atol=1e-6)


def test_unit_keeps_directions():
    np.testing.assert_allclose(unit(np.array([[3.0, 4.0]])), [[0.6, 0.8]])
    np.testing.assert_allclose(unit(np.array([0.0, 2.0])), [0, 1])


def test_the_sentences_are_enough_in_every_language_and_complete():
    columns = sentences()
    assert len(columns) >= 12
    assert {len(texts) for texts in columns.values()} == {len(columns["en"])}
    assert len(columns["en"]) >= 110
    for texts in columns.values():
        assert len(set(texts)) == len(texts)
        assert all(text == text.strip() and text for text in texts)
