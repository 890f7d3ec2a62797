"""What is kept of people, apps and what opens doors, on every backend."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from archivist.domain.access import ALL_SCOPES, LOCAL_OWNER, Scope
from archivist.domain.clients import Client, client_digest
from archivist.domain.errors import Conflict
from archivist.domain.grants import AuthorizationCode, Grant, Token
from archivist.domain.ids import KeyId, UserId, VaultId
from archivist.domain.keys import Key
from archivist.domain.links import Link
from archivist.domain.roles import Member
from archivist.domain.sessions import Session
from archivist.domain.users import User
from archivist.domain.uses import Use
from archivist.domain.vaults import Vault
from archivist.storage import codes, grants, keys, members, tokens, uses, vaults
from archivist.storage.people import attempts, clients, links, sessions, transactions, users
from archivist.storage.people.transactions import Transaction
from archivist.storage.tokens import Standing
from tests.builders import MINE, NOON, THEIRS

pytestmark = pytest.mark.anyio

LATER = NOON + timedelta(seconds=1)
ANA, BOB = UserId("ana"), UserId("bob")
READ_WRITE = frozenset({Scope.READ, Scope.WRITE})


@pytest.fixture
async def control(stores: Any) -> Any:
    return await stores.control()


def a_user(id: UserId = ANA, name: str = "Ana", **changes: Any) -> User:
    return replace(User(id=id, name=name, password="", administrator=False, created=NOON), **changes)


def a_session(id: str, user: UserId = ANA, **changes: Any) -> Session:
    made = Session(
        id=id, digest=id * 64, user=user, stage="full", agent="Firefox 😀", created=NOON, used=NOON, fresh=NOON
    )
    return replace(made, **changes)


def a_link(id: str, **changes: Any) -> Link:
    made = Link(
        id=id,
        digest=id * 64,
        kind="invitation",
        user=UserId(""),
        maker=ANA,
        into_vault=MINE,
        role="member",
        created=NOON,
        expires=NOON + timedelta(hours=72),
    )
    return replace(made, **changes)


def a_client(id: str = "App", **changes: Any) -> Client:
    made = Client(
        digest=client_digest(id),
        client_id=id,
        kind="registered",
        name="App",
        redirect_uris=("https://app.example/cb", "http://127.0.0.1/cb"),
        secret="",
        method="none",
        created=NOON,
    )
    return replace(made, **changes)


def a_grant(id: str = "g", **changes: Any) -> Grant:
    made = Grant(
        vault=MINE,
        id=id,
        user=ANA,
        client=client_digest("App"),
        client_name="App",
        host="app.example",
        shown="s" * 64,
        toolset="vault",
        scopes=READ_WRITE,
        created=NOON,
        approved=NOON,
    )
    return replace(made, **changes)


def a_code(digest: str = "c" * 64, **changes: Any) -> AuthorizationCode:
    made = AuthorizationCode(
        vault=MINE,
        digest=digest,
        grant="g",
        family="f",
        client=client_digest("App"),
        redirect_uri="https://app.example/cb?" + "x" * 2000,
        challenge="x" * 43,
        toolset="coding",
        scopes=READ_WRITE,
        session="s",
        created=NOON,
        expires=NOON + timedelta(seconds=60),
    )
    return replace(made, **changes)


def a_token(digest: str = "t" * 64, **changes: Any) -> Token:
    made = Token(
        vault=MINE,
        digest=digest,
        kind="refresh",
        grant="g",
        family="f",
        client=client_digest("App"),
        toolset="vault",
        scopes=READ_WRITE,
        created=NOON,
        expires=NOON + timedelta(days=60),
        until=NOON + timedelta(days=180),
    )
    return replace(made, **changes)


# People


async def test_an_account_comes_back_as_it_was_by_id_and_by_any_spelling_of_its_name(control):
    ana = a_user(name="Ａna Müller 😀", administrator=True, factor="sealed" * 100, factor_step=5, disabled=LATER)
    await control.apply([users.insert(ana)])
    assert await users.find(control, ANA) == ana
    assert await users.named(control, "ana mu\u0308ller 😀") == ana
    assert await users.named(control, "anna") is None
    assert await users.find(control, BOB) is None


async def test_a_name_is_taken_however_it_is_spelt_and_so_is_an_id(control):
    await control.apply([users.insert(a_user())])
    for twin in (a_user(BOB, "ANA"), a_user(BOB, "ａna"), a_user(ANA, "Somebody")):
        with pytest.raises(Conflict):
            await control.apply([users.insert(twin)])
    assert await users.count(control) == 1


async def test_what_changes_of_an_account_changes_of_one_account(control):
    ana, bob = a_user(), a_user(BOB, "Bob", created=LATER)
    await control.apply([users.insert(bob), users.insert(ana)])
    await control.apply([
        users.set_password(ANA, "hashed"), users.set_disabled(ANA, NOON), users.set_factor(ANA, "sealed", 3),
    ])  # fmt: skip
    changed = replace(ana, password="hashed", disabled=NOON, factor="sealed", factor_step=3)
    assert await users.everybody(control) == [changed, bob]
    await control.apply([users.set_disabled(ANA, None)])
    assert await users.find(control, ANA) == replace(changed, disabled=None)
    for write in (users.set_password, lambda user, _value: users.set_disabled(user, NOON)):
        with pytest.raises(Conflict):
            await control.apply([write(UserId("nobody"), "x")])


async def test_a_time_step_of_the_second_factor_is_used_once_and_none_before_it_after(control):
    await control.apply([users.insert(a_user())])
    await control.apply([users.use_step(ANA, 10)])
    for step in (10, 9):
        with pytest.raises(Conflict):
            await control.apply([users.use_step(ANA, step)])
    await control.apply([users.use_step(ANA, 11)])


async def test_a_recovery_code_is_used_once_by_its_own_person(control):
    await control.apply(
        [users.insert_recovery_codes(ANA, ["a" * 64, "b" * 64]), users.insert_recovery_codes(BOB, ["a" * 64])]
    )
    await control.apply([users.use_recovery_code(ANA, "a" * 64)])
    for who, digest in ((ANA, "a" * 64), (BOB, "b" * 64)):
        with pytest.raises(Conflict):
            await control.apply([users.use_recovery_code(who, digest)])
    assert (await users.recovery_codes_left(control, ANA), await users.recovery_codes_left(control, BOB)) == (1, 1)
    await control.apply([users.drop_recovery_codes(ANA)])
    assert (await users.recovery_codes_left(control, ANA), await users.recovery_codes_left(control, BOB)) == (0, 1)


async def test_a_browser_that_came_before_is_known_for_its_own_person(control):
    await control.apply([users.insert_device(ANA, "d" * 64, NOON)])
    assert await users.knows_device(control, ANA, "d" * 64)
    assert not await users.knows_device(control, BOB, "d" * 64)
    await control.apply([users.drop_devices(BOB)])
    assert await users.knows_device(control, ANA, "d" * 64)
    await control.apply([users.drop_devices(ANA)])
    assert not await users.knows_device(control, ANA, "d" * 64)


async def test_an_identity_elsewhere_is_one_person_s(control):
    await control.apply([users.insert_identity(ANA, "i" * 64, "https://idp.example", NOON)])
    with pytest.raises(Conflict):
        await control.apply([users.insert_identity(BOB, "i" * 64, "https://idp.example", NOON)])
    assert await users.by_identity(control, "i" * 64) == ANA
    assert await users.identities_of(control, ANA) == [("i" * 64, "https://idp.example")]
    with pytest.raises(Conflict):
        await control.apply([users.drop_identity(BOB, "i" * 64)])
    await control.apply([users.drop_identity(ANA, "i" * 64)])
    assert await users.by_identity(control, "i" * 64) is None


# Sessions and links


async def test_sessions_come_back_the_last_used_first_and_end_one_by_one_or_all_but_one(control):
    a, b, c = a_session("a"), a_session("b", used=LATER, stage="half"), a_session("c", BOB)
    await control.apply([sessions.insert(one) for one in (a, b, c)])
    assert await sessions.find(control, a.digest) == a
    assert await sessions.with_id(control, "b") == b
    assert await sessions.of_user(control, ANA) == [b, a]
    await control.apply([sessions.used(a.digest, LATER + timedelta(seconds=1))])
    assert [one.id for one in await sessions.of_user(control, ANA)] == ["a", "b"]
    await control.apply([sessions.end_all(ANA, "b")])
    assert [one.id for one in await sessions.of_user(control, ANA)] == ["b"]
    await control.apply([sessions.end(b.digest)])
    with pytest.raises(Conflict):
        await control.apply([sessions.end(b.digest)])
    assert await sessions.of_user(control, BOB) == [c]


async def test_sessions_that_are_too_old_are_cleared_away(control):
    await control.apply([sessions.insert(a_session("a")), sessions.insert(a_session("b", created=LATER))])
    await control.apply([sessions.clear(LATER)])
    assert [one.id for one in await sessions.of_user(control, ANA)] == ["b"]


async def test_a_link_is_used_once_even_by_two_at_the_same_moment(control):
    await control.apply([links.insert(a_link("a"))])
    assert await links.find(control, "a" * 64) == a_link("a")
    tries = [control.apply([links.use("a" * 64, LATER)]) for _ in range(8)]
    done = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(isinstance(one, Conflict) for one in done) == [False] + [True] * 7
    assert await links.find(control, "a" * 64) == a_link("a", used=LATER)


async def test_links_end_by_kind_by_person_and_by_id(control):
    made = [
        a_link("a", kind="set-up", into_vault=VaultId(""), role=""),
        a_link("b", kind="recovery", user=BOB, into_vault=VaultId(""), role=""),
        a_link("c"),
        a_link("d", created=LATER),
    ]
    await control.apply([links.insert(one) for one in made])
    assert [one.id for one in await links.into(control, MINE)] == ["c", "d"]
    await control.apply([links.end_kind("set-up", LATER), links.end_of(BOB, LATER), links.withdraw("c", LATER)])
    used = [(await links.find(control, one.digest)).used is not None for one in made]
    assert used == [True, True, True, False]
    assert [one.id for one in await links.into(control, MINE)] == ["d"]
    with pytest.raises(Conflict):
        await control.apply([links.withdraw("c", LATER)])
    await control.apply([links.clear(NOON + timedelta(hours=73))])
    assert await links.find(control, "d" * 64) is None


async def test_tries_are_counted_in_a_stretch_of_time_for_each_subject(control):
    for number in range(3):
        await control.apply([attempts.insert("s" * 64, f"id-{number}", NOON + timedelta(seconds=number))])
    await control.apply([attempts.insert("t" * 64, "id-0", NOON)])
    assert await attempts.since(control, "s" * 64, NOON) == (2, LATER, NOON + timedelta(seconds=2))
    assert await attempts.since(control, "u" * 64, NOON) == (0, None, None)
    await control.apply([attempts.take_back("s" * 64, "id-2")])
    assert (await attempts.since(control, "s" * 64, NOON - timedelta(seconds=1)))[0] == 2
    await control.apply([attempts.clear(LATER)])
    assert (await attempts.since(control, "t" * 64, NOON - timedelta(days=1)))[0] == 0
    await control.apply([attempts.forget("s" * 64)])
    assert (await attempts.since(control, "s" * 64, NOON - timedelta(days=1)))[0] == 0


# Vaults


def a_member(user: UserId = ANA, vault: VaultId = MINE, **changes: Any) -> Member:
    return replace(Member(vault=vault, user=user, role="owner", created=NOON), **changes)


def a_vault(id: VaultId = MINE, **changes: Any) -> Vault:
    return replace(Vault(id=id, name="Boathouse", kind="project", owner=ANA, created=NOON), **changes)


async def test_members_are_in_their_vault_once_with_one_role(control):
    await control.apply([users.insert(a_user()), vaults.insert(a_vault()), vaults.insert(a_vault(THEIRS, owner=BOB))])
    mine = [a_member(), a_member(BOB, role="viewer", created=LATER)]
    await control.apply([members.insert(one) for one in [*mine, a_member(BOB, THEIRS)]])
    with pytest.raises(Conflict):
        await control.apply([members.insert(a_member(role="viewer"))])
    assert [(one.member, one.name) for one in await members.of_vault(control, MINE)] == [
        (mine[0], "Ana"),
        (mine[1], ""),
    ]
    assert await members.find(control, THEIRS, ANA) is None
    assert (await members.owners(control, MINE), await members.owners(control, THEIRS)) == (1, 1)
    await control.apply([members.set_role(MINE, BOB, "owner")])
    assert await members.owners(control, MINE) == 2
    await control.apply([members.remove(MINE, BOB)])
    for write in (members.remove(MINE, BOB), members.set_role(MINE, BOB, "viewer")):
        with pytest.raises(Conflict):
            await control.apply([write])
    assert [one.vault for one in await members.of_user(control, BOB)] == [THEIRS]
    await control.apply([vaults.remove(THEIRS, LATER)])
    assert await members.of_user(control, BOB) == []


async def test_vaults_are_found_by_who_is_in_them(control):
    await control.apply([vaults.insert(a_vault()), vaults.insert(a_vault(THEIRS, owner=BOB, created=LATER))])
    await control.apply([members.insert(a_member(ANA)), members.insert(a_member(ANA, THEIRS, role="viewer"))])
    assert [one.id for one in await vaults.of_member(control, ANA)] == [MINE, THEIRS]
    assert await vaults.of_member(control, BOB) == []


# Apps


async def test_an_app_comes_back_as_it_was_and_is_known_once(control):
    long = "https://app.example/" + "x" * 2000
    app = a_client(long, redirect_uris=("https://a.example/é?x=1", long), kind="document", name="n" * 64)
    await control.apply([clients.insert(app)])
    assert await clients.find(control, app.digest) == app
    with pytest.raises(Conflict):
        await control.apply([clients.insert(app)])
    changed = replace(app, name="Another", redirect_uris=(long,))
    await control.apply([clients.update(changed)])
    assert await clients.everything(control) == [changed]


async def test_apps_that_nobody_allowed_wait_and_are_cleared_away(control):
    waiting, allowed = a_client("waiting"), a_client("allowed")
    made, blocked = a_client("made", kind="confidential", secret="s" * 64), a_client("blocked")
    await control.apply([clients.insert(one) for one in (waiting, allowed, made, blocked)])
    await control.apply([clients.approve(allowed.digest, LATER), clients.set_blocked(blocked.digest, LATER)])
    await control.apply([clients.approve(allowed.digest, LATER + timedelta(days=1))])
    assert await clients.waiting(control) == 1
    assert await clients.find(control, allowed.digest) == replace(allowed, approved=LATER)
    await control.apply([clients.clear(NOON)])
    assert await clients.waiting(control) == 1
    await control.apply([clients.clear(LATER)])
    assert {one.client_id for one in await clients.everything(control)} == {"allowed", "made", "blocked"}
    await control.apply([clients.set_blocked(blocked.digest, None)])
    with pytest.raises(Conflict):
        await control.apply([clients.set_blocked(waiting.digest, LATER)])


async def test_a_question_is_answered_once(control):
    asked = Transaction(
        digest="q" * 64, session="s", client="c" * 64, request='{"state": "\\udcff"}' * 500, created=NOON, expires=LATER
    )
    await control.apply([transactions.insert(asked)])
    assert await transactions.find(control, asked.digest) == asked
    done = await asyncio.gather(
        *(control.apply([transactions.finish(asked.digest)]) for _ in range(8)), return_exceptions=True
    )
    assert sorted(isinstance(one, Conflict) for one in done) == [False] + [True] * 7
    await control.apply([transactions.insert(asked), transactions.clear(LATER + timedelta(seconds=1))])
    assert await transactions.find(control, asked.digest) is None


# Connections


async def test_a_connection_comes_back_is_renewed_and_ends_once(control):
    await control.apply([grants.insert(a_grant()), grants.insert(a_grant("h", user=BOB, approved=LATER))])
    assert await grants.find(control, MINE, "g") == a_grant()
    assert await grants.find(control, THEIRS, "g") is None
    wider = a_grant(scopes=ALL_SCOPES, approved=LATER, client_name="Another", host="b.example", shown="t" * 64)
    await control.apply([grants.renew(wider)])
    assert await grants.of_user(control, ANA) == [wider]
    assert {one.id for one in await grants.alive(control)} == {"g", "h"}
    await control.apply([grants.end(MINE, "g", LATER, "revoked")])
    assert await grants.find(control, MINE, "g") == replace(wider, ended=LATER, reason="revoked")
    for write in (grants.end(MINE, "g", LATER, "revoked"), grants.renew(wider)):
        with pytest.raises(Conflict):
            await control.apply([write])
    assert await grants.of_user(control, ANA) == []
    assert [one.id for one in await grants.alive(control)] == ["h"]


async def test_a_code_is_spent_once_of_many_at_the_same_moment(control):
    await control.apply([codes.insert(a_code())])
    assert await codes.by_digest(control, "c" * 64) == a_code()
    spending = [control.apply([codes.spend(MINE, "c" * 64, LATER)]) for _ in range(20)]
    done = await asyncio.gather(*spending, return_exceptions=True)
    assert sorted(isinstance(one, Conflict) for one in done) == [False] + [True] * 19
    assert await codes.by_digest(control, "c" * 64) == a_code(spent=LATER)


async def test_wrong_attempts_are_counted_until_a_code_is_spent(control):
    await control.apply([codes.insert(a_code()), codes.insert(a_code("d" * 64, expires=LATER))])
    await asyncio.gather(*(control.apply([codes.fail(MINE, "c" * 64)]) for _ in range(5)))
    assert (await codes.by_digest(control, "c" * 64)).failures == 5
    await control.apply([codes.spend(MINE, "c" * 64, LATER)])
    await control.apply([codes.fail(MINE, "c" * 64), codes.fail(THEIRS, "d" * 64)])
    assert (await codes.by_digest(control, "c" * 64)).failures == 5
    assert (await codes.by_digest(control, "d" * 64)).failures == 0
    await control.apply([codes.clear(LATER + timedelta(seconds=1))])
    assert await codes.by_digest(control, "d" * 64) is None
    assert await codes.by_digest(control, "c" * 64) is not None


async def test_a_refresh_token_has_one_successor_of_many_at_the_same_moment(control):
    await control.apply([tokens.insert(a_token())])
    assert await tokens.by_digest(control, "t" * 64) == a_token()

    def following(number: int) -> Any:
        next_one = a_token(f"{number:064}")
        spent = a_token(spent=LATER, salt="s" * 64, request="r" * 64, successor=next_one.digest)
        return control.apply([tokens.spend(spent), tokens.insert(next_one)])

    done = await asyncio.gather(*(following(number) for number in range(20)), return_exceptions=True)
    assert sorted(isinstance(one, Conflict) for one in done) == [False] + [True] * 19
    spent = await tokens.by_digest(control, "t" * 64)
    made = [await tokens.by_digest(control, f"{number:064}") for number in range(20)]
    assert [one.digest for one in made if one is not None] == [spent.successor]


async def test_tokens_end_by_family_by_kind_and_by_connection(control):
    made = {
        "a": a_token("a" * 64),
        "b": a_token("b" * 64, kind="access"),
        "c": a_token("c" * 64, family="other"),
        "d": a_token("d" * 64, family="other", kind="access"),
        "e": a_token("e" * 64, grant="another"),
        "f": a_token("f" * 64, vault=THEIRS),
    }
    await control.apply([tokens.insert(one) for one in made.values()])

    async def ended() -> set[str]:
        found = {name: await tokens.by_digest(control, one.digest) for name, one in made.items()}
        return {name for name, one in found.items() if one is not None and one.ended is not None}

    assert await tokens.other_families(control, MINE, "g", "f", NOON) == 1
    await control.apply([tokens.end_family(MINE, "g", "f", LATER)])
    assert await ended() == {"a", "b"}
    await control.apply([tokens.end_access(MINE, "g", LATER)])
    assert await ended() == {"a", "b", "d"}
    await control.apply([tokens.end_all(MINE, "g", LATER)])
    assert await ended() == {"a", "b", "c", "d"}
    assert await tokens.other_families(control, MINE, "g", "f", NOON) == 0
    spent = replace(made["a"], spent=LATER, salt="s" * 64, successor="x" * 64)
    with pytest.raises(Conflict):
        await control.apply([tokens.spend(spent)])
    await control.apply([tokens.clear(made["a"].until + timedelta(seconds=1))])
    assert await tokens.by_digest(control, made["f"].digest) is None


async def test_a_token_stands_on_connection_vault_member_person_and_app(control):
    """Each is taken away alone, and with any of them the standing is gone."""
    await control.apply([
        users.insert(a_user()), vaults.insert(a_vault()), members.insert(a_member(role="member")),
        clients.insert(a_client()), grants.insert(a_grant()),
    ])  # fmt: skip
    standing = Standing(ANA, READ_WRITE, "app.example", "member")
    assert await tokens.standing(control, MINE, "g") == standing
    assert await tokens.standing(control, THEIRS, "g") is None
    taken = [
        (users.set_disabled(ANA, LATER), users.set_disabled(ANA, None)),
        (members.remove(MINE, ANA), members.insert(a_member(role="member"))),
        (clients.set_blocked(a_client().digest, LATER), clients.set_blocked(a_client().digest, None)),
        (vaults.remove(MINE, LATER), None),
    ]
    for away, back in taken:
        await control.apply([away])
        assert await tokens.standing(control, MINE, "g") is None
        if back is not None:
            await control.apply([back])
            assert await tokens.standing(control, MINE, "g") == standing


async def test_uses_are_counted_on_top_of_each_other(control):
    once = Use(vault=MINE, credential="g", operation="search", outcome="done", count=3, first=NOON, last=LATER)
    later = replace(once, count=4, first=LATER, last=LATER + timedelta(days=1))
    await control.apply([*uses.add(once)])
    await control.apply([*uses.add(later), *uses.add(replace(once, outcome="refused", count=1))])
    assert (await uses.of_vault(control, MINE))[0] == replace(once, count=7, last=later.last)
    seen = await uses.seen(control, MINE, "g")
    assert (seen.first, seen.last) == (NOON, later.last)
    assert await uses.seen(control, THEIRS, "g") is None
    assert (await uses.last_in(control, MINE), await uses.last_in(control, THEIRS)) == (later.last, None)


async def test_uses_that_many_count_at_once_are_all_counted(control):
    once = Use(vault=MINE, credential="g", operation="search", outcome="done", count=1, first=NOON, last=NOON)
    await control.apply([*uses.add(once)])
    await asyncio.gather(*(control.apply([*uses.add(once)]) for _ in range(20)))
    assert [one.count for one in await uses.of_vault(control, MINE)] == [21]


# Keys


def a_key(id: str, **changes: Any) -> Key:
    made = Key(
        id=KeyId(id),
        vault=MINE,
        digest=id * 64,
        start="mk_abcdef",
        name="",
        owner=LOCAL_OWNER,
        scopes=ALL_SCOPES,
        created=NOON,
    )
    return replace(made, **changes)


async def test_keys_that_are_alive_are_listed_whoever_owns_them(control):
    made = [a_key("a"), a_key("b", owner=BOB, created=LATER), a_key("c", vault=THEIRS), a_key("d", kind="account")]
    await control.apply([keys.insert(one) for one in made])
    assert {one.id for one in await keys.alive(control)} == {"a", "b", "c", "d"}
    assert [one.id for one in await keys.of_vault(control, MINE)] == ["a", "d", "b"]
    await control.apply([keys.revoke_of(MINE, LOCAL_OWNER, LATER)])
    assert {one.id for one in await keys.alive(control)} == {"b", "c"}
    await control.apply([keys.expire(MINE, KeyId("b"), LATER)])
    assert await keys.by_digest(control, "b" * 64) == replace(made[1], expires=LATER)
    with pytest.raises(Conflict):
        await control.apply([keys.expire(MINE, KeyId("a"), LATER)])
