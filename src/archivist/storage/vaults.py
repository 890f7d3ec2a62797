"""Vaults in the control database."""

import hashlib
from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.approvals import WANTED, Wanted
from archivist.domain.ids import UserId, VaultId
from archivist.domain.times import micros, moment
from archivist.domain.vaults import Vault, folded
from archivist.storage.database import Database, Row, Write
from archivist.storage.schema import vaults
from archivist.storage.schema_people import members

_MINE = vaults.c.vault == sa.bindparam("of_vault", type_=sa.String)
_PRESENT = vaults.c.removed.is_(None)
_INSERT = sa.insert(vaults)
_FIND = sa.select(vaults).where(_MINE, _PRESENT)
_ALL = sa.select(vaults).where(_PRESENT).order_by(vaults.c.created, vaults.c.vault)
_IDS = sa.select(vaults.c.vault).where(_PRESENT).order_by(vaults.c.vault)
_OF_MEMBER = (
    sa.select(vaults)
    .join_from(vaults, members, members.c.vault == vaults.c.vault)
    .where(members.c.user == sa.bindparam("of_user", type_=sa.String), _PRESENT)
    .order_by(vaults.c.created, vaults.c.vault)
)
_REMOVE = sa.update(vaults).where(_MINE, _PRESENT)
_SET_APPROVAL = sa.update(vaults).where(_MINE, _PRESENT)


def insert(vault: Vault) -> Write:
    """Conflicts if its owner has a vault of that name, however it is spelt."""
    row = {"vault": vault.id, "name": vault.name, "kind": vault.kind, "owner": vault.owner}
    times = {"created": micros(vault.created), "removed": None if vault.removed is None else micros(vault.removed)}
    more = {"name_digest": _name_digest(vault.owner, vault.name), "approval": WANTED.index(vault.approval)}
    return Write(_INSERT, rows=({**row, **times, **more},))


def set_approval(vault: VaultId, wanted: Wanted) -> Write:
    """Conflicts if the vault is not there."""
    return Write(_SET_APPROVAL, must_change=True, rows=({"of_vault": vault, "approval": WANTED.index(wanted)},))


def remove(vault: VaultId, now: datetime) -> Write:
    """Hide a vault and free its name; conflicts if it is not there."""
    gone = {"of_vault": vault, "removed": micros(now), "name_digest": f"removed:{vault}"}
    return Write(_REMOVE, must_change=True, rows=(gone,))


async def find(db: Database, vault: VaultId) -> Vault | None:
    rows = await db.read(_FIND, {"of_vault": vault})
    return _vault(rows[0]) if rows else None


async def of_member(db: Database, user: UserId) -> Sequence[Vault]:
    """Those that a person is in, oldest first."""
    return [_vault(row) for row in await db.read(_OF_MEMBER, {"of_user": user})]


async def everything(db: Database) -> Sequence[Vault]:
    """Everybody's, oldest first."""
    return [_vault(row) for row in await db.read(_ALL)]


async def ids(db: Database) -> Sequence[VaultId]:
    """Every vault that is not removed."""
    return [VaultId(row["vault"]) for row in await db.read(_IDS)]


def _name_digest(owner: UserId, name: str) -> str:
    """Owner and folded name as one: the length keeps the two apart."""
    return hashlib.sha256(f"{len(owner)}:{owner}{folded(name)}".encode()).hexdigest()


def _vault(row: Row) -> Vault:
    return Vault(
        id=VaultId(row["vault"]),
        name=row["name"],
        kind=row["kind"],
        owner=UserId(row["owner"]),
        created=moment(row["created"]),
        removed=None if row["removed"] is None else moment(row["removed"]),
        approval=WANTED[row["approval"]],
    )
