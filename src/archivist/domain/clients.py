"""Apps that ask to be connected: how they are known, and when they are forgotten again."""

import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from archivist.domain.redirects import matches
from archivist.domain.secrets import digest

Kind = Literal["registered", "document", "confidential"]
"""registered: made itself known (RFC 7591). document: its id is the address of a document about it. confidential: made
by an administrator, with a secret."""

Method = Literal["none", "client_secret_basic", "client_secret_post"]
UNUSED = timedelta(hours=24)
"""A client that nobody allowed is forgotten after so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What is known of an app. Nothing that it says about itself is proof; where answers go is what counts.

    secret: the digest of a confidential client's secret. host: of the document's address, for a client known by one.
    """

    digest: str
    client_id: str
    kind: Kind
    name: str
    redirect_uris: tuple[str, ...]
    secret: str
    method: Method
    created: datetime
    approved: datetime | None = None
    blocked: datetime | None = None

    def returns_to(self, redirect_uri: str) -> bool:
        """Whether answers may go to `redirect_uri`."""
        return any(matches(registered, redirect_uri) for registered in self.redirect_uris)

    def is_named(self, by: str) -> bool:
        """Whether a row that holds the digest `by` is about this app."""
        return hmac.compare_digest(self.digest, by)

    @property
    def shown(self) -> str:
        """A digest of what a person saw and allowed: another one means that the app has changed since."""
        return digest("\n".join([self.name, *sorted(self.redirect_uris)]))


def client_digest(client_id: str) -> str:
    """By which a client is looked up: its id may be longer than a key can be."""
    return digest(client_id)
