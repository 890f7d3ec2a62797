"""What text may hold, over MCP."""

import pytest

pytestmark = pytest.mark.anyio

FORBIDDEN = ["\x00", "\x07", "\x1b[31m", "\x7f", "\ud800", "\udfff", "\udc00\ud800"]
FIELDS = [
    ("store_memory", "content", lambda text: {"content": text}),
    ("store_memory", "tags", lambda text: {"content": "x", "tags": ["fine", text]}),
    ("store_memory", "source_context", lambda text: {"content": "x", "source_context": text}),
]


@pytest.mark.parametrize("forbidden", FORBIDDEN, ids=ascii)
@pytest.mark.parametrize(("tool", "field", "arguments"), FIELDS, ids=["content", "tags", "source_context"])
async def test_sec_149_broken_or_control_characters_are_refused_and_nothing_is_stored(
    me, tool, field, arguments, forbidden
):
    refused = await me.error(tool, **arguments(f"before{forbidden}after"))
    assert (refused["code"], refused["field"]) == ("invalid_argument", field)
    assert await me.total() == 0


@pytest.mark.parametrize("text", ["tab\tand\nline\r\nends", "🧠 \U0010ffff", "e\u0301 \u00e9", "\u200d\u202e\ufeff"])
async def test_sec_149_every_other_character_is_kept_as_it_came(me, text):
    await me.store(f"word {text} end")
    page = await me.structured("date_search_memories", **{"from": "2026-01-01", "to": "2027-01-01"})
    assert [row["text"] for row in page["results"]] == [f"word {text} end"]


@pytest.mark.parametrize(("text", "fits"), [("é" * 32_768, True), ("é" * 32_768 + "x", False), ("x" * 65_536, True)])
async def test_sec_149_the_length_of_a_text_counts_bytes(me, text, fits):
    result = await me.call("store_memory", content=text)
    assert result.get("isError", False) is not fits
