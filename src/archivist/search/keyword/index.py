"""What a backend's full-text index must offer. Ranking is not its business: it stores terms and lists documents."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from archivist.domain.erasures import Erasure
from archivist.domain.ids import MemoryId, VaultId
from archivist.storage.database import Database, Write

Docs = NDArray[np.int64]


class KeywordIndex(Protocol):
    """Entries are made from, and forgotten with, the `terms` of the memory's row, in the batch that changes the row."""

    def insert(self, vault: VaultId, memory: MemoryId) -> Write:
        """Index the memory's row as it stands in the batch at this point."""
        ...

    def forget(self, vault: VaultId, memory: MemoryId) -> Write:
        """Take the memory's entry out; comes before its row is changed or deleted."""
        ...

    def forget_going(self, erasure: Erasure) -> Sequence[Write]:
        """Take out the entries of the memories that an erasure hides; comes before their rows are deleted."""
        ...

    def clear(self, vault: VaultId) -> Write:
        """Take all entries of the vault out."""
        ...

    async def holds(self, db: Database, vault: VaultId, documents: Sequence[int]) -> bool:
        """Whether there is an entry of any of these documents."""
        ...

    async def counts(self, db: Database, vault: VaultId, terms: Sequence[str]) -> Mapping[str, int]:
        """In how many documents each term occurs; terms that occur in none may be missing."""
        ...

    async def postings(self, db: Database, vault: VaultId, after: Mapping[str, int], upto: int) -> Mapping[str, Docs]:
        """For each term the documents that hold it, ascending, with numbers in (after[term], upto]."""
        ...
