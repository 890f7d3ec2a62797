"""The change log's entries. It is the spine: indexes, caches and copies follow it from their own cursors."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from archivist.domain.ids import VaultId

Kind = Literal["memory", "batch", "vault", "key", "user", "session", "link", "member", "client", "grant", "token"]
Op = Literal["put", "mark", "delete", "embed", "clear"]
"""put: made or edited. mark: its row changed, not its words. delete: gone. embed: its vectors changed.

clear: everything of the vault is gone.
"""


@dataclass(frozen=True, slots=True, order=True)
class Head:
    """Where a vault's log stands. `seq` counts commits from 0; another `epoch` means: start over.

    The greater one is further: a later epoch is, whatever its `seq`.
    """

    epoch: int
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry, never with text. `id` is empty for what concerns the whole vault."""

    vault: VaultId
    epoch: int
    seq: int
    kind: Kind
    id: str
    version: int
    op: Op
    at: datetime
