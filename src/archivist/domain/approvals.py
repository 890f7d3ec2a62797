"""An owner's approval before a vault is emptied: whether it is wanted, and what a given one is good for."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from archivist.domain.errors import InvalidArgument
from archivist.domain.ids import UserId, VaultId
from archivist.domain.roles import Role

Wanted = Literal["off", "on", "page"]
WANTED: tuple[Wanted, ...] = get_args(Wanted)
"""off: nobody is asked. on: on a page, or in the client if it can ask its person. page: on a page and nowhere else."""

NOBODY = UserId("")

LIFE = timedelta(minutes=10)
"""From the question until the approval is used."""

DECIDERS: frozenset[Role] = frozenset({"owner", "admin"})
"""Who may approve: those who may delete by their role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One question and what became of it. `user` and `credential_id` asked; `approver` is empty until somebody agrees.

    spent: when it was used or refused.
    """

    vault: VaultId
    id: str
    action: str
    user: UserId
    credential_id: str
    created: datetime
    expires: datetime
    approved: datetime | None = None
    approver: UserId = NOBODY
    spent: datetime | None = None


def is_open(approval: Approval, now: datetime) -> bool:
    """Whether it can still be decided or used."""
    return approval.spent is None and now < approval.expires


def checked(word: str) -> Wanted:
    """Raises InvalidArgument: none of the three."""
    for wanted in WANTED:
        if wanted == word:
            return wanted
    raise InvalidArgument("approval", f"must be one of {', '.join(WANTED)}")
