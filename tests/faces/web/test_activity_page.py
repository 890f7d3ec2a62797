"""The page of activity: one's own acts, those in a vault, those of the server."""

import re
from dataclasses import replace
from html import unescape

import pytest

from tests.people import READ_WRITE, connected, founded, joined, visiting

pytestmark = pytest.mark.anyio
ROW = re.compile(r'<tr role="row">\n<td role="cell" class="first when">')


@pytest.fixture
async def shared(hall):
    """A vault of Ana's."""
    return await founded(hall.app, await visiting(hall.app, (await hall.user()).id), "shared")


async def test_people_see_their_own_acts_and_not_those_of_others(hall, ana):
    bob = await hall.joined()
    await bob.post("/app/vaults", {"name": "Garden", "kind": "project"})
    found = (await bob.get("/app/activity.json")).json()
    assert found["entries"][0]["action"] in ("vaults create", "join", "sign in")
    assert {one["user"] for one in found["entries"]} == {"Bob"}
    assert {one["through"] for one in found["entries"]} <= {"a browser", "a one-time link"}
    page = await bob.shown("/app/activity")
    assert "vaults create" in page
    assert "Ana" not in page


async def test_an_owner_reads_a_vault_with_names_and_sums(hall, ana, shared):
    await hall.joined()
    bob = await joined(hall.app, shared, await visiting(hall.app, (await hall.user("Bob")).id), shared.vault, "member")
    reader = await connected(hall.app, hall.clock, bob, READ_WRITE, name="Bob's reader")
    who = await hall.app.entering.authenticate(reader.access, "vault")
    await hall.app.memories.store(who, text="kept out of every list")
    for _ in range(2):
        hall.app.counting.note(who, "search_memories")
    await hall.app.counting.flush()
    address = f"/app/activity.json?vault={shared.vault}"
    found = (await ana.get(address)).json()
    through = {(one["user"], one["through"]) for one in found["entries"]}
    assert ("Bob", "Bob's reader") in through
    assert ("Ana", "a browser") in through
    assert [(one["through"], one["action"], one["count"]) for one in found["sums"]] == [
        ("Bob's reader", "search_memories", 2)
    ]
    page = unescape(await ana.shown(f"/app/activity?vault={shared.vault}"))
    for text in ("How often", "Bob's reader", "consent given", "shared"):
        assert text in page
    assert "kept out" not in page


async def test_sec_236_a_plain_member_is_refused_the_activity_of_a_vault_as_of_one_that_is_not(hall, shared):
    bob = await hall.joined()
    await joined(hall.app, shared, await visiting(hall.app, (await hall.user("Bob")).id), shared.vault, "member")
    unknown = "0193b000-0000-7000-8000-00000000000b"
    for end in ("", ".json"):
        foreign = await bob.get(f"/app/activity{end}?vault={shared.vault}")
        nowhere = await bob.get(f"/app/activity{end}?vault={unknown}")
        assert (foreign.status_code, foreign.content) == (404, nowhere.content)
    assert shared.vault not in await bob.shown("/app/activity")


async def test_sec_236_only_an_administrator_reads_the_activity_of_the_server(hall, ana):
    bob = await hall.joined()
    for end in ("", ".json"):
        assert (await bob.get(f"/app/activity{end}?vault=server")).status_code == 403
    assert "this server" not in await bob.shown("/app/activity")
    assert "this server" in await ana.shown("/app/activity")
    found = (await ana.get("/app/activity.json?vault=server")).json()["entries"]
    assert {"Ana", "Bob"} <= {one["user"] for one in found}
    hall.clock.move(seconds=1)
    await ana.get("/app/activity.json?vault=server")
    [note, *_] = (await ana.get("/app/activity.json?vault=server")).json()["entries"]
    assert (note["action"], note["user"]) == ("audit read", "Ana")


async def test_pages_lead_from_the_newest_to_the_oldest_and_back(hall, ana, shared):
    for number in range(120):
        hall.clock.move(seconds=1)
        await hall.app.keys.create(shared, name=str(number), scopes=READ_WRITE)
    seen, path = [], f"/app/activity?vault={shared.vault}"
    for first, last in ((1, 50), (51, 100), (101, None)):
        page = await ana.shown(path)
        assert len(ROW.findall(page)) == (50 if last else len(ROW.findall(page)))
        seen += re.findall(r"keys create <code>([0-9a-f-]+)</code>", page)
        if last:
            assert f"{first}–{last}" in page
            path = unescape(re.search(r'<a href="([^"]+)" rel="next">', page)[1])
    assert len(set(seen)) == len(seen) == 120
    assert f'<a href="/app/activity?vault={shared.vault}" rel="prev">' in page
    assert 'rel="next"' not in page


@pytest.mark.parametrize("query", [
    "before=~", "before=1", "before=%00", "before=%ff", "vault=a&vault=b", "vault=%ed%a0%80", "before='--",
])  # fmt: skip
async def test_what_cannot_be_read_in_the_address_is_refused(ana, query):
    for end in ("", ".json"):
        assert (await ana.get(f"/app/activity{end}?{query}")).status_code == 400


@pytest.mark.parametrize("first", ["", "x", "-3", "9" * 40, "²"])
async def test_a_number_that_only_counts_does_no_harm(hall, ana, first):
    before = (await ana.get("/app/activity.json")).json()["entries"][0]["id"]
    assert (await ana.get(f"/app/activity?before={before}&first={first}")).status_code == 200


async def test_a_failed_sign_in_of_nobody_is_somebodys_line_in_the_activity_of_the_server(hall, ana):
    await hall.browser().sign_in(name="nobody")
    found = (await ana.get("/app/activity.json?vault=server")).json()["entries"]
    [one] = [entry for entry in found if entry["outcome"] == "refused"]
    assert (one["action"], one["user"]) == ("sign in", "nobody known")
    assert "nobody known" in await ana.shown("/app/activity?vault=server")


async def test_an_id_without_a_name_is_shown_as_it_is(hall, ana, shared):
    stranger = replace(shared, credential="key", credential_id="0193b000-0000-7000-8000-0000000000fe")
    hall.app.counting.note(stranger, "search_memories")
    await hall.app.counting.flush()
    found = (await ana.get(f"/app/activity.json?vault={shared.vault}")).json()
    assert [one["through"] for one in found["sums"]] == ["0193b000-0000-7000-8000-0000000000fe"]
