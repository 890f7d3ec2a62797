"""How often a connection or key did what. Counts and moments, never what was asked or found."""

from dataclasses import dataclass
from datetime import datetime

from archivist.domain.ids import VaultId


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What one credential did how often. outcome: `done`, or the code of the refusal."""

    vault: VaultId
    credential: str
    operation: str
    outcome: str
    count: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Seen:
    """First and last use of a credential, for whatever it was."""

    first: datetime
    last: datetime
