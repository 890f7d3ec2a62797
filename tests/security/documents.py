"""Documents that apps are known by, as the internet would give them; `asked` keeps which were asked for."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from archivist.app import App
from archivist.fetching.documents import Fetched, FetchFailed, Reason
from tests.security.signing_in import LOOPBACK


def a_document(**changes: Any) -> dict[str, Any]:
    """What an app says about itself; `client_id` is put in by whoever serves it."""
    return {"client_name": "A described app", "redirect_uris": [LOOPBACK], **changes}


@dataclass(slots=True)
class Shelf:
    """In place of the guarded fetch. `failure`: what every fetch ends in; `waits`: until it is set, nothing arrives."""

    documents: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    failure: Reason | None = None
    max_age: timedelta = timedelta(minutes=5)
    waits: asyncio.Event | None = None
    began: asyncio.Event = field(default_factory=asyncio.Event)

    @staticmethod
    def behind(app: App) -> "Shelf":
        """The shelf that this server finds documents on from now on."""
        shelf = Shelf()
        app.documents._source = shelf
        return shelf

    def put(self, address: str, document: Mapping[str, Any]) -> str:
        """Serve a document; its address."""
        self.documents[address] = json.dumps({"client_id": address, **document}).encode()
        return address

    async def fetch(self, address: str) -> Fetched:
        self.asked.append(address)
        self.began.set()
        if self.waits is not None:
            await self.waits.wait()
        if self.failure is not None:
            raise FetchFailed(self.failure)
        if address not in self.documents:
            raise FetchFailed("status")
        return Fetched(self.documents[address], self.max_age)
