"""What whoever runs the server decides: which apps' addresses are taken, what ends at once, and that it stays ended."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from archivist.app import OWNER, App, assemble
from archivist.domain import grants as rules
from archivist.domain import secrets
from archivist.domain.access import ALL_SCOPES, Principal
from archivist.domain.clients import Client, client_digest
from archivist.domain.errors import Conflict, NotFound, Unauthenticated
from archivist.domain.grants import AuthorizationCode, Grant
from archivist.domain.rejections import Rejected, Unanswerable
from archivist.embedders.hashed import HashedEmbedder
from archivist.oauth.metadata import authorization_server
from archivist.services.connections import Ended, Which
from archivist.settings import Settings
from archivist.storage import grants, tokens
from archivist.storage.people import clients
from archivist.storage.sqlite.stores import SqliteStores
from tests.people import READ_WRITE, VISITOR, arrived, connected, founded

pytestmark = pytest.mark.anyio
DOCUMENT = "https://app.example.org/client.json"
Started = Callable[..., AbstractAsyncContextManager[App]]


@pytest.fixture
async def ana(app: App) -> Principal:
    """Runs the server, and owns a vault."""
    return await founded(app, await arrived(app, "ana"), "garden")


@pytest.fixture
def started(tmp_path, clock) -> Started:
    """The same folder, or another one, served with other settings or at another time."""

    @asynccontextmanager
    async def start(data=tmp_path / "data", **given) -> AsyncIterator[App]:
        app = assemble(SqliteStores(data, now=clock), HashedEmbedder(), clock, Settings(data=data, **given))
        try:
            yield app
        finally:
            await app.close()

    return start


async def a_document_connection(app: App, who: Principal) -> tuple[Client, str]:
    """An app that is known by a document, let in, and its refresh token."""
    control, now = await app.stores.control(), app.connections.now()
    client = Client(
        digest=client_digest(DOCUMENT),
        client_id=DOCUMENT,
        kind="document",
        name="Reader",
        redirect_uris=("https://app.example.org/callback",),
        secret="",
        method="none",
        created=now,
        approved=now,
    )
    grant = Grant(
        vault=who.vault,
        id="0193b000-0000-7000-8000-0000000000aa",
        user=who.user,
        client=client.digest,
        client_name=client.name,
        host="app.example.org",
        shown=client.shown,
        toolset="vault",
        scopes=READ_WRITE,
        created=now,
        approved=now,
    )
    code = AuthorizationCode(
        vault=who.vault,
        digest="",
        grant=grant.id,
        family=grant.id,
        client=client.digest,
        redirect_uri="",
        challenge="",
        toolset="vault",
        scopes=READ_WRITE,
        session="",
        created=now,
        expires=now,
    )
    refresh = secrets.new("refresh")
    token = rules.refresh_token(code, secrets.digest(refresh), now)
    await control.apply([clients.insert(client), grants.insert(grant), tokens.insert(token)])
    return client, refresh


@pytest.mark.parametrize(
    "given",
    [{"denied_hosts": ("app.example.org",)}, {"document_hosts": ("other.example.org",)}, {"client_documents": False}],
    ids=["denied", "not among the allowed", "switched off"],
)
async def test_sec_104_apps_of_a_refused_address_are_neither_fetched_nor_asked_about_nor_refreshed(
    app, ana, started, given, monkeypatch
):
    client, refresh = await a_document_connection(app, ana)
    async with started(**given) as later:
        monkeypatch.setattr(type(later.documents), "get", _fetched)
        with pytest.raises(Unanswerable) as told:
            await later.clients.asking(ana, DOCUMENT)
        assert told.value.reason == "document_refused"
        with pytest.raises(Rejected) as refused:
            await later.tokens.refresh(client, token=refresh, scope="", resources=[])
        assert refused.value.error == "invalid_grant"
    async with started() as later:
        assert await later.tokens.refresh(client, token=refresh, scope="", resources=[])


async def test_sec_104_a_server_that_fetches_no_documents_does_not_announce_that_it_does(started):
    async with started() as on, started(client_documents=False) as off:
        told = [authorization_server("https://x.example.org", one.clients.policy) for one in (on, off)]
    assert [one.get("client_id_metadata_document_supported") for one in told] == [True, None]


async def _fetched(*_what: object) -> None:
    raise AssertionError("a document was asked for")


async def test_sec_132_what_ends_meanwhile_holds_nothing_up(app, ana, clock, monkeypatch):
    kept = await connected(app, clock, ana)
    ready = await connected(app, clock, ana)
    original, ended = grants.alive, []

    async def seen_and_ended(control):
        found = await original(control)
        if not ended:
            ended.append(ready.grant)
            await app.connections.end(ana, ready.grant)
        return found

    monkeypatch.setattr(grants, "alive", seen_and_ended)
    assert await app.connections.end_all(OWNER, Which()) == Ended(connections=1, keys=0, sessions=1)
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(kept.access, "vault")


async def test_a_vault_is_named_by_its_id_where_several_people_have_one_of_that_name(app, ana):
    bo = await founded(app, await arrived(app, "bo"), "Garden")
    with pytest.raises(Conflict, match=bo.vault):
        await app.vaults.anywhere(OWNER, "garden")
    assert (await app.vaults.anywhere(OWNER, bo.vault)).id == bo.vault


@pytest.mark.parametrize("fault", ["restart", "clock set back", "clock set forward", "restored copy"])
async def test_sec_136_what_was_taken_back_stays_taken_back(  # noqa: PLR0917 — fixtures come by name
    app, ana, clock, started, tmp_path, fault
):
    """A connection, a key, a session, a link and an app: each ended, and then something happens to the server."""
    reader, blocked = await connected(app, clock, ana), await connected(app, clock, ana, name="Writer")
    key, secret = await app.keys.create(ana, name="", scopes=ALL_SCOPES)
    entered = await app.sign_in.outside(ana.user, VISITOR)
    link = await app.accounts.recovery_link(OWNER, "ana")
    await app.accounts.recover(link, "correct horse battery")
    await app.connections.end(ana, reader.grant)
    await app.keys.revoke(ana, key.id)
    await app.clients.set_blocked(OWNER, blocked.client.client_id, blocked=True)
    data = tmp_path / "data"
    if fault == "restored copy":
        data = tmp_path / "copy"
        await app.stores.backup(data)
    clock.move(hours={"clock set back": -5, "clock set forward": 5}.get(fault, 0))
    async with started(data) as later:
        for credential in (reader.access, blocked.access, secret):
            with pytest.raises(Unauthenticated):
                await later.entering.authenticate(credential, "vault")
        for one in (reader, blocked):
            with pytest.raises(Rejected):
                await later.tokens.refresh(one.client, token=one.refresh, scope="", resources=[])
        with pytest.raises(Unauthenticated):
            await later.sign_in.session(entered.secret)
        with pytest.raises(NotFound):
            await later.accounts.recover(link, "an umbrella of seven seas")
