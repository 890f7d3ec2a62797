"""Accounts, their recovery codes, the browsers they came from, and who they are elsewhere."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.ids import UserId
from archivist.domain.times import micros
from archivist.domain.users import User, name_digest
from archivist.storage.database import AT_ONCE, Database, Row, Write
from archivist.storage.schema_people import devices, identities, recovery_codes, users
from archivist.storage.shapes import Shape, micros_or_none

_SHAPE = Shape(of=User, times=("created", "disabled"), flags=("administrator",))
_THIS = users.c.id == sa.bindparam("of_id", type_=sa.String)
_INSERT = sa.insert(users)
_UPDATE = sa.update(users).where(_THIS)
_ALL = sa.select(users).order_by(users.c.created, users.c.id)
_FIND = sa.select(users).where(_THIS).execution_options(**AT_ONCE)
_NAMED = sa.select(users).where(users.c.name_digest == sa.bindparam("of_name", type_=sa.String))
_COUNT = sa.select(sa.func.count().label("count")).select_from(users)
_STILL = _UPDATE.where(users.c.password == sa.bindparam("kept", type_=sa.String), users.c.disabled.is_(None)).values(
    disabled=sa.null()
)
_STILL_ALONE, _STILL_WITH_FACTOR = _STILL.where(users.c.factor == ""), _STILL.where(users.c.factor != "")
_RESEAL = _UPDATE.where(users.c.factor == sa.bindparam("was", type_=sa.String))
_STEP = _UPDATE.where(users.c.factor_step < sa.bindparam("step", type_=sa.BigInteger)).values(
    factor_step=sa.bindparam("step", type_=sa.BigInteger)
)
_CODE = recovery_codes.c.user == sa.bindparam("of_user", type_=sa.String)
_INSERT_CODE = sa.insert(recovery_codes)
_USE_CODE = sa.delete(recovery_codes).where(
    _CODE, recovery_codes.c.digest == sa.bindparam("of_digest", type_=sa.String)
)
_DROP_CODES = sa.delete(recovery_codes).where(_CODE)
_COUNT_CODES = sa.select(sa.func.count().label("count")).select_from(recovery_codes).where(_CODE)
_INSERT_DEVICE = sa.insert(devices)
_DEVICE = sa.select(devices.c.created).where(
    devices.c.digest == sa.bindparam("of_digest", type_=sa.String),
    devices.c.user == sa.bindparam("of_user", type_=sa.String),
)
_DROP_DEVICES = sa.delete(devices).where(devices.c.user == sa.bindparam("of_user", type_=sa.String))
_CLEAR_DEVICES = sa.delete(devices).where(devices.c.created < sa.bindparam("before", type_=sa.BigInteger))
_INSERT_IDENTITY = sa.insert(identities)
_IDENTITY = sa.select(identities.c.user).where(identities.c.digest == sa.bindparam("of_digest", type_=sa.String))
_IDENTITIES = sa.select(identities).where(identities.c.user == sa.bindparam("of_user", type_=sa.String))
_DROP_IDENTITY = sa.delete(identities).where(
    identities.c.user == sa.bindparam("of_user", type_=sa.String),
    identities.c.digest == sa.bindparam("of_digest", type_=sa.String),
)


def insert(user: User) -> Write:
    """Conflicts if somebody has that name, however it is spelt, or that id."""
    return Write(_INSERT, rows=({**_SHAPE.row(user), "name_digest": name_digest(user.name)},))


def rename(user: UserId, name: str) -> Write:
    """Conflicts if somebody else has that name, however it is spelt."""
    row = {"of_id": user, "name": name, "name_digest": name_digest(name)}
    return Write(_UPDATE, must_change=True, rows=(row,))


def still(user: User) -> Write:
    """Changes nothing; conflicts if by now another password is set, a factor came or went, or it is disabled."""
    statement = _STILL_WITH_FACTOR if user.factor else _STILL_ALONE
    return Write(statement, must_change=True, rows=({"of_id": user.id, "kept": user.password},))


def set_password(user: UserId, password: str) -> Write:
    return Write(_UPDATE, must_change=True, rows=({"of_id": user, "password": password},))


def set_zone(user: UserId, zone: str) -> Write:
    """An IANA name, or empty for UTC."""
    return Write(_UPDATE, must_change=True, rows=({"of_id": user, "zone": zone},))


def set_disabled(user: UserId, at: datetime | None) -> Write:
    return Write(_UPDATE, must_change=True, rows=({"of_id": user, "disabled": micros_or_none(at)},))


def set_factor(user: UserId, sealed: str, step: int) -> Write:
    """Without `sealed` there is no second factor any more."""
    return Write(_UPDATE, must_change=True, rows=({"of_id": user, "factor": sealed, "factor_step": step},))


def reseal(user: UserId, was: str, sealed: str) -> Write:
    """The same second factor, sealed anew; conflicts if it was changed meanwhile."""
    return Write(_RESEAL, must_change=True, rows=({"of_id": user, "was": was, "factor": sealed},))


def use_step(user: UserId, step: int) -> Write:
    """Conflicts if a code of that time step, or of a later one, was used already."""
    return Write(_STEP, must_change=True, rows=({"of_id": user, "step": step},))


async def find(db: Database, user: UserId) -> User | None:
    rows = await db.read(_FIND, {"of_id": user})
    return _user(rows[0]) if rows else None


async def named(db: Database, name: str) -> User | None:
    """However the name is spelt."""
    rows = await db.read(_NAMED, {"of_name": name_digest(name)})
    return _user(rows[0]) if rows else None


async def everybody(db: Database) -> Sequence[User]:
    """Oldest first."""
    return [_user(row) for row in await db.read(_ALL)]


async def count(db: Database) -> int:
    return int((await db.read(_COUNT))[0]["count"])


def insert_recovery_codes(user: UserId, digests: Sequence[str]) -> Write:
    return Write(_INSERT_CODE, rows=tuple({"user": user, "digest": digest} for digest in digests))


def use_recovery_code(user: UserId, digest: str) -> Write:
    """Conflicts if it is not one of theirs, or was used."""
    return Write(_USE_CODE, must_change=True, rows=({"of_user": user, "of_digest": digest},))


def drop_recovery_codes(user: UserId) -> Write:
    return Write(_DROP_CODES, rows=({"of_user": user},))


async def recovery_codes_left(db: Database, user: UserId) -> int:
    return int((await db.read(_COUNT_CODES, {"of_user": user}))[0]["count"])


def insert_device(user: UserId, digest: str, now: datetime) -> Write:
    return Write(_INSERT_DEVICE, rows=({"digest": digest, "user": user, "created": micros(now)},))


async def knows_device(db: Database, user: UserId, digest: str) -> bool:
    return bool(await db.read(_DEVICE, {"of_user": user, "of_digest": digest}))


def drop_devices(user: UserId) -> Write:
    return Write(_DROP_DEVICES, rows=({"of_user": user},))


def clear_devices(before: datetime) -> Write:
    """Those that were first seen before then: no browser brings their cookie any more."""
    return Write(_CLEAR_DEVICES, rows=({"before": micros(before)},))


def insert_identity(user: UserId, digest: str, issuer: str, now: datetime) -> Write:
    """Conflicts if it is somebody's already."""
    return Write(_INSERT_IDENTITY, rows=({"digest": digest, "user": user, "issuer": issuer, "created": micros(now)},))


async def by_identity(db: Database, digest: str) -> UserId | None:
    rows = await db.read(_IDENTITY, {"of_digest": digest})
    return UserId(rows[0]["user"]) if rows else None


async def identities_of(db: Database, user: UserId) -> Sequence[tuple[str, str]]:
    """(digest, issuer) of each."""
    return [(row["digest"], row["issuer"]) for row in await db.read(_IDENTITIES, {"of_user": user})]


def drop_identity(user: UserId, digest: str) -> Write:
    return Write(_DROP_IDENTITY, must_change=True, rows=({"of_user": user, "of_digest": digest},))


def _user(row: Row) -> User:
    fields = dict(row)
    fields.pop("name_digest")
    return _SHAPE.value(fields)
