"""Codes and tokens of a folder that servers have open, made through its services: what the pages do, without pages."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from archivist.app import OWNER, App, build
from archivist.domain.access import Scope
from archivist.domain.clients import Client
from archivist.domain.times import utc_now
from archivist.services.sign_in import Visitor
from archivist.settings import Settings
from tests.people import challenge_of

PASSWORD = "correct horse battery staple"
TARGET = "http://127.0.0.1:9/callback"
READ = frozenset({Scope.READ})


@dataclass(slots=True)
class Shifted:
    """The true time, and what was added to it."""

    by: timedelta = timedelta(0)

    def __call__(self) -> datetime:
        return utc_now() + self.by


@dataclass(frozen=True, slots=True)
class Ready:
    """A code that was not exchanged yet, with all that its exchange takes. `grant` is the connection."""

    client: str
    code: str
    verifier: str
    grant: str

    def exchange(self) -> dict[str, str]:
        return {
            "grant_type": "authorization_code",
            "client_id": self.client,
            "code": self.code,
            "code_verifier": self.verifier,
            "redirect_uri": TARGET,
        }

    def refresh(self, token: str) -> dict[str, str]:
        return {"grant_type": "refresh_token", "client_id": self.client, "refresh_token": token}


@dataclass(frozen=True, slots=True)
class Household:
    """The services of a folder with one account, and an app that asks for it."""

    app: App
    client: Client
    clock: Shifted = field(default_factory=Shifted)

    async def code(self, scopes: frozenset[Scope] = READ) -> Ready:
        """Sign in, be asked, allow. The question is dated back, so that it was looked at for long enough."""
        entered = await self.app.sign_in.password(Visitor(address="127.0.0.1"), "owner", PASSWORD)
        _, who, _ = await self.app.sign_in.session(entered.secret)
        verifier = secrets.token_urlsafe(48)
        asked = {
            "response_type": ["code"],
            "client_id": [self.client.client_id],
            "redirect_uri": [TARGET],
            "code_challenge": [challenge_of(verifier)],
            "code_challenge_method": ["S256"],
        }
        self.clock.by = timedelta(seconds=-2)
        pending = await self.app.authorizations.begin(who, asked)
        self.clock.by = timedelta(0)
        decided = await self.app.authorizations.allow(who, pending.secret, pending.choices[0].vault.id, scopes)
        [connection] = await self.app.connections.list(OWNER)
        return Ready(self.client.client_id, decided.parameters["code"], verifier, connection.grant.id)


@asynccontextmanager
async def household(data: Path) -> AsyncIterator[Household]:
    """A folder with its first account, the personal vault, and a registered app."""
    clock = Shifted()
    app = build(Settings(data=data, embedder="none"), now=clock)
    try:
        link = await app.accounts.set_up_link(OWNER)
        await app.accounts.set_up(link or "", "owner", PASSWORD)
        await app.vaults.personal(OWNER)
        client = await app.clients.register({"client_name": "Racer", "redirect_uris": [TARGET]}, "127.0.0.1")
        yield Household(app, client, clock)
    finally:
        await app.close()
