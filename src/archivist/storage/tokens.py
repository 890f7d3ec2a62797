"""Access and refresh tokens in the control database: their digests, and what stands behind them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from archivist.domain.access import Scope
from archivist.domain.grants import Token
from archivist.domain.ids import UserId, VaultId
from archivist.domain.roles import CAPS, Role
from archivist.domain.times import micros
from archivist.storage.database import AT_ONCE, Database, Write
from archivist.storage.schema import vaults
from archivist.storage.schema_people import clients, grants, members, tokens, users
from archivist.storage.shapes import Shape, scopes_of

_SHAPE = Shape(of=Token, times=("created", "expires", "until", "ended", "spent"), scopes=("scopes",))
_MINE = tokens.c.vault == sa.bindparam("of_vault", type_=sa.String)
_THIS = (_MINE, tokens.c.digest == sa.bindparam("of_digest", type_=sa.String))
_OF_GRANT = (_MINE, tokens.c.grant == sa.bindparam("of_grant", type_=sa.String), tokens.c.ended.is_(None))
_INSERT = sa.insert(tokens)
_SPEND = sa.update(tokens).where(*_THIS, tokens.c.spent.is_(None), tokens.c.ended.is_(None))
_END_FAMILY = sa.update(tokens).where(*_OF_GRANT, tokens.c.family == sa.bindparam("of_family", type_=sa.String))
_END_ACCESS = sa.update(tokens).where(*_OF_GRANT, tokens.c.kind == "access")
_END_ALL = sa.update(tokens).where(*_OF_GRANT)
_BY_DIGEST = (
    sa.select(tokens).where(tokens.c.digest == sa.bindparam("of_digest", type_=sa.String)).execution_options(**AT_ONCE)
)
_OTHERS = (
    sa.select(sa.func.count().label("count"))
    .select_from(tokens)
    .where(
        *_OF_GRANT,
        tokens.c.kind == "refresh",
        tokens.c.spent.is_(None),
        tokens.c.family != sa.bindparam("of_family", type_=sa.String),
        tokens.c.expires > sa.bindparam("at", type_=sa.BigInteger),
    )
)
_CLEAR = sa.delete(tokens).where(tokens.c.until < sa.bindparam("before", type_=sa.BigInteger))
_STANDING: sa.Select[Any] = (
    sa.select(
        grants.c.user,
        grants.c.scopes,
        grants.c.host,
        members.c.role,
    )
    .join_from(grants, vaults, sa.and_(vaults.c.vault == grants.c.vault, vaults.c.removed.is_(None)))
    .join(members, sa.and_(members.c.vault == grants.c.vault, members.c.user == grants.c.user))
    .join(users, sa.and_(users.c.id == grants.c.user, users.c.disabled.is_(None)))
    .join(clients, sa.and_(clients.c.digest == grants.c.client, clients.c.blocked.is_(None)))
    .where(
        grants.c.vault == sa.bindparam("of_vault", type_=sa.String),
        grants.c.id == sa.bindparam("of_grant", type_=sa.String),
        grants.c.ended.is_(None),
    )
    .execution_options(**AT_ONCE)
)


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands behind a token now. It exists only while connection, vault, member, person and app all do."""

    user: UserId
    scopes: frozenset[Scope]
    host: str
    role: Role

    def allows(self, scopes: frozenset[Scope]) -> frozenset[Scope]:
        """What of a token's scopes is in force: no more than its connection holds and the role allows now."""
        return scopes & self.scopes & CAPS[self.role]


def insert(token: Token) -> Write:
    return Write(_INSERT, rows=(_SHAPE.row(token),))


def spend(token: Token) -> Write:
    """Note the successor of a refresh token; conflicts if it has one, or has ended."""
    row = _SHAPE.row(token)
    noted = {name: row[name] for name in ("spent", "salt", "request", "successor")}
    return Write(_SPEND, must_change=True, rows=({"of_vault": token.vault, "of_digest": token.digest, **noted},))


def end_family(vault: VaultId, grant: str, family: str, now: datetime) -> Write:
    row = {"of_vault": vault, "of_grant": grant, "of_family": family, "ended": micros(now)}
    return Write(_END_FAMILY, rows=(row,))


def end_access(vault: VaultId, grant: str, now: datetime) -> Write:
    """Every access token of a connection."""
    return Write(_END_ACCESS, rows=({"of_vault": vault, "of_grant": grant, "ended": micros(now)},))


def end_all(vault: VaultId, grant: str, now: datetime) -> Write:
    """Every token of a connection."""
    return Write(_END_ALL, rows=({"of_vault": vault, "of_grant": grant, "ended": micros(now)},))


def clear(before: datetime) -> Write:
    """Those whose family ended of age before then: nobody needs to know them any more."""
    return Write(_CLEAR, rows=({"before": micros(before)},))


async def by_digest(db: Database, digest: str) -> Token | None:
    """Spent, ended and expired ones, too."""
    rows = await db.read(_BY_DIGEST, {"of_digest": digest})
    return _SHAPE.value(rows[0]) if rows else None


async def other_families(db: Database, vault: VaultId, grant: str, family: str, now: datetime) -> int:
    """How many other families of a connection can still be refreshed: an app may run on several computers."""
    asked = {"of_vault": vault, "of_grant": grant, "of_family": family, "at": micros(now)}
    return int((await db.read(_OTHERS, asked))[0]["count"])


async def standing(db: Database, vault: VaultId, grant: str) -> Standing | None:
    rows = await db.read(_STANDING, {"of_vault": vault, "of_grant": grant})
    if not rows:
        return None
    row = rows[0]
    return Standing(UserId(row["user"]), scopes_of(row["scopes"]), row["host"], row["role"])
