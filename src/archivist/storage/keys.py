"""API keys in the control database: digests, never the keys."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.ids import KeyId, UserId, VaultId
from archivist.domain.keys import Key
from archivist.domain.times import micros
from archivist.storage.database import AT_ONCE, Database, Write
from archivist.storage.schema import keys
from archivist.storage.shapes import Shape

_SHAPE = Shape(of=Key, times=("created", "expires", "revoked"), scopes=("scopes",))
_THIS = (
    keys.c.vault == sa.bindparam("of_vault", type_=sa.String),
    keys.c.id == sa.bindparam("of_id", type_=sa.String),
)
_INSERT = sa.insert(keys)
_REVOKE = sa.update(keys).where(*_THIS, keys.c.revoked.is_(None))
_EXPIRE = _REVOKE.where(sa.or_(keys.c.expires.is_(None), keys.c.expires >= sa.bindparam("sooner", type_=sa.BigInteger)))
_END_OWNER = sa.update(keys).where(
    keys.c.vault == sa.bindparam("of_vault", type_=sa.String),
    keys.c.owner == sa.bindparam("of_owner", type_=sa.String),
    keys.c.revoked.is_(None),
)
_DELETE = sa.delete(keys).where(*_THIS)
_BY_DIGEST = (
    sa.select(keys).where(keys.c.digest == sa.bindparam("of_digest", type_=sa.String)).execution_options(**AT_ONCE)
)
_OF_VAULT = (
    sa.select(keys).where(keys.c.vault == sa.bindparam("of_vault", type_=sa.String)).order_by(keys.c.created, keys.c.id)
)
_ALIVE = sa.select(keys).where(keys.c.revoked.is_(None)).order_by(keys.c.created, keys.c.id)
_OF_OWNER = (
    sa.select(keys).where(keys.c.owner == sa.bindparam("of_owner", type_=sa.String)).order_by(keys.c.created, keys.c.id)
)


def insert(key: Key) -> Write:
    return Write(_INSERT, rows=(_SHAPE.row(key),))


def revoke(vault: VaultId, id: KeyId, now: datetime) -> Write:
    """Conflicts if it is gone or revoked already."""
    return Write(_REVOKE, must_change=True, rows=({"of_vault": vault, "of_id": id, "revoked": micros(now)},))


def expire(vault: VaultId, id: KeyId, at: datetime) -> Write:
    """It works until then; conflicts if it is gone, revoked, or ends before that."""
    row = {"of_vault": vault, "of_id": id, "sooner": micros(at), "expires": micros(at)}
    return Write(_EXPIRE, must_change=True, rows=(row,))


def revoke_of(vault: VaultId, owner: UserId, now: datetime) -> Write:
    """Every key of a person in a vault."""
    return Write(_END_OWNER, rows=({"of_vault": vault, "of_owner": owner, "revoked": micros(now)},))


def delete(vault: VaultId, id: KeyId) -> Write:
    """Conflicts if it is gone already."""
    return Write(_DELETE, must_change=True, rows=({"of_vault": vault, "of_id": id},))


async def by_digest(db: Database, digest: str) -> Key | None:
    """The key of this digest, revoked and expired ones too."""
    rows = await db.read(_BY_DIGEST, {"of_digest": digest})
    return _SHAPE.value(rows[0]) if rows else None


async def of_vault(db: Database, vault: VaultId) -> Sequence[Key]:
    """Everybody's of a vault, oldest first."""
    return [_SHAPE.value(row) for row in await db.read(_OF_VAULT, {"of_vault": vault})]


async def of_owner(db: Database, owner: UserId) -> Sequence[Key]:
    """Oldest first."""
    return [_SHAPE.value(row) for row in await db.read(_OF_OWNER, {"of_owner": owner})]


async def alive(db: Database) -> Sequence[Key]:
    """Everybody's that are not revoked, oldest first."""
    return [_SHAPE.value(row) for row in await db.read(_ALIVE)]
