"""A house in which people have lived for a while: vaults, members, apps, keys, made through the services."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from archivist.app import OWNER
from archivist.domain.access import Principal, Scope
from archivist.domain.errors import ApprovalRequired
from archivist.domain.ids import VaultId
from archivist.domain.rejections import Rejected
from archivist.domain.roles import Role
from archivist.services.deletion import DELETE_ALL
from tests.pages.house import ANA, LOOPBACK, PASSWORD, House
from tests.pages.samples import ARABIC, LONGEST

READ, READ_WRITE = frozenset({Scope.READ}), frozenset({Scope.READ, Scope.WRITE})
OLAFUR = "Ólafur Arnalds"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 26_1 like Mac OS X) AppleWebKit/605.1.15 Version/26.1 Mobile Safari/604.1"
FACTS = (
    "The boat is hauled out in the first week of October; the yard wants a call two weeks before.",
    "The key to the shed hangs behind the second beam, on the left.",
    "Varnish: two coats of the thin one, then three of the thick one, a day between each.",
    "The mooring is paid until the end of May. The harbour master is Sigríður.",
    "Fuel filter: the part number on the old one is wrong, order by the engine's number.",
    "Ana prefers answers without a preamble, and metric units.",
)


@dataclass(frozen=True, slots=True)
class Home:
    """Ids of what stands in a furnished house. shared: the vault with members; ours: the one of somebody else.

    factor: the secret of Ólafur's second step.
    """

    shared: VaultId
    ours: VaultId
    connection: str
    idle: str
    factor: str


async def furnished(house: House) -> Home:
    """Half a year of Ana and those around her."""
    ana = await house.set_up()
    house.clock.move(days=40)
    shared = await _vault(house, ana, "Boathouse")
    await _vault(house, ana, LONGEST)
    bob, lina, _guest = [await _joined(house, name) for name in (OLAFUR, ARABIC, LONGEST)]
    for person, role in ((bob, "admin"), (lina, "member")):
        await _member(house, ana, person, shared, role)
    ours = await _vault(house, bob, "Harbour notes")
    await _member(house, bob, ana, ours, "viewer")
    await house.app.accounts.set_disabled(OWNER, ARABIC, disabled=True)
    for vault in (shared, ana.vault):
        await _remembered(house, replace(ana, vault=vault))
    connection, idle = await _apps(house, await house.person(ANA), shared)  # apps are let in by a session that is alive
    key = await _keys(house, ana, shared)
    await _used(house, ana, shared, connection, key)
    await house.app.members.invite(ana, shared, "member")
    house.clock.move(hours=5)
    await house.app.members.invite(bob, shared, "viewer")
    await house.person(ANA, SAFARI)
    await house.person(ANA, "")
    factor = await _second_step(house, await house.person(OLAFUR))
    return Home(shared, ours, connection, idle, factor)


async def emptying(house: House, home: Home) -> str:
    """An app wants to empty the shared vault, in which owners are asked now: the question, as long as it is open."""
    ana = await house.person(ANA)
    await house.app.approvals.choose(ana, home.shared, "page")
    app = replace(ana, vault=home.shared, credential="oauth", credential_id=home.connection)
    try:
        await house.app.deletion.forget_all(app, DELETE_ALL)
    except ApprovalRequired as question:
        return question.approval
    raise AssertionError("nobody was asked")


async def _vault(house: House, who: Principal, name: str) -> VaultId:
    house.clock.move(hours=3)
    return (await house.app.vaults.create(who, name, "project" if len(name) > 20 else "organization")).id


async def _joined(house: House, name: str) -> Principal:
    house.clock.move(days=4)
    await house.app.accounts.join(await house.app.accounts.invite(OWNER), name, PASSWORD)
    return await house.person(name)


async def _member(house: House, owner: Principal, person: Principal, vault: VaultId, role: Role) -> None:
    house.clock.move(days=1, minutes=7)
    await house.app.accounts.accept(person, await house.app.members.invite(owner, vault, role))


async def _remembered(house: House, who: Principal) -> None:
    for fact in FACTS:
        house.clock.move(minutes=11)
        await house.app.memories.store(who, text=fact, tags=["boat"])


async def _apps(house: House, ana: Principal, shared: VaultId) -> tuple[str, str]:
    """One that is used, one that is not; one whose token was in the wrong hands; and one that is blocked."""
    claude = await house.register("Claude Code", LOOPBACK)
    used, _ = await house.let_in(ana, claude, READ_WRITE, vault=shared)
    await house.let_in(ana, claude, toolset="coding")
    notes = await house.register(
        "Notes that find themselves again", "https://a-rather-long-name-of-a-host.example/back"
    )
    idle, _ = await house.let_in(ana, notes, READ)
    copied = await house.register(ARABIC, "https://xn--mgbh0fb.example/back")
    _, pair = await house.let_in(ana, copied, vault=shared)
    await house.app.tokens.refresh(copied, token=pair.refresh, scope="", resources=[])
    house.clock.move(hours=2)
    with suppress(Rejected):
        await house.app.tokens.refresh(copied, token=pair.refresh, scope="", resources=[])
    blocked = await house.register("Sync", "https://sync.example/back")
    await house.app.clients.set_blocked(ana, blocked.client_id, blocked=True)
    return used, idle


async def _second_step(house: House, who: Principal) -> str:
    offer = await house.app.factors.offer(who, OLAFUR)
    await house.app.factors.accept(who, offer.sealed, house.code_of(offer.secret), keep=who.credential_id)
    return offer.secret


async def _keys(house: House, ana: Principal, shared: VaultId) -> str:
    """One in use, one that was ended, one that never ends; the id of the first."""
    made: list[str] = []
    for name, scopes, days in (("laptop hook", READ_WRITE, 90), ("old laptop", READ, 30), ("nightly export", READ, 0)):
        house.clock.move(hours=7)
        expires = house.clock.now + timedelta(days=days) if days else None
        key, _ = await house.app.keys.create(replace(ana, vault=shared), name=name, scopes=scopes, expires=expires)
        made.append(key.id)
    await house.app.keys.revoke(ana, made[1])
    return made[0]


async def _used(house: House, ana: Principal, vault: VaultId, connection: str, key: str) -> None:
    """What an app and a key did: most of it allowed."""
    app = replace(ana, vault=vault, scopes=READ_WRITE, credential="oauth", credential_id=connection)
    hook = replace(app, credential="key", credential_id=key)
    for who, operation, times, outcome in (
        (app, "search_memories", 1312, "done"), (app, "store_memory", 41, "done"), (hook, "memory_status", 96, "done"),
        (app, "delete_memories", 2, "insufficient_scope"),
    ):  # fmt: skip
        for _ in range(times):
            house.app.counting.note(who, operation, outcome)
        house.clock.move(hours=1)
    await house.app.counting.flush()
    for number in range(60):
        house.clock.move(minutes=13)
        await house.app.memories.store(app if number % 3 else hook, text=f"Log line {number}: the pump ran.")
