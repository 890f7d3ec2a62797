"""People of one server and what they let in, made through its services: what the pages do, without pages."""

import base64
import hashlib
import secrets
from dataclasses import dataclass, replace

from archivist.app import OWNER, App
from archivist.domain.access import ALL_SCOPES, Principal, Scope
from archivist.domain.clients import Client
from archivist.domain.ids import UserId, VaultId
from archivist.domain.roles import Role
from archivist.domain.toolsets import PATHS, Toolset
from archivist.services.sign_in import Visitor
from tests.builders import Clock

VISITOR = Visitor(address="127.0.0.1", agent="a browser")
TARGET = "http://127.0.0.1:9/callback"
READ, READ_WRITE = frozenset({Scope.READ}), frozenset({Scope.READ, Scope.WRITE})


@dataclass(frozen=True, slots=True)
class Connected:
    """An app that somebody let in. `grant` is the id of the connection."""

    client: Client
    grant: str
    code: str
    access: str
    refresh: str


def challenge_of(verifier: str) -> str:
    """S256, worked out apart from the code that it checks."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


async def arrived(app: App, name: str, *, administrator: bool = False) -> Principal:
    """Somebody new, in a browser. Whoever comes first runs the server."""
    user, _ = await app.accounts.create(OWNER, name, administrator=administrator)
    return await visiting(app, user.id)


async def visiting(app: App, user: UserId) -> Principal:
    """Somebody who has an account, in one more browser."""
    entered = await app.sign_in.outside(user, VISITOR)
    _, who, _ = await app.sign_in.session(entered.secret)
    return who


async def joined(app: App, owner: Principal, person: Principal, vault: VaultId, role: Role) -> Principal:
    """The same person, in a vault that they were invited into."""
    await app.accounts.accept(person, await app.members.invite(owner, vault, role))
    return replace(person, vault=vault)


async def founded(app: App, owner: Principal, name: str) -> Principal:
    """The same person, in a new vault of theirs."""
    return replace(owner, vault=(await app.vaults.create(owner, name, "project")).id)


async def connected(
    app: App,
    clock: Clock,
    who: Principal,
    scopes: frozenset[Scope] = ALL_SCOPES,
    *,
    toolset: Toolset = "vault",
    name: str = "Reader",
) -> Connected:
    """An app let into the vault of `who`."""
    client = await app.clients.register({"client_name": name, "redirect_uris": [TARGET]}, "127.0.0.1")
    verifier = secrets.token_urlsafe(48)
    asked = {
        "response_type": ["code"],
        "client_id": [client.client_id],
        "redirect_uri": [TARGET],
        "code_challenge": [challenge_of(verifier)],
        "code_challenge_method": ["S256"],
        "resource": [f"http://127.0.0.1:8765{PATHS[toolset]}"],
    }
    pending = await app.authorizations.begin(who, asked)
    clock.move(seconds=1)
    code = (await app.authorizations.allow(who, pending.secret, who.vault, scopes)).parameters["code"]
    pair = await app.tokens.exchange(client, code=code, verifier=verifier, redirect_uri=TARGET, resources=[])
    grant = next(one.grant for one in await app.connections.list(who) if one.grant.client == client.digest)
    return Connected(client, grant.id, code, pair.access, pair.refresh)
