"""What a model may bring back of a batch, and from when on consolidating is offered."""

import pytest

from archivist.domain import reflections
from archivist.domain.errors import InvalidArgument
from archivist.domain.reflections import Glance
from tests.builders import MINE, NOON, SECRET, an_id

BATCH = {an_id(1), an_id(2)}


def entries(count: int = 5, **changes: object) -> list[dict[str, object]]:
    """Good ones, of which the third is changed."""
    made: list[dict[str, object]] = [
        {"text": f"Entry {number}.", "importance": number % 10 + 1} for number in range(count)
    ]
    made[2] |= changes
    return made


@pytest.mark.parametrize("count", [5, 10])
def test_five_to_ten_entries_are_taken(count):
    checked = reflections.checked_entries(entries(count), BATCH)
    assert [(one.text, one.importance, one.sources) for one in checked] == [
        (f"Entry {number}.", number % 10 + 1, ()) for number in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, 4, 11, 100])
def test_fewer_and_more_are_refused(count):
    with pytest.raises(InvalidArgument, match=r"entries: must be 5\.\.10 entries.*batch stays yours"):
        reflections.checked_entries([{"text": "x", "importance": 1}] * count, BATCH)


def test_content_stands_for_text_and_the_text_is_trimmed():
    written = [{"content": " a \n", "importance": 1} for _ in range(5)]
    assert {one.text for one in reflections.checked_entries(written, BATCH)} == {"a"}


def test_sources_are_kept_in_order_without_repeats_and_none_means_all():
    given = [an_id(2), an_id(1), an_id(2)]
    assert reflections.checked_entries(entries(source_ids=given), BATCH)[2].sources == (an_id(2), an_id(1))
    for nothing in (None, []):
        assert reflections.checked_entries(entries(source_ids=nothing), BATCH)[2].sources == ()


BAD = [
    ({"importance": 0}, "entries[2].importance"),
    ({"importance": 11}, "entries[2].importance"),
    ({"importance": 7.5}, "entries[2].importance"),
    ({"importance": 7.0}, "entries[2].importance"),
    ({"importance": True}, "entries[2].importance"),
    ({"importance": "7"}, "entries[2].importance"),
    ({"importance": None}, "entries[2].importance"),
    ({"text": ""}, "entries[2].text"),
    ({"text": " \n "}, "entries[2].text"),
    ({"text": "a\x00b"}, "entries[2].text"),
    ({"text": "é" * 32_769}, "entries[2].text"),
    ({"text": None}, "entries[2].text"),
    ({"text": ["x"]}, "entries[2].text"),
    ({"source_ids": [an_id(3)]}, "entries[2].source_ids"),
    ({"source_ids": [an_id(1), "x"]}, "entries[2].source_ids"),
    ({"source_ids": an_id(1)}, "entries[2].source_ids"),
    ({"source_ids": [{}]}, "entries[2].source_ids"),
    ({"content": "twice"}, "entries[2]"),
    ({"tier": 3}, "entries[2]"),
    ({"id": an_id(9)}, "entries[2]"),
]


@pytest.mark.parametrize(("change", "field"), BAD, ids=range(len(BAD)))
def test_a_bad_entry_is_named_with_what_to_do_next(change, field):
    with pytest.raises(InvalidArgument, match="Nothing was written and the batch stays yours") as refused:
        reflections.checked_entries(entries(**change), BATCH)
    assert refused.value.field == field


def test_a_reflection_is_a_memory_of_its_tier_that_is_no_repeat_of_another():
    entry = reflections.Reflection(text="Ana moved.\nTo Lisbon.", importance=7)
    made = reflections.reflection_memory(an_id(1), MINE, SECRET, NOON, entry=entry, tier=2, event=NOON)
    assert (made.tier, made.importance, made.title, made.batch, made.tags) == (2, 7, "Ana moved.", "", ())
    assert not made.unique_text


@pytest.mark.parametrize(
    ("items", "tokens", "waiting", "due"),
    [(0, 0, 0, False), (59, 7_999, 39, False), (60, 60, 0, True), (1, 8_000, 0, True), (0, 0, 40, True)],
)
def test_consolidating_is_offered_from_one_of_three_thresholds_on(items, tokens, waiting, due):
    seen = Glance(items=items, tokens=tokens, reflections=waiting, in_flight=0, committed=None)
    assert seen.due is due


@pytest.mark.parametrize("tier", [0, 3, 4])
def test_only_tiers_one_and_two_are_sources(tier):
    with pytest.raises(InvalidArgument, match="tier: must be 1 or 2"):
        reflections.checked_tier(tier)


@pytest.mark.parametrize("tokens", [0, 999, 60_001])
def test_the_size_of_a_batch_has_bounds(tokens):
    with pytest.raises(InvalidArgument, match=r"max_tokens: must be 1000\.\.60000"):
        reflections.checked_tokens(tokens)
