"""The whole server on a port of this computer, for a browser to come to; its clock stands until it is moved."""

import secrets
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pyotp

from archivist.app import OWNER, App
from archivist.domain.access import ALL_SCOPES, Principal, Scope
from archivist.domain.clients import Client
from archivist.domain.ids import VaultId
from archivist.domain.toolsets import PATHS, Toolset
from archivist.fetching.documents import Fetched, FetchFailed
from archivist.server import asgi
from archivist.services.sign_in import Visitor
from archivist.services.tokens import Pair
from archivist.settings import Settings
from tests.builders import Clock
from tests.conformance.fixtures.serving import served
from tests.faces.web.browsing_in_process import an_app
from tests.people import challenge_of

ANA, PASSWORD = "Ana", "correct horse battery"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0"
LOOPBACK = "http://127.0.0.1:33418/callback"


@dataclass(slots=True)
class Library:
    """Metadata documents by address, in place of the internet; of any other address nothing can be had."""

    documents: dict[str, bytes] = field(default_factory=dict)

    async def fetch(self, address: str) -> Fetched:
        if address not in self.documents:
            raise FetchFailed("not_resolved")
        return Fetched(self.documents[address], timedelta(hours=1))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that an app asks: `address` is where it sends the browser; `verifier` is what only the app knows."""

    client: Client | None
    address: str
    verifier: str
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class House:
    """A server at `address`. `library` is all of the internet that it sees."""

    app: App
    clock: Clock
    library: Library
    address: str

    async def set_up_link(self) -> str:
        """What the server prints when it starts for the first time."""
        return f"{self.address}/set-up/{await self.app.accounts.set_up_link(OWNER)}"

    async def set_up(self) -> Principal:
        """Ana's account, the first one, with a vault of her own; she sits in a browser that no test shows."""
        link = await self.app.accounts.set_up_link(OWNER)
        assert link
        await self.app.accounts.set_up(link, ANA, PASSWORD)
        return await self.person(ANA)

    async def person(self, name: str, agent: str = FIREFOX) -> Principal:
        """Somebody who has an account, in a new browser and in their own vault."""
        user = await self.app.accounts.named(OWNER, name)
        entered = await self.app.sign_in.by_link(user.id, Visitor(address="192.0.2.1", agent=agent))
        _, who, _ = await self.app.sign_in.session(entered.secret)
        return replace(who, vault=(await self.app.vaults.personal(who)).id)

    async def register(self, name: str, *redirect_uris: str) -> Client:
        """An app that has introduced itself, each from a network of its own: there are limits."""
        said = {"client_name": name, "redirect_uris": list(redirect_uris)}
        return await self.app.clients.register(said, f"10.0.0.{len(await self.app.clients.list(OWNER))}")

    def asked(self, client: Client | str, redirect_uri: str, scope: str = "", toolset: Toolset = "vault") -> Asked:
        """What an app asks, with the state `a state`; a text is the id of one that is known by its document."""
        verifier = secrets.token_urlsafe(48)
        query: Mapping[str, str] = {
            "response_type": "code",
            "client_id": client if isinstance(client, str) else client.client_id,
            "redirect_uri": redirect_uri,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
            "resource": f"{self.address}{PATHS[toolset]}",
            "state": "a state",
            **({"scope": scope} if scope else {}),
        }
        address = f"{self.address}/oauth/authorize?{urlencode(query)}"
        return Asked(None if isinstance(client, str) else client, address, verifier, redirect_uri)

    async def exchanged(self, asked: Asked, code: str) -> Pair:
        """The tokens that the app gets for a code."""
        assert asked.client
        return await self.app.tokens.exchange(
            asked.client, code=code, verifier=asked.verifier, redirect_uri=asked.redirect_uri, resources=[]
        )

    async def let_in(
        self,
        who: Principal,
        client: Client,
        scopes: frozenset[Scope] = ALL_SCOPES,
        *,
        vault: VaultId | None = None,
        toolset: Toolset = "vault",
    ) -> tuple[str, Pair]:
        """An app that somebody allows without any page: the id of the connection, and its first tokens."""
        asked = self.asked(client, client.redirect_uris[0], toolset=toolset)
        pending = await self.app.authorizations.begin(who, parse_qs(urlsplit(asked.address).query))
        self.clock.move(seconds=1)
        decided = await self.app.authorizations.allow(who, pending.secret, vault or who.vault, scopes)
        pair = await self.exchanged(asked, decided.parameters["code"])
        return (await self.app.connections.list(who))[0].grant.id, pair

    def code_of(self, secret: str) -> str:
        """What an authenticator app shows now that took up `secret`, which may be written in groups."""
        return pyotp.TOTP("".join(secret.split())).at(int(self.clock.now.timestamp()))


@asynccontextmanager
async def opened(data: Path) -> AsyncIterator[House]:
    """A server that nobody has set up, while the block runs."""
    clock, library = Clock(), Library()
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
        app = an_app(data, clock, port=port)
        app.documents._source = library
        await app.start()
        try:
            async with served(asgi(app, Settings(data=data, port=port)), bound) as address:
                yield House(app, clock, library, address)
        finally:
            await app.close()
