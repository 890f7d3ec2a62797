"""Lines out of chunks."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from archivist.mcp.lines import Lines


def collected(chunks: list[bytes], limit: int = 1000) -> list[bytes]:
    lines = Lines(limit)
    return [line for chunk in chunks for line in lines.feed(chunk)] + list(lines.end())


@given(st.binary(max_size=200), st.lists(st.integers(0, 200)))
def test_where_the_chunks_are_cut_does_not_matter(data, cuts):
    at = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[start:end] for start, end in pairwise(at)]
    assert collected(chunks) == [line for line in data.split(b"\n") if line.strip()]


def test_a_line_over_the_limit_comes_out_cut_just_behind_it():
    assert collected([b"x" * 5, b"x" * 100, b"\nok\n"], limit=10) == [b"x" * 11, b"ok"]


def test_of_an_endless_line_no_more_than_the_limit_is_held():
    lines = Lines(10)
    for _ in range(100):
        assert list(lines.feed(b"x" * 1000)) == []
    assert list(lines.end()) == [b"x" * 11]
