"""What a memory may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain import memories
from archivist.domain.errors import InvalidArgument
from tests.builders import MINE, NOON, SECRET, a_memory, an_id


def stored(text: str, **more: object) -> memories.Memory:
    return memories.new_memory(an_id(1), MINE, SECRET, NOON, text=text, **more)  # type: ignore[arg-type] — the keys are the parameters


@pytest.mark.parametrize(
    "text", ["", " \n\t ", "a\ud83d", "a\x00b", "bell\x07", "\x1b[31mred", "c1\x9b", "x" * 65_537, "é" * 32_769]
)
def test_text_that_no_memory_may_hold_is_refused_with_field_and_rule_but_not_echoed(text):
    with pytest.raises(InvalidArgument, match=r"^content: must be ") as refused:
        stored(text)
    assert refused.value.field == "content"
    assert "red" not in refused.value.detail


@pytest.mark.parametrize(
    "text",
    [
        "x\u2028y",
        "nel\x85line",
        "tab\tand\r\nline",
        "👩‍👩‍👧‍👦",
        "שלום עולם",
        "é",
        "e\u0301",
        "𝕏" * 10,
        "x" * 65_536,
        "{{x}} <memory>",
    ],
)
def test_text_is_kept_as_it_is_written(text):
    assert stored(text).text == text


def test_white_space_around_a_text_does_not_count():
    assert stored("  fact \n").text == "fact"


def test_a_title_is_the_first_line_cut_at_eighty_characters():
    assert memories.title_of("  First line \nsecond") == "First line"
    assert memories.title_of("x" * 200) == "x" * 80


def test_equal_texts_have_equal_digests_only_under_one_key():
    assert memories.digest_of(SECRET, "a") == memories.digest_of(SECRET, "a")
    assert memories.digest_of(SECRET, "a") != memories.digest_of(b"t" * 32, "a")


@given(st.text(min_size=1))
def test_a_text_costs_at_least_one_token_and_no_more_than_its_bytes(text):
    if text.isprintable():
        assert 1 <= memories.count_tokens(text) <= len(text.encode())


@pytest.mark.parametrize("tags", [["a"] * 51, [""], [" "], ["x" * 101], ["a\x00"]])
def test_tags_outside_their_limits_are_refused(tags):
    with pytest.raises(InvalidArgument, match=r"^tags: "):
        stored("fact", tags=tags if len(tags) < 51 else [str(n) for n in range(51)])


def test_tags_lose_blanks_and_repeats_and_keep_their_order():
    assert stored("fact", tags=["b", " a ", "b"]).tags == ("b", "a")


def test_a_title_of_its_own_and_tags_can_be_found_too():
    assert (
        memories.findable_text(a_memory(title="Ports", tags=("infra",)))
        == "Ports\nThe API listens on port 8787.\ninfra"
    )
    assert memories.findable_text(a_memory()) == "The API listens on port 8787."
