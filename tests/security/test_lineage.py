"""What is deleted may live on in reflections: which, is said before and after, and all of it can be made to go."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from archivist.app import App
from archivist.domain.access import ALL_SCOPES, Principal
from archivist.domain.memories import Memory
from archivist.services.deletion import DELETE_SELECTED
from tests.builders import an_id
from tests.e2e.leftovers import traces
from tests.faces.mcp.conversations import Person
from tests.reflecting import kept

pytestmark = pytest.mark.anyio

SECRET = "quixotic marmalade lighthouse"


@pytest.fixture
async def owner(app: App) -> Principal:
    return replace(await app.local(), scopes=ALL_SCOPES)


@pytest.fixture
async def told(app: App, owner: Principal) -> list[Memory]:
    """A raw memory, a reflection on it and one on that, all of which quote the secret; and a raw memory beside them."""
    raw = await kept(app, owner, 1, f"It was said: {SECRET}, in confidence.")
    beside = await kept(app, owner, 2, "The boathouse is green.")
    event = await kept(app, owner, 11, f"Once somebody said {SECRET}.", tier=2, importance=5, sources=[raw, beside])
    top = await kept(app, owner, 21, f"Always mind the {SECRET}.", tier=3, importance=9, sources=[event])
    return [raw, beside, event, top]


async def everywhere(app: App, me: Person, owner: Principal) -> list[str]:
    """The ids of what holds the secret, by every way to look something up."""
    rows = (await me.structured("search_memories", query=SECRET))["results"]
    rows += (await me.structured("date_search_memories", **{"from": "2020-01-01"}))["results"]
    rows += [{"id": memory.id, "text": memory.text} for memory in await app.memories.recent(owner, 99)]
    rows += [json.loads(line) async for line in app.transfer.export(owner)]
    return sorted({row["id"] for row in rows if SECRET in row["text"]})


async def test_sec_190_plain_deletion_says_which_reflections_stay_and_leaves_a_stub_of_the_link(
    app, me, owner, told, tmp_path
):
    before = await me.structured("inspect_memory", memory_id=an_id(1))
    assert [one["id"] for one in before["consolidated_into"]] == [an_id(11)]
    done = await me.structured("delete_memories", memory_ids=[an_id(1)], confirmation=DELETE_SELECTED)
    assert (done["deleted_ids"], done["reflections_kept"]) == ([an_id(1)], [an_id(11), an_id(21)])
    assert await everywhere(app, me, owner) == [an_id(11), an_id(21)]
    after = await me.structured("inspect_memory", memory_id=an_id(11))
    assert (after["sources_total"], after["sources_deleted"]) == (2, 1)
    assert [source["id"] for source in after["sources"]] == [an_id(2)]
    assert traces(tmp_path / "data", [b"It was said: quixotic"]) == []


async def test_sec_190_with_everything_derived_nothing_quotes_it_any_more(app, me, owner, told, tmp_path):
    data: Path = tmp_path / "data"
    assert traces(data, [SECRET.encode()]) != []
    shown = await app.derived.preview(owner, [an_id(1)])
    assert {one.id for one in (*shown.named, *shown.reflections)} == {an_id(n) for n in (1, 11, 21)}
    done = await app.derived.delete(owner, shown.handle, DELETE_SELECTED)
    assert (set(done.deleted), done.reflections_kept, done.state) == ({an_id(n) for n in (1, 11, 21)}, [], "erased")
    assert await everywhere(app, me, owner) == []
    for number in (1, 11, 21):
        assert (await me.error("inspect_memory", memory_id=an_id(number)))["code"] == "not_found"
    assert await me.total() == 1
    assert traces(data, [SECRET.encode()]) == []


async def test_sec_190_the_trail_of_everything_that_went_holds_ids_and_no_text(app, owner, told):
    shown = await app.derived.preview(owner, [an_id(1)])
    await app.derived.delete(owner, shown.handle, DELETE_SELECTED)
    entries = (await app.trail.of_vault(owner, owner.vault)).entries
    assert {entry.target for entry in entries if entry.action == "delete_memories"} == {an_id(n) for n in (1, 11, 21)}
    assert SECRET not in repr(entries)
