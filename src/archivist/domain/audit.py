"""The audit trail's entries: who did what, where, with which result. Ids and counts, never text or secrets."""

from dataclasses import dataclass
from datetime import datetime

from archivist.domain.ids import VaultId


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One act. `target` is an id or empty; `count` says how many things it concerned."""

    id: str
    vault: VaultId
    at: datetime
    user: str
    credential: str
    credential_id: str
    action: str
    target: str = ""
    count: int = 1
    outcome: str = "done"
