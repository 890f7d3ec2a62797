"""Typed identifiers. Ids are UUIDv7 (RFC 9562 §5.7): sortable by time, made by services, never by callers."""

import re
import secrets
import uuid
from datetime import datetime
from typing import NewType

from archivist.domain.times import micros

VaultId = NewType("VaultId", str)
MemoryId = NewType("MemoryId", str)
KeyId = NewType("KeyId", str)
UserId = NewType("UserId", str)

CONTROL = VaultId("control")
"""Stands where the vault stands in the change log and the audit trail of `control.db`; never the id of a vault."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def uuid7(now: datetime) -> str:
    """A new UUIDv7 in its canonical form: 48 bits of `now` in milliseconds, 74 random bits."""
    value = (micros(now) // 1000 & (1 << 48) - 1) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0b11 << 62) | 0b10 << 62
    return str(uuid.UUID(int=value))


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID in canonical, lower-case form."""
    return _UUID.fullmatch(text) is not None
