"""Windows leave nothing out, overlap, and are as few and as even as they can be."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.embedders.windows import (
    QUERY_STRETCH,
    QUERY_WINDOWS,
    STRETCH_BYTES,
    both_ends,
    ends,
    spans,
    stretches,
)

SIZES = st.integers(2, 60).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


@given(st.integers(0, 2_000), SIZES)
def test_windows_cover_everything_in_order_and_overlap(length, measures):
    size, overlap = measures
    found = spans(length, size, overlap)
    assert found[0].start == 0
    assert found[-1].stop == length
    for one, following in pairwise(found):
        assert one.start < following.start <= one.stop - overlap
    assert all(window.stop - window.start <= size for window in found)


@given(st.integers(0, 2_000), SIZES)
def test_no_fewer_windows_would_do(length, measures):
    size, overlap = measures
    count = len(spans(length, size, overlap))
    assert count == 1 or (count - 1) * (size - overlap) + overlap < length


def test_what_fits_is_one_window_even_if_it_is_empty():
    assert spans(0, 10, 2) == [slice(0, 0)]
    assert spans(10, 10, 2) == [slice(0, 10)]


@pytest.mark.parametrize(("letter", "bytes_each"), [("a", 1), ("ж", 2), ("猫", 3), ("😀", 4)])
def test_stretches_are_measured_in_bytes_for_every_script(letter, bytes_each):
    windows = stretches(letter * 10_000)
    assert all(len(window) * bytes_each <= STRETCH_BYTES for window in windows)
    assert len(windows) <= 10_000 * bytes_each / (STRETCH_BYTES * 0.85) + 1


@given(st.text(max_size=5_000))
def test_stretches_leave_no_character_out(text):
    windows = stretches(text)
    assert text.startswith(windows[0])
    assert text.endswith(windows[-1])
    assert sum(map(len, windows)) >= len(text)


def test_of_a_long_query_only_the_ends_are_looked_at():
    head, tail = "h" * QUERY_STRETCH, "t" * QUERY_STRETCH
    assert ends(head + tail) == [head + tail]
    assert ends(head + "m" * 90_000 + tail) == [head, tail]


def test_a_query_has_a_bounded_number_of_windows():
    windows = both_ends("first " + "word " * 20_000 + "last")
    assert len(windows) == QUERY_WINDOWS
    assert windows[0].startswith("first")
    assert windows[-1].endswith("last")
    assert both_ends("short") == ["short"]
