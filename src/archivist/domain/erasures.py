"""Deletions under way: what was begun, and must be finished or withdrawn."""

from dataclasses import dataclass
from datetime import datetime

from archivist.domain.ids import VaultId


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """A deletion under way. whole: of all that the vault held when its log stood at `seq`; else of some memories."""

    vault: VaultId
    id: str
    whole: bool
    seq: int
    at: datetime
