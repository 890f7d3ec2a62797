"""Read and apply, on every backend: what a batch promises."""

import asyncio
import re

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archivist.domain.errors import Conflict, InsufficientScope, NotFound, Unavailable
from archivist.domain.ids import CONTROL
from archivist.storage import changes, heads
from archivist.storage.database import Write
from archivist.storage.schema import pending, tags, vectors
from tests.builders import MINE, NOON

pytestmark = pytest.mark.anyio

ALL = sa.select(tags).where(tags.c.vault == MINE).order_by(tags.c.memory, tags.c.position)


def a_tag(memory="m", position=0, tag="t"):
    return Write(sa.insert(tags).values(vault=MINE, memory=memory, position=position, tag=tag))


def an_entry(id="m"):
    return changes.append(MINE, 1, kind="memory", id=id, version=1, op="put", at=NOON)


async def test_what_was_applied_is_read_back(db):
    assert await db.apply([a_tag()]) == [1]
    assert [dict(row) for row in await db.read(ALL)] == [{"vault": MINE, "memory": "m", "position": 0, "tag": "t"}]


async def test_a_batch_answers_with_the_rows_that_each_write_changed(db):
    rows = [{"vault": MINE, "memory": f"m{n}", "position": 0, "tag": "t"} for n in range(5)]
    everything = sa.delete(tags).where(tags.c.vault == MINE)
    assert await db.apply([Write(sa.insert(tags), rows=rows), Write(everything), Write(everything)]) == [5, 5, 0]


async def test_a_batch_with_a_taken_key_changes_nothing(db):
    await db.apply([a_tag()])
    with pytest.raises(Conflict):
        await db.apply([a_tag("other"), a_tag()])
    assert len(await db.read(ALL)) == 1


async def test_a_batch_whose_condition_does_not_hold_changes_nothing(db):
    missing = sa.update(tags).where(tags.c.vault == MINE, tags.c.memory == "missing").values(tag="x")
    with pytest.raises(Conflict):
        await db.apply([a_tag(), Write(missing, must_change=True), a_tag("later")])
    assert await db.read(ALL) == []


async def test_a_write_that_changes_nothing_is_fine_unless_it_must(db):
    missing = sa.delete(tags).where(tags.c.vault == MINE, tags.c.memory == "missing")
    assert await db.apply([Write(missing)]) == [0]


async def test_an_update_to_the_same_value_counts_as_a_change(db):
    await db.apply([a_tag()])
    same = sa.update(tags).where(tags.c.vault == MINE).values(tag="t")
    assert await db.apply([Write(same, must_change=True)]) == [1]


async def test_a_mistake_of_ours_is_not_disguised_as_an_outage(db):
    with pytest.raises(Exception, match="nowhere") as caught:
        await db.read(sa.text("SELECT * FROM nowhere"))
    assert not isinstance(caught.value, Unavailable)
    assert await db.read(ALL) == []


async def test_text_statements_take_parameters_by_name(db):
    await db.apply([a_tag(tag="a"), a_tag(position=1, tag="b")])
    found = await db.read(
        sa.text("SELECT tag FROM tags WHERE vault = :vault AND tag = :tag"), {"vault": MINE, "tag": "b"}
    )
    assert [row["tag"] for row in found] == ["b"]
    gone = Write(sa.text("DELETE FROM tags WHERE vault = :vault AND tag = :tag"), rows=({"vault": MINE, "tag": "b"},))
    assert await db.apply([gone]) == [1]


async def test_the_same_shape_with_other_values_finds_other_rows(db):
    await db.apply([a_tag("m1", tag="one"), a_tag("m2", tag="two")])

    async def of(*memories):
        query = sa.select(tags.c.tag).where(tags.c.vault == MINE, tags.c.memory.in_(memories)).order_by(tags.c.tag)
        return [row["tag"] for row in await db.read(query)]

    assert [await of("m1"), await of("m2"), await of("m1", "m2"), await of()] == [["one"], ["two"], ["one", "two"], []]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "é",
        "e\u0301",
        "😀👨‍👩‍👧",
        "x\u2028y\u0085",
        "%s :name ? {} \\ '\" `",
        "適者生存",
        "A",
        "a",
        " trailing ",
        "\t\n",
    ],
)
async def test_text_comes_back_as_it_was(db, text):
    await db.apply([a_tag(tag=text)])
    assert [row["tag"] for row in await db.read(ALL)] == [text]
    same = sa.select(tags.c.tag).where(tags.c.vault == MINE, tags.c.tag == text)
    assert len(await db.read(same)) == 1


async def test_case_and_accents_make_different_text(db):
    await db.apply([a_tag(tag="Café")])
    for other in ("café", "Cafe", "Cafe\u0301", "Café "):
        found = await db.read(sa.select(tags.c.tag).where(tags.c.vault == MINE, tags.c.tag == other))
        assert found == [], other


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(scale=st.floats(allow_nan=False, allow_infinity=False), data=st.binary(max_size=400))
async def test_bytes_and_floats_come_back_as_they_were(db, scale, data):
    await db.apply([Write(sa.delete(vectors).where(vectors.c.vault == MINE))])
    row = {"vault": MINE, "memory": "m", "window": 0, "space": "s", "scale": scale, "data": data}
    await db.apply([Write(sa.insert(vectors), rows=(row,))])
    (found,) = await db.read(sa.select(vectors).where(vectors.c.vault == MINE))
    assert (found["scale"], bytes(found["data"])) == (scale, data)


async def test_integers_of_64_bits_come_back_as_they_were(db):
    numbers = [-(2**63), -1, 0, 2**63 - 1]
    await db.apply([a_tag(position=number) for number in numbers])
    assert [row["position"] for row in await db.read(ALL)] == numbers


async def test_eight_racing_writers_make_one_row_per_key(db):
    outcomes = await asyncio.gather(*(db.apply([a_tag(f"m{n % 10}")]) for n in range(80)), return_exceptions=True)
    assert len(await db.read(ALL)) == 10
    assert [type(outcome) for outcome in outcomes].count(Conflict) == 70


async def test_a_follower_of_eight_racing_writers_misses_nothing_and_sees_the_order_of_commits(db):
    async def write(writer):
        for n in range(20):
            await db.apply(
                [*an_entry(f"{writer}-{n}"), Write(sa.insert(pending).values(vault=MINE, memory=f"{writer}-{n}"))]
            )

    seen = []

    async def follow():
        while len(seen) < 160:
            new = await changes.since(db, MINE, len(seen), 50)
            here = {row["memory"] for row in await db.read(sa.select(pending.c.memory).where(pending.c.vault == MINE))}
            assert {change.id for change in new} <= here
            seen.extend(new)

    async with asyncio.timeout(60):
        await asyncio.gather(follow(), *(write(writer) for writer in range(8)))
    assert [change.seq for change in seen] == list(range(1, 161))
    for writer in range(8):
        assert [change.id for change in seen if change.id.startswith(f"{writer}-")] == [
            f"{writer}-{n}" for n in range(20)
        ]


async def test_a_batch_for_another_epoch_is_refused_whole(db):
    await db.apply(an_entry())
    stale = changes.append(MINE, 7, kind="memory", id="x", version=1, op="put", at=NOON)
    with pytest.raises(Conflict):
        await db.apply([a_tag(), *stale])
    assert await db.read(ALL) == []
    assert (await heads.read(db, MINE)).head.seq == 1


async def test_a_caller_that_stops_waiting_does_not_stop_the_batch(db):
    waiting = asyncio.ensure_future(db.apply([a_tag()]))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(10):
        while not await db.read(ALL):
            await db.apply([Write(sa.delete(pending).where(pending.c.vault == MINE))])
    assert len(await db.read(ALL)) == 1


async def test_a_database_for_reading_refuses_writes(stores, db):
    await db.apply([a_tag()])
    reading = await stores.vault(MINE, writable=False)
    with pytest.raises(InsufficientScope):
        await reading.apply([a_tag("other")])
    with pytest.raises(InsufficientScope):
        await reading.scrub()
    assert len(await reading.read(ALL)) == 1


async def test_a_write_forced_through_a_reading_connection_fails_in_the_database(stores, db):
    reading = await stores.vault(MINE, writable=False)
    with pytest.raises(Unavailable) as caught:
        await reading.read(sa.text("DELETE FROM heads WHERE vault = :vault"), {"vault": MINE})
    assert re.search(r"(?i)read.?only", str(caught.value.__cause__))
    assert (await heads.read(db, MINE)).head.seq == 0


async def test_scrubbing_says_that_it_is_done(db):
    await db.apply([a_tag()])
    await db.apply([Write(sa.delete(tags).where(tags.c.vault == MINE))])
    assert await db.scrub()


async def test_a_closed_database_says_that_it_stops(stores, db):
    await stores.close()
    with pytest.raises(Unavailable, match="stopping"):
        await db.read(ALL)
    with pytest.raises(Unavailable, match="stopping"):
        await db.apply([a_tag()])


async def test_the_control_database_has_a_log_from_the_start(stores):
    standing = await heads.read(await stores.control(), CONTROL)
    assert (standing.head.seq, len(standing.secret)) == (0, 32)


async def test_a_vault_that_was_never_made_is_not_found(stores):
    with pytest.raises(NotFound):
        await heads.read(await stores.vault(MINE), MINE)


async def test_making_room_for_a_vault_twice_is_harmless(stores, db):
    await db.apply([a_tag()])
    await stores.create(MINE)
    assert len(await db.read(ALL)) == 1


async def test_healthy_stores_pass_their_check(stores, db):
    await stores.check()
