"""The search indexes that this process keeps in memory: one for each vault in use, the least used dropped first."""

from collections import OrderedDict
from dataclasses import dataclass, field

from archivist.domain.ids import VaultId
from archivist.search.keyword.index import KeywordIndex
from archivist.search.vault_index import VaultIndex

MOST_BYTES = 2 * 1024**3
"""About four million memories. The one in use stays whatever its size."""


@dataclass(frozen=True, slots=True)
class Indexes:
    """An index is only ever as old as its last search: it follows the vault's change log by itself."""

    keywords: KeywordIndex
    most_bytes: int = MOST_BYTES
    _kept: OrderedDict[VaultId, VaultIndex] = field(default_factory=OrderedDict)

    def of(self, vault: VaultId, space: str) -> VaultIndex:
        """The index of `vault` with the vectors of `space`; another space than before makes it anew."""
        index = self._kept.get(vault)
        if index is None or index.space != space:
            index = VaultIndex(vault, space, self.keywords)
            self._kept[vault] = index
        self._kept.move_to_end(vault)
        self._evict()
        return index

    def _evict(self) -> None:
        while len(self._kept) > 1 and sum(index.nbytes for index in self._kept.values()) > self.most_bytes:
            self._kept.popitem(last=False)
