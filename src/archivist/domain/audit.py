"""The audit trail's entries: who did what, where, with which result. Ids and counts, never text or secrets."""

from dataclasses import dataclass
from datetime import datetime

from archivist.domain.access import Principal
from archivist.domain.ids import VaultId

TARGET_LENGTH = 36
"""Of an id; of a digest the beginning does."""


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


def entry(
    who: Principal,
    id: str,
    at: datetime,
    action: str,
    *,
    target: str = "",
    count: int = 1,
    vault: VaultId | None = None,
    outcome: str = "done",
) -> Entry:
    """What `who` did, in the vault of their credential unless another one is named."""
    return Entry(
        id=id,
        vault=who.vault if vault is None else vault,
        at=at,
        user=who.user,
        credential=who.credential,
        credential_id=who.credential_id,
        action=action,
        target=target[:TARGET_LENGTH],
        count=count,
        outcome=outcome,
    )
