"""`archivist users` and what people share by links: who may come in, who may not, and how they get back in."""

import json
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from archivist.app import OWNER
from archivist.domain.access import LOCAL_OWNER, Scope
from archivist.domain.errors import InsufficientScope, NotFound, Unauthenticated
from archivist.domain.users import User
from archivist.storage.people import sessions, users
from tests.cli.inside import PASSWORD, entered, given_a_factor, inside
from tests.cli.test_commands import out
from tests.cli.test_mistakes import line
from tests.people import VISITOR

pytestmark = pytest.mark.anyio
NEW_PASSWORD = "an umbrella of seven seas"


def secret_of(link: str) -> str:
    return urlsplit(link).path.rpartition("/")[2]


async def joined(typed, name: str, *words: str) -> User:
    """An account made on the command line, whose person has followed its link."""
    link = out(typed("users", "create", name, *words)).strip()
    async with inside(typed) as app:
        return await app.accounts.join(secret_of(link), name, PASSWORD)


async def test_the_link_of_a_new_account_is_printed_alone_and_lets_its_person_in(typed):
    done = typed("users", "create", "Ana")
    link = out(done).removesuffix("\n")
    assert link.startswith("http://127.0.0.1:8765/invitation/avl_")
    assert b"works once, for 72 hours" in done.stderr
    async with inside(typed) as app:
        await app.accounts.join(secret_of(link), "Ana", PASSWORD)
        assert (await app.sign_in.password(VISITOR, "Ana", PASSWORD)).session.stage == "full"


async def test_the_first_account_administers_and_owns_what_is_here_and_later_ones_do_not(typed):
    out(typed("vaults", "create", "garden"))
    first = typed("users", "create", "Ana")
    assert b"Ana, an administrator" in first.stderr
    out(typed("users", "create", "Bo"))
    out(typed("users", "create", "Cy", "--administrator"))
    listed = json.loads(out(typed("users", "list", "--json")))
    assert [(one["name"], one["administrator"]) for one in listed] == [("Ana", True), ("Bo", False), ("Cy", True)]
    assert listed[0]["id"] == LOCAL_OWNER
    assert "Ana" in out(typed("vaults", "members", "garden"))


async def test_a_name_that_somebody_has_is_refused_however_it_is_spelt(typed):
    out(typed("users", "create", "Ana"))
    assert "choose another one" in line(typed("users", "create", "ANA"))
    assert len(json.loads(out(typed("users", "list", "--json")))) == 1


async def test_people_are_listed_under_headings_with_what_they_are(typed):
    await joined(typed, "Ana")
    out(typed("users", "create", "王小明"))
    heading, ana, other = out(typed("users", "list")).splitlines()
    assert heading.split("  ")[0] == "NAME"
    assert "administrator" in ana
    assert "invited" in other
    assert heading.index("SINCE") == ana.index("20") == other.index("20") + 3, "wide letters take two columns"


@pytest.mark.parametrize("command", ["link", "disable", "enable", "end", "drop-factor", "zone"])
async def test_a_person_that_there_is_not_is_told_with_the_way_to_see_who_there_is(typed, command):
    out(typed("users", "create", "Ana"))
    more = ["UTC"] if command == "zone" else []
    assert "users list" in line(typed("users", command, "nobody", *more))


def test_the_zone_of_somebody_is_set_listed_and_taken_back(typed):
    out(typed("users", "create", "Ana"))
    assert "midnight in Europe/Lisbon" in out(typed("users", "zone", "ana", "europe/lisbon"))
    assert [one["zone"] for one in json.loads(out(typed("users", "list", "--json")))] == ["Europe/Lisbon"]
    assert "zone: must be an IANA time zone" in line(typed("users", "zone", "Ana", "Lisbon"))
    assert "midnight in UTC" in out(typed("users", "zone", "Ana", "UTC"))
    assert [one["zone"] for one in json.loads(out(typed("users", "list", "--json")))] == ["UTC"]


async def test_sec_018_a_recovery_link_leads_to_the_configured_address_works_once_and_ends_all_sessions(typed):
    ana = await joined(typed, "Ana")
    done = typed("users", "link", "ana", ARCHIVIST_PUBLIC_URL="https://memory.example.org")
    link = out(done).removesuffix("\n")
    assert link.startswith("https://memory.example.org/recovery/avl_")
    async with inside(typed) as app:
        control = await app.stores.control()
        await entered(app, ana.id)
        await app.accounts.recover(secret_of(link), NEW_PASSWORD)
        assert await sessions.of_user(control, ana.id) == []
        with pytest.raises(NotFound):
            await app.accounts.recover(secret_of(link), PASSWORD)
        with pytest.raises(Unauthenticated):
            await app.sign_in.password(VISITOR, "Ana", PASSWORD)
        assert await app.sign_in.password(VISITOR, "Ana", NEW_PASSWORD)


async def test_sec_018_no_command_takes_a_password_for_anybody(typed):
    said = out(typed("users", "create", "--help", data=False)) + out(typed("users", "link", "--help", data=False))
    assert "--password" not in said


async def test_a_newer_recovery_link_takes_the_place_of_the_one_before(typed):
    await joined(typed, "Ana")
    first, second = (secret_of(out(typed("users", "link", "Ana")).strip()) for _ in range(2))
    async with inside(typed) as app:
        with pytest.raises(NotFound):
            await app.accounts.opened(first, "recovery")
        assert (await app.accounts.opened(second, "recovery"))[1].name == "Ana"


async def test_somebody_who_is_shut_out_gets_in_neither_themselves_nor_by_key_until_they_are_let_in_again(typed):
    await joined(typed, "Ana")
    key = out(typed("keys", "create")).strip()
    async with inside(typed) as app:
        await app.entering.authenticate(key, "vault")
        out(typed("users", "disable", "Ana"))
        with pytest.raises(Unauthenticated):
            await app.entering.authenticate(key, "vault")
        with pytest.raises(Unauthenticated):
            await app.sign_in.password(VISITOR, "Ana", PASSWORD)
        assert "shut out" in out(typed("users", "list"))
        out(typed("users", "enable", "Ana"))
        assert await app.entering.authenticate(key, "vault")
        assert await app.sign_in.password(VISITOR, "Ana", PASSWORD)


async def test_ending_somebody_ends_their_sessions_and_keys_and_nobody_elses(typed):
    await joined(typed, "Ana")
    bo = await joined(typed, "Bo")
    out(typed("keys", "create"))
    async with inside(typed) as app:
        await entered(app, LOCAL_OWNER)
        await entered(app, bo.id)
        done = json.loads(out(typed("users", "end", "ana", "--json")))
        assert done == {"connections": 0, "keys": 1, "sessions": 1}
        control = await app.stores.control()
        assert await sessions.of_user(control, LOCAL_OWNER) == []
        assert len(await sessions.of_user(control, bo.id)) == 1
    assert "revoked" in out(typed("keys", "list"))


async def test_a_second_factor_that_was_lost_is_taken_away(typed):
    ana = await joined(typed, "Ana")
    async with inside(typed) as app:
        await given_a_factor(app, await entered(app, ana.id))
        assert (await app.sign_in.password(VISITOR, "Ana", PASSWORD)).session.stage == "half"
        out(typed("users", "drop-factor", "Ana"))
        assert (await app.sign_in.password(VISITOR, "Ana", PASSWORD)).session.stage == "full"


async def test_a_vault_link_lets_one_person_in_with_the_role_that_was_named(typed):
    await joined(typed, "Ana")
    bo = await joined(typed, "Bo")
    out(typed("vaults", "create", "garden"))
    done = typed("vaults", "invite", "garden", "--role", "viewer", ARCHIVIST_PUBLIC_URL="https://memory.example.org")
    link = out(done).removesuffix("\n")
    assert link.startswith("https://memory.example.org/invitation/avl_")
    async with inside(typed) as app:
        await app.accounts.accept(await entered(app, bo.id), secret_of(link))
    listed = json.loads(out(typed("vaults", "members", "garden", "--json")))
    assert [(one["name"], one["role"]) for one in listed] == [("Ana", "owner"), ("Bo", "viewer")]


async def test_sec_047_a_role_that_was_taken_away_binds_the_commands_and_a_running_stdio_too(typed, tmp_path):
    (tmp_path / "one.jsonl").write_text("{}\n")
    await joined(typed, "Ana")
    bo = await joined(typed, "Bo")
    out(typed("vaults", "create", "garden"))
    link = out(typed("vaults", "invite", "garden", "--role", "owner")).strip()
    async with inside(typed) as app:
        garden = (await app.vaults.named(OWNER, "garden")).id
        other = await entered(app, bo.id)
        await app.accounts.accept(other, secret_of(link))
        running = await app.local("garden", by="stdio")
        await app.memories.store(await app.entering.again(running), text="the blue oar")
        await app.members.set_role(other, garden, LOCAL_OWNER, "viewer")
        assert (await app.entering.again(running)).scopes == {Scope.READ}
        with pytest.raises(InsufficientScope):
            await app.memories.store(await app.entering.again(running), text="the green oar")
        assert "most the rights" in line(typed("keys", "create", "--vault", "garden"))
        assert "memories:write" in line(typed("import", str(tmp_path / "one.jsonl"), "--vault", "garden"))
        assert "blue" in out(typed("search", "oar", "--vault", "garden"))
        await app.members.remove(other, garden, LOCAL_OWNER)
        with pytest.raises(NotFound):
            await app.entering.again(running)
        assert "no vault of that name" in line(typed("search", "oar", "--vault", "garden"))


async def test_an_account_that_has_no_password_yet_is_let_in_by_a_recovery_link_too(typed):
    out(typed("users", "create", "Ana"))
    link = out(typed("users", "link", "Ana")).strip()
    async with inside(typed) as app:
        await app.accounts.recover(secret_of(link), PASSWORD)
        found = await users.named(await app.stores.control(), "Ana")
        assert found is not None
        assert found.created + timedelta(days=1) > app.accounts.now()
        assert await app.sign_in.password(VISITOR, "Ana", PASSWORD)
