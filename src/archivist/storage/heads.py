"""Where each vault's log stands, its secret, and the vector space it wants. `control` has such a row too."""

from dataclasses import dataclass

import sqlalchemy as sa

from archivist.domain.changes import Head
from archivist.domain.errors import NotFound
from archivist.domain.ids import VaultId
from archivist.storage.database import AT_ONCE, Database, Write
from archivist.storage.schema import heads

_MINE = heads.c.vault == sa.bindparam("of_vault", type_=sa.String)
_EPOCH = heads.c.epoch == sa.bindparam("of_epoch", type_=sa.BigInteger)
_READ = sa.select(heads).where(_MINE).execution_options(**AT_ONCE)
_MAKE = sa.insert(heads)
_RAISE = sa.update(heads).where(_MINE, _EPOCH).values(seq=heads.c.seq + 1)
_RAISE_FROM = _RAISE.where(heads.c.seq == sa.bindparam("seen", type_=sa.BigInteger))
_FOLLOW = (
    sa.update(heads)
    .where(_MINE, _EPOCH, heads.c.seq == sa.bindparam("seen", type_=sa.BigInteger))
    .values({name: sa.bindparam(f"new_{name}") for name in ("epoch", "seq", "space")})
)
_EDIT = sa.update(heads).where(_MINE)
_ERASING = _EDIT.values(erasing=heads.c.seq)
_ERASED = _EDIT.where(heads.c.erasing <= sa.bindparam("upto", type_=sa.BigInteger)).values(erasing=0)


@dataclass(frozen=True, slots=True)
class Standing:
    """secret: 32 bytes, keys the vault's digests. space: of the vectors wanted, empty before the first.

    erasing: the seq of the last deletion whose bytes may still be in the files; 0 if there is none.
    """

    head: Head
    secret: bytes
    space: str
    erasing: int


async def read(db: Database, vault: VaultId) -> Standing:
    """Raises NotFound: the vault was never begun here."""
    rows = await db.read(_READ, {"of_vault": vault})
    if not rows:
        raise NotFound("no such vault")
    row = rows[0]
    return Standing(Head(row["epoch"], row["seq"]), bytes(row["secret"]), row["space"], row["erasing"])


def make(vault: VaultId, secret: bytes) -> Write:
    """Begin a vault's log. Conflicts if it has one."""
    return Write(_MAKE, rows=({"vault": vault, "epoch": 1, "seq": 0, "secret": secret, "space": "", "erasing": 0},))


def raise_seq(vault: VaultId, epoch: int) -> Write:
    """Count one commit; conflicts if the vault has another epoch by now."""
    return Write(_RAISE, must_change=True, rows=({"of_vault": vault, "of_epoch": epoch},))


def raise_seq_from(vault: VaultId, head: Head) -> Write:
    """Count one commit; conflicts if anything was committed since `head` was read, so what was read still holds."""
    return Write(_RAISE_FROM, must_change=True, rows=({"of_vault": vault, "of_epoch": head.epoch, "seen": head.seq},))


def follow(vault: VaultId, head: Head, to: Head, space: str) -> Write:
    """A copy of the vault moves from `head` to `to`; conflicts if somebody else moved it meanwhile."""
    new = {"new_epoch": to.epoch, "new_seq": to.seq, "new_space": space}
    return Write(
        _FOLLOW, must_change=True, rows=({"of_vault": vault, "of_epoch": head.epoch, "seen": head.seq, **new},)
    )


def set_secret(vault: VaultId, secret: bytes) -> Write:
    """A copy takes over the key of what it is a copy of."""
    return Write(_EDIT, must_change=True, rows=({"of_vault": vault, "secret": secret},))


def set_space(vault: VaultId, space: str) -> Write:
    return Write(_EDIT, must_change=True, rows=({"of_vault": vault, "space": space},))


def erasing(vault: VaultId) -> Write:
    """What the change just logged deleted may still be in the files; goes behind that change in the batch."""
    return Write(_ERASING, must_change=True, rows=({"of_vault": vault},))


def erased(vault: VaultId, upto: int) -> Write:
    """The bytes of all deletions up to the seq `upto` are gone; a later one keeps its mark."""
    return Write(_ERASED, rows=({"of_vault": vault, "upto": upto},))
