"""Connections and their tokens: what a person allowed an app, and what the app holds for it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from archivist.domain.access import Scope
from archivist.domain.ids import UserId, VaultId
from archivist.domain.toolsets import Toolset

CODE = timedelta(seconds=60)
ACCESS = timedelta(minutes=60)
REFRESH_IDLE = timedelta(days=60)
REFRESH_TOTAL = timedelta(days=180)
GRACE = timedelta(seconds=30)
"""For so long a refresh that is repeated gets the same answer: clients run as several processes with one token."""

TRANSACTION = timedelta(minutes=10)
INERT = timedelta(milliseconds=800)
"""An approval that comes earlier was not read; the page is shown again."""

RESUMED = timedelta(minutes=10)
"""An app that gave its access back and asks again so soon is the same connection: some do so to ask for more."""

FAILURES = 3
"""So many wrong attempts spend a code."""

Reason = Literal["", "revoked", "signed_off", "reused", "membership", "blocked", "vault", "administrator"]
"""revoked: by its person. signed_off: by the app. reused: a spent token was shown once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A connection: one person, one app, one vault, one tool set, and the scopes allowed."""

    vault: VaultId
    id: str
    user: UserId
    client: str
    client_name: str
    host: str
    shown: str
    toolset: Toolset
    scopes: frozenset[Scope]
    created: datetime
    approved: datetime
    ended: datetime | None = None
    reason: Reason = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationCode:
    """What a code is good for; every value of it must be met at the exchange."""

    vault: VaultId
    digest: str
    grant: str
    family: str
    client: str
    redirect_uri: str
    challenge: str
    toolset: Toolset
    scopes: frozenset[Scope]
    session: str
    created: datetime
    expires: datetime
    spent: datetime | None = None
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An access or a refresh token. family: all that descends from one code. until: the end of that family.

    salt, request and successor belong to a spent refresh token: see `domain.secrets.derived`.
    """

    vault: VaultId
    digest: str
    kind: Literal["access", "refresh"]
    grant: str
    family: str
    client: str
    toolset: Toolset
    scopes: frozenset[Scope]
    created: datetime
    expires: datetime
    until: datetime
    ended: datetime | None = None
    spent: datetime | None = None
    salt: str = ""
    request: str = ""
    successor: str = ""


def access_token(of: AuthorizationCode | Token, digest: str, scopes: frozenset[Scope], now: datetime) -> Token:
    """An access token of the family of `of`."""
    return _token(of, digest, now, kind="access", scopes=scopes, expires=now + ACCESS, until=now + ACCESS)


def refresh_token(of: AuthorizationCode | Token, digest: str, now: datetime) -> Token:
    """The next refresh token of a family: it keeps the family's scopes and its end."""
    until = of.until if isinstance(of, Token) else now + REFRESH_TOTAL
    expires = min(now + REFRESH_IDLE, until)
    return _token(of, digest, now, kind="refresh", scopes=of.scopes, expires=expires, until=until)


def _token(
    of: AuthorizationCode | Token,
    digest: str,
    now: datetime,
    *,
    kind: Literal["access", "refresh"],
    scopes: frozenset[Scope],
    expires: datetime,
    until: datetime,
) -> Token:
    return Token(
        vault=of.vault,
        digest=digest,
        kind=kind,
        grant=of.grant,
        family=of.family,
        client=of.client,
        toolset=of.toolset,
        scopes=scopes,
        created=now,
        expires=expires,
        until=until,
    )
