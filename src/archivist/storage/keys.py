"""API keys in the control database: digests, never the keys."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.access import Scope
from archivist.domain.ids import KeyId, UserId, VaultId
from archivist.domain.keys import Key
from archivist.domain.times import micros, moment
from archivist.storage.database import Database, Row, Write
from archivist.storage.schema import keys

_THIS = (
    keys.c.vault == sa.bindparam("of_vault", type_=sa.String),
    keys.c.id == sa.bindparam("of_id", type_=sa.String),
)
_INSERT = sa.insert(keys)
_REVOKE = sa.update(keys).where(*_THIS, keys.c.revoked.is_(None))
_DELETE = sa.delete(keys).where(*_THIS)
_BY_DIGEST = sa.select(keys).where(keys.c.digest == sa.bindparam("of_digest", type_=sa.String))
_OF_OWNER = (
    sa.select(keys).where(keys.c.owner == sa.bindparam("of_owner", type_=sa.String)).order_by(keys.c.created, keys.c.id)
)


def insert(key: Key) -> Write:
    row = {"vault": key.vault, "id": key.id, "digest": key.digest, "start": key.start, "name": key.name}
    rights = {"owner": key.owner, "scopes": " ".join(sorted(scope.value for scope in key.scopes))}
    times = {"created": micros(key.created), "expires": _micros(key.expires), "revoked": _micros(key.revoked)}
    return Write(_INSERT, rows=({**row, **rights, **times},))


def revoke(vault: VaultId, id: KeyId, now: datetime) -> Write:
    """Conflicts if it is gone or revoked already."""
    return Write(_REVOKE, must_change=True, rows=({"of_vault": vault, "of_id": id, "revoked": micros(now)},))


def delete(vault: VaultId, id: KeyId) -> Write:
    """Conflicts if it is gone already."""
    return Write(_DELETE, must_change=True, rows=({"of_vault": vault, "of_id": id},))


async def by_digest(db: Database, digest: str) -> Key | None:
    """The key of this digest, revoked and expired ones too."""
    rows = await db.read(_BY_DIGEST, {"of_digest": digest})
    return _key(rows[0]) if rows else None


async def of_owner(db: Database, owner: UserId) -> Sequence[Key]:
    """Oldest first."""
    return [_key(row) for row in await db.read(_OF_OWNER, {"of_owner": owner})]


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


def _moment(stored: int | None) -> datetime | None:
    return None if stored is None else moment(stored)


def _key(row: Row) -> Key:
    return Key(
        id=KeyId(row["id"]),
        vault=VaultId(row["vault"]),
        digest=row["digest"],
        start=row["start"],
        name=row["name"],
        owner=UserId(row["owner"]),
        scopes=frozenset(Scope(word) for word in row["scopes"].split()),
        created=moment(row["created"]),
        expires=_moment(row["expires"]),
        revoked=_moment(row["revoked"]),
    )
