"""Export and import."""

import json

import pytest

from archivist.domain.errors import InvalidArgument
from archivist.storage.schema import memories
from archivist.transfer.jsonl import LONGEST
from tests.builders import an_id

pytestmark = pytest.mark.anyio

TEXTS = [
    "plain",
    "line\u2028separator",
    "nel\u0085",
    "tab\tand\nnewline",
    "安娜对花生过敏",
    "é",
    "e\u0301",
    "👩‍👩‍👧‍👦",
    '{"a": "}\\n"}',
    "x" * 65_536,
]


async def exported(app, who):
    return [line async for line in app.transfer.export(who)]


async def test_what_was_exported_and_imported_exports_to_the_same_bytes(app, me, other, clock):
    for text in TEXTS:
        await app.memories.store(me, text=text, tags=["a", "b,c"], source_context="chat")
        clock.move(microseconds=1)
    lines = await exported(app, me)
    assert len(lines) == len(TEXTS)
    done = await app.transfer.load(other, lines)
    assert done.stored == len(TEXTS)
    assert await exported(app, other) == lines


async def test_importing_twice_doubles_nothing(app, me, other):
    for number in range(250):
        await app.memories.store(me, text=f"fact {number}")
    lines = await exported(app, me)
    await app.transfer.load(other, lines)
    again = await app.transfer.load(other, lines)
    assert (again.stored, again.already) == (0, 250)
    assert await exported(app, other) == lines


async def test_imported_memories_are_found_at_once_and_get_their_vectors(app, me, other):
    await app.memories.store(me, text="the imported narwhal")
    await app.transfer.load(other, await exported(app, me))
    assert (await app.search.search(other, query="narwhal")).rows[0].memory.text == "the imported narwhal"
    assert (await app.status.of(other)).pending == 1
    await app.embedding.catch_up(other.vault)
    assert (await app.status.of(other)).pending == 0


async def a_line(app, me, **changes):
    await app.memories.store(me, text="original")
    [line] = await exported(app, me)
    return json.dumps({**json.loads(line), "id": an_id(5), "text": "changed", **changes}).encode()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"tier": 4}, "line 1, tier"),
        ({"text": ""}, "line 1, text"),
        ({"text": "a\u0000b"}, "line 1, text"),
        ({"importance": 11}, "line 1, importance"),
        ({"id": "x"}, "line 1, id"),
        ({"vault": "other"}, "line 1, vault"),
        ({"created": "yesterday"}, "line 1, created"),
        ({"tags": ["x"] * 3 + [str(n) for n in range(60)]}, "line 1, tags"),
        ({"version": True}, "line 1, version"),
        ({"archivist": 2}, "line 1, archivist"),
        ({"created": "9999-12-31T23:59:59-14:00"}, "line 1, created"),
        ({"event": "0001-01-01T00:00:00+14:00"}, "line 1, event"),
        ({"language": "x" * 17}, "line 1, language"),
        ({"project": "x" * 401}, "line 1, project"),
        ({"batch": "x" * 37}, "line 1, batch"),
        ({"sources": [{"id": an_id(9), "version": 1, "batch": "x" * 37}]}, "line 1, sources"),
    ],
)
async def test_a_wrong_line_is_named_with_its_field_and_not_echoed(app, me, other, changes, named):
    line = await a_line(app, me, **changes)
    with pytest.raises(InvalidArgument) as refused:
        await app.transfer.load(other, [line])
    assert refused.value.detail.startswith(named)
    assert "changed" not in refused.value.detail
    assert await exported(app, other) == []


@pytest.mark.parametrize("line", [b"{", b"[]", b"\xff\xfe", b'{"id":1,"id":2}', b"null", b"[" * 100_000])
async def test_what_is_no_line_of_ours_is_refused(app, me, line):
    with pytest.raises(InvalidArgument, match="line 1"):
        await app.transfer.load(me, [line])


async def test_an_archived_memory_is_neither_found_nor_among_the_latest(app, me, other):
    await app.transfer.load(other, [await a_line(app, me, text="quokka", archived=True)])
    status = await app.status.of(other)
    assert (status.memories, status.archived) == (0, 1)
    assert await app.memories.recent(other, 9) == []
    assert (await app.search.search(other, query="quokka")).rows == []
    assert (await app.search.by_date(other, start="2026-01-01", end="2027-01-01")).rows == []


async def test_empty_lines_are_passed_over(app, me, other):
    await app.memories.store(me, text="one")
    assert (await app.transfer.load(other, [b"\n", *await exported(app, me), b"  \n"])).stored == 1


def test_no_line_that_is_let_in_is_longer_than_its_column():
    columns = {name: getattr(memories.c[name].type, "length", None) for name in LONGEST}
    assert {name for name, length in columns.items() if length is not None and length < LONGEST[name]} == set()
    assert len([length for length in columns.values() if length is not None]) > 5
