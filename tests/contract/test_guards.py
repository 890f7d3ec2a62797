"""Writes that hold a decision to what it was made on, and writes that keep what others decided, on every backend."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from archivist.domain.errors import Conflict
from archivist.domain.ids import KeyId
from archivist.storage import grants, keys
from archivist.storage.database import Database, Write
from archivist.storage.people import attempts, clients, links, transactions, users
from archivist.storage.people.transactions import Transaction
from tests.builders import MINE, NOON
from tests.contract.test_people import ANA, BOB, LATER, a_client, a_grant, a_key, a_link, a_user
from tests.contract.test_people import control as control

pytestmark = pytest.mark.anyio


async def holds(control: Database, write: Write) -> bool:
    """Whether a batch with this write in it is taken."""
    try:
        await control.apply([write])
    except Conflict:
        return False
    return True


CHANGES: Sequence[tuple[str, Any, bool]] = [
    ("nothing", lambda: users.set_password(BOB, "another"), True),
    ("its name", lambda: users.rename(ANA, "Anna"), True),
    ("its password", lambda: users.set_password(ANA, "another"), False),
    ("a factor came", lambda: users.set_factor(ANA, "sealed", 1), False),
    ("it is disabled", lambda: users.set_disabled(ANA, NOON), False),
]


@pytest.mark.parametrize(("what", "change", "still"), CHANGES, ids=[what for what, _, _ in CHANGES])
async def test_an_account_is_still_as_it_was_unless_it_opens_otherwise(control, what, change, still):
    ana = a_user(password="hash")
    await control.apply([users.insert(ana), users.insert(a_user(BOB, "Bob"))])
    assert await holds(control, users.still(ana))
    await control.apply([change()])
    assert await holds(control, users.still(ana)) is still, what


async def test_an_account_with_a_factor_is_still_as_it_was_until_that_is_gone(control):
    ana = a_user(factor="sealed")
    await control.apply([users.insert(ana)])
    await control.apply([users.reseal(ANA, "sealed", "sealed anew")])
    assert await holds(control, users.still(ana))
    await control.apply([users.set_factor(ANA, "", 0)])
    assert not await holds(control, users.still(ana))
    assert await users.find(control, ANA) == replace(ana, factor="")


async def test_a_connection_is_still_there_until_it_ends(control):
    await control.apply([grants.insert(a_grant())])
    assert await holds(control, grants.still(MINE, "g"))
    assert await grants.find(control, MINE, "g") == a_grant()
    await control.apply([grants.end(MINE, "g", LATER, "signed_off")])
    assert not await holds(control, grants.still(MINE, "g"))
    assert not await holds(control, grants.still(MINE, "unknown"))


async def test_what_a_document_says_leaves_alone_whether_its_app_is_allowed_or_blocked(control):
    await control.apply([clients.insert(a_client()), clients.approve(a_client().digest, NOON)])
    await control.apply([clients.set_blocked(a_client().digest, LATER)])
    await control.apply([clients.update(a_client(name="Renamed", redirect_uris=("https://b.example/",)))])
    found = await clients.find(control, a_client().digest)
    assert found == a_client(name="Renamed", redirect_uris=("https://b.example/",), approved=NOON, blocked=LATER)


async def test_the_end_of_a_key_only_comes_nearer(control):
    await control.apply([keys.insert(a_key("a"))])
    for at, taken in ((LATER, True), (LATER, True), (NOON, True), (LATER, False)):
        assert await holds(control, keys.expire(MINE, KeyId("a"), at)) is taken
    found = await keys.by_digest(control, "a" * 64)
    assert found.expires == NOON


async def test_links_end_by_who_made_them_or_one_by_one_and_used_ones_are_listed_no_more(control):
    made = [a_link("a"), a_link("b"), a_link("c", maker=BOB), a_link("d", maker=BOB, expires=NOON)]
    await control.apply([links.insert(one) for one in made])
    await control.apply([links.use("a" * 64, NOON)])
    assert [one.id for one in await links.unused(control)] == ["b", "c", "d"]
    await control.apply([links.end_made(ANA, LATER), links.end("a" * 64, LATER), links.end("c" * 64, LATER)])
    assert [one.id for one in await links.unused(control)] == ["d"]
    used = [(await links.find(control, id * 64)).used for id in "abc"]
    assert used == [NOON, LATER, LATER], "one that was used keeps its time"


async def test_questions_of_one_browser_are_told_the_last_first_and_forgotten_without_a_conflict(control):
    def a_question(digest: str, session: str, created: Any) -> Transaction:
        return Transaction(
            digest=digest * 64, session=session, client="c" * 64, request="{}", created=created, expires=LATER
        )

    asked = [a_question("a", "s", NOON), a_question("b", "s", LATER), a_question("c", "t", LATER)]
    await control.apply([transactions.insert(one) for one in asked])
    assert await transactions.of_session(control, "s") == ["b" * 64, "a" * 64]
    for _ in range(2):
        await control.apply([transactions.drop("a" * 64)])
    assert await transactions.of_session(control, "s") == ["b" * 64]


async def test_tries_of_a_future_that_the_clock_came_back_from_are_left_out_and_cleared_away(control):
    ahead = NOON + timedelta(days=800)
    await control.apply([attempts.insert("s" * 64, id, at) for id, at in (("a", NOON), ("b", ahead))])
    assert (await attempts.since(control, "s" * 64, NOON - timedelta(1)))[0] == 2
    assert await attempts.since(control, "s" * 64, NOON - timedelta(1), LATER) == (1, NOON, NOON)
    await control.apply([attempts.clear(NOON - timedelta(1), NOON + timedelta(1))])
    assert await attempts.since(control, "s" * 64, NOON - timedelta(1)) == (1, NOON, NOON)


async def test_browsers_that_nobody_brings_any_more_are_cleared_away(control):
    await control.apply([users.insert_device(ANA, "a" * 64, NOON), users.insert_device(ANA, "b" * 64, LATER)])
    await control.apply([users.clear_devices(LATER)])
    assert [await users.knows_device(control, ANA, one * 64) for one in "ab"] == [False, True]
