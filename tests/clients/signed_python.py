"""The Python SDK's client as an app that signs its person in: one program that keeps running between its visits.

`OAuthClientProvider` asks the program for a way to open a browser and for the answer that comes back. The SDK knows
when a token expires only as long as the program runs: started anew it sends what it has, and on a 401 it asks the
person again instead of refreshing. So a provider lives here as long as its home.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.clients.callbacks import Callback, callback
from tests.clients.programs import SECONDS
from tests.clients.visits import Errand, Signed


@dataclass(slots=True)
class Kept:
    """What an app keeps of its registration and its tokens."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass(slots=True)
class Program:
    """A running program; `callback` is where it listens while it visits."""

    target: Signed
    home: Path
    callback: Callback = field(default_factory=Callback)
    provider: OAuthClientProvider = field(init=False)

    def __post_init__(self) -> None:
        metadata = OAuthClientMetadata(
            client_name="Python SDK",
            redirect_uris=[AnyUrl("http://127.0.0.1/callback")],
            token_endpoint_auth_method="none",
        )
        self.provider = OAuthClientProvider(
            self.target.url, metadata, Kept(), redirect_handler=self.show, callback_handler=self.answer
        )

    async def show(self, address: str) -> None:
        env = self.target.environment(self.home)
        await anyio.run_process([env["BROWSER"], address], env=env)

    async def answer(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**await self.callback.answer())


_PROGRAMS: dict[Path, Program] = {}


@asynccontextmanager
async def entered(errand: Errand, target: Signed) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client that signs in when it must."""
    program = _PROGRAMS.setdefault(errand.home, Program(target, errand.home))
    context = program.provider.context
    if context.token_expiry_time is not None:
        context.token_expiry_time -= errand.later
    async with callback() as program.callback:
        context.client_metadata.redirect_uris = [AnyUrl(program.callback.address)]
        async with httpx2.AsyncClient(auth=program.provider, timeout=SECONDS) as http:
            yield http
