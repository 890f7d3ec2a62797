"""The recipes that the descriptions teach: each finds the right rows among three tiers, and neglecting it does not."""

from datetime import timedelta

import pytest

from archivist.app import OWNER, assemble
from archivist.domain.access import ALL_SCOPES, Principal
from archivist.domain.memories import Memory
from archivist.settings import Settings
from archivist.storage import lineage, memories
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import NOON, Clock, a_memory
from tests.services.planting import plant

pytestmark = pytest.mark.anyio
SEED = "The root password hint is the name of Ana's first bicycle, written on the red card in the second drawer."
TRACED = "The storm took the slipway tonight; we carry the tools to the old cannery at once."


def days_ago(days):
    return NOON - timedelta(days=days)


TOP = [
    ("Boat workshop: the user and Ana founded a workshop that restores wooden boats, the main work of 2026.", 9, 20),
    ("Health: the user stopped smoking for good and runs every morning; this shapes every plan they make.", 8, 200),
    ("Boat workshop, habits: the crew likes tea at four and works to the radio.", 4, 25),
]
EVENTS = [
    (
        "On 2026-11-02 the workshop lost its slipway in a storm and moved to the old cannery, which saved the season.",
        8,
        28,
    ),
    ("On 2026-11-20 the customs office accepted the papers for the heron, so the restored boat could sail.", 6, 10),
    ("On 2026-05-10 the user ran a first half marathon in Porto, after a winter of training.", 7, 204),
]
RAW = [
    *[(f"Note {n} on the boat workshop: bought {n} tins of varnish and paid in cash.", 30 - n) for n in range(20)],
    (SEED, 29),
    ("Decision: the workshop invoices go out on the 3rd, in euros, with reference WK-7 and fourteen days to pay.", 15),
    (TRACED, 28),
]


def written(number: int, text: str, days: int, tier: int, importance: int | None = None) -> Memory:
    """A memory of that many days ago."""
    at = days_ago(days)
    return a_memory(number, text=text, event=at, created=at, updated=at, tier=tier, importance=importance)


@pytest.fixture
async def app(tmp_path, builtin):
    """The services on the real model; the model outlives them."""
    clock = Clock()
    app = assemble(SqliteStores(tmp_path / "data", now=clock), builtin, clock, Settings(data=tmp_path / "data"))
    await app.stores.control()
    yield app
    await app.stores.close()


@pytest.fixture
async def me(app):
    """In a vault whose top reflections rest on events, and those on raw notes."""
    vault = await app.vaults.create(OWNER, "recipes", "project")
    who = Principal(OWNER.user, vault.id, ALL_SCOPES, "key", "0193b000-0000-7000-8000-0000000000fc")
    raw = [written(100 + n, text, days, 1) for n, (text, days) in enumerate(RAW)]
    events = [written(200 + n, text, days, 2, bar) for n, (text, bar, days) in enumerate(EVENTS)]
    top = [written(300 + n, text, days, 3, bar) for n, (text, bar, days) in enumerate(TOP)]
    below = {events[0].id: [raw[-1].id, raw[20].id], events[1].id: [raw[0].id], top[0].id: [events[0].id, events[1].id]}
    await plant(app, who, [*raw, *events, *top], sources=below, meaning=True)
    return who


async def found(app, who, query, **more):
    return [row.memory.text for row in (await app.search.search(who, query=query, **more)).rows]


async def in_window(app, who, **more):
    page = await app.search.by_date(who, start="2026-11-01", end="2026-11-30", **more)
    return [row.memory.text for row in page.rows]


def of(rows, *numbers):
    return {rows[number][0] for number in numbers}


async def test_the_most_important_things_are_top_reflections_over_a_bar_with_a_large_limit(app, me):
    query = "the most important things we did"
    assert {*await found(app, me, query, tiers=[3], importance=8, limit=250)} == of(TOP, 0, 1)
    assert not of(TOP, 0, 1) <= {*(await found(app, me, query))[:2]}, "unfiltered, notes and events stand between"
    assert {*await found(app, me, query, limit=250)} & of(RAW, 0, 1, 2)


async def test_the_most_important_things_of_a_time_take_the_same_filters_to_the_window(app, me):
    assert {*await in_window(app, me, tiers=[3], importance=8)} == of(TOP, 0)
    assert len(await in_window(app, me)) > 20, "unfiltered, the window is mostly notes"
    assert of(TOP, 1) <= {*await found(app, me, "what mattered in November", tiers=[3], importance=8)}, "no window"


async def test_an_overview_of_an_area_asks_for_top_reflections_without_a_bar(app, me):
    query = "an overview of the boat workshop"
    assert {*(await found(app, me, query, tiers=[3]))[:2]} == of(TOP, 0, 2)
    assert of(TOP, 2).isdisjoint(await found(app, me, query, tiers=[3], importance=8)), "a bar hides the context"
    assert {*await in_window(app, me, tiers=[3])} == of(TOP, 0, 2)


async def test_a_specific_decision_is_asked_for_without_tiers_and_without_a_bar(app, me):
    query = "When do the workshop invoices go out, and with which reference?"
    assert (await found(app, me, query))[0] == RAW[21][0]
    assert RAW[21][0] not in await found(app, me, query, importance=1)
    assert RAW[21][0] not in await found(app, me, query, tiers=[2, 3])


async def test_meaningful_events_without_noise_are_tier_2_or_2_and_3(app, me):
    query = "what happened at the boat workshop"
    assert {*(await found(app, me, query, tiers=[2]))} == of(EVENTS, 0, 1, 2)
    both = await found(app, me, query, tiers=[2, 3])
    assert of(EVENTS, 0, 1) < {*both}
    assert len(both) == len(EVENTS) + len(TOP)
    noisy = await found(app, me, query)
    assert len({*noisy} & {text for text, _ in RAW}) > len(noisy) / 2


async def test_exact_wording_is_asked_for_among_raw_memories_when_it_is_known(app, me):
    query = "root password hint first bicycle"
    assert (await found(app, me, query, tiers=[1]))[0] == SEED
    assert SEED not in await found(app, me, query, tiers=[2, 3])


async def test_exact_wording_that_is_not_known_is_traced_from_the_top_by_what_rests_on_what(app, me):
    query = "How did the founding of the workshop with Ana go on?"
    assert TRACED not in await found(app, me, query, limit=5), "too far from the question to be found directly"
    top = (await app.search.search(me, query=query, tiers=[3])).rows[0].memory
    db = await app.stores.vault(me.vault)
    events = [link.child for link in (await lineage.sources(db, me.vault, [top.id]))[top.id]]
    below = await lineage.sources(db, me.vault, events)
    raw = await memories.find_many(db, me.vault, [link.child for event in events for link in below[event]])
    assert TRACED in [memory.text for memory in raw.values()]


async def test_exact_wording_is_traced_by_inspecting_from_the_top_down_to_raw(app, me):
    query = "How did the founding of the workshop with Ana go on?"
    top = (await app.search.search(me, query=query, tiers=[3])).rows[0].memory
    events = [source.row.memory for source in (await app.lineage.inspect(me, top.id)).sources]
    raw = [source.row.memory for event in events for source in (await app.lineage.inspect(me, event.id)).sources]
    assert ({event.tier for event in events}, {memory.tier for memory in raw}) == ({2}, {1})
    assert TRACED in [memory.text for memory in raw]


async def test_the_bar_is_tuned_for_a_high_one_leaves_almost_nothing_and_any_leaves_no_raw_memory(app, me):
    query = "the boat workshop"
    counts = [len(await found(app, me, query, importance=bar, limit=250)) for bar in (1, 6, 8, 10)]
    assert counts == [6, 5, 3, 0]
    assert {*await found(app, me, query, importance=1, limit=250)} == of(TOP, 0, 1, 2) | of(EVENTS, 0, 1, 2)
