"""Vaults: the only boundary of storage and recall."""

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from archivist.domain.approvals import Wanted
from archivist.domain.errors import InvalidArgument
from archivist.domain.ids import UserId, VaultId
from archivist.domain.limits import VAULT_NAME_LENGTH

Kind = Literal["personal", "project", "organization"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PERSONAL_NAME = "personal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """A named, separate store of memories. `removed` vaults are hidden until their data is gone.

    approval: whether an owner must agree before a program empties it.
    """

    id: VaultId
    name: str
    kind: Kind
    owner: UserId
    created: datetime
    removed: datetime | None = None
    approval: Wanted = "off"


def checked_name(name: str) -> str:
    """The name without surrounding blanks.

    Raises:
        InvalidArgument: empty, too long, or with control characters.
    """
    name = name.strip()
    if not 1 <= len(name) <= VAULT_NAME_LENGTH or not name.isprintable():
        raise InvalidArgument("name", f"must be 1..{VAULT_NAME_LENGTH} printable characters")
    return name


def folded(name: str) -> str:
    """The spelling by which names are compared: NFKC, case folded, blanks trimmed."""
    return unicodedata.normalize("NFKC", name.strip()).casefold()
