"""The search for traces itself: it finds a part wherever it lies, and nothing else."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.e2e.leftovers import SLICE, traces

ERASED = [bytes(range(100, 140)), b"some words that were deleted", bytes(range(200, 240))]


@given(which=st.integers(0, 2), cut=st.integers(0, 12), offset=st.integers(0, 40))
def test_a_part_of_sixteen_bytes_is_found_wherever_it_lies(tmp_path_factory, which, cut, offset):
    folder: Path = tmp_path_factory.mktemp("traces")
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_bytes(bytes(offset) + ERASED[which][cut : cut + SLICE] + bytes(30))
    [found] = set(traces(folder, ERASED))
    assert found.startswith(f"deep/file at {offset}: ")


@pytest.mark.parametrize(
    "content", [b"", bytes(1000), ERASED[0][:15] + b"!" + ERASED[0][17:32], ERASED[0][-12:] + ERASED[1][:12]]
)
def test_what_is_shorter_or_pieced_together_is_no_trace(tmp_path: Path, content: bytes):
    (tmp_path / "file").write_bytes(content)
    assert traces(tmp_path, ERASED) == []


def test_the_model_is_not_looked_through(tmp_path: Path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "file").write_bytes(ERASED[0])
    assert traces(tmp_path, ERASED) == []
