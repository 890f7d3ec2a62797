"""What services hold: the control database, and a database for each vault."""

from pathlib import Path
from typing import Protocol

from archivist.domain.ids import VaultId
from archivist.storage.database import Database


class Stores(Protocol):
    """On SQLite every vault is a file of its own; on a server all of these are the same database."""

    async def control(self) -> Database:
        """People, vaults, keys, and their audit and change log."""
        ...

    async def vault(self, vault: VaultId, *, writable: bool = True) -> Database:
        """The database of one vault, opened and migrated on demand. Without `writable` no statement can change it.

        Raises:
            NotFound: the vault was never made here.
            Unavailable: its file is damaged, or made by a newer version.
        """
        ...

    async def create(self, vault: VaultId) -> None:
        """Make room for a new vault, before its row in the control database is written. Repeating it is harmless."""
        ...

    async def backup(self, folder: Path) -> int:
        """A consistent copy of everything into `folder`, which must be empty or absent, while writes go on.

        Returns the number of files written. Raises Refused with the mend if the folder cannot take it.
        """
        ...

    async def check(self) -> None:
        """Raises Unavailable unless the data itself (not only the process) answers."""
        ...

    async def close(self) -> None: ...
