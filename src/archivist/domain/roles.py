"""Roles: what a person may do in a vault, and so the most that they can allow an app there."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from archivist.domain.access import ALL_SCOPES, Scope
from archivist.domain.errors import InvalidArgument
from archivist.domain.ids import UserId, VaultId

Role = Literal["viewer", "member", "admin", "owner"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From least to most."""

CAPS: dict[Role, frozenset[Scope]] = {
    "viewer": frozenset({Scope.READ}),
    "member": frozenset({Scope.READ, Scope.WRITE, Scope.REFLECT}),
    "admin": ALL_SCOPES,
    "owner": ALL_SCOPES,
}
"""The scopes that a role can hold and hand on. Looked up at every request: who is demoted loses them at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A person in a vault."""

    vault: VaultId
    user: UserId
    role: Role
    created: datetime


def checked_role(word: str) -> Role:
    """Raises InvalidArgument: not a role."""
    if word not in ROLES:
        raise InvalidArgument("role", f"must be one of {', '.join(ROLES)}")
    return word


def may_manage(mine: Role, theirs: Role) -> bool:
    """Whether somebody of role `mine` may give, change or take away the role `theirs`: admins up to member."""
    return mine == "owner" or (mine == "admin" and theirs in ("viewer", "member"))
