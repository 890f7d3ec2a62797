"""What waits to be reflected on, counted: a large vault takes a while, so what was counted is kept and carried on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from archivist.domain.changes import Head
from archivist.domain.ids import VaultId
from archivist.storage import heads
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.memories import Debt

NOTHING = Debt(0, 0)


@dataclass(frozen=True, slots=True)
class Owing:
    """Counts by tier, each as of where the vault's log stood; what is of another moment is counted again."""

    _known: dict[VaultId, tuple[Head, Mapping[int, Debt]]] = field(default_factory=dict)

    async def of(self, db: Database, vault: VaultId) -> Mapping[int, Debt]:
        head = (await heads.read(db, vault)).head
        known = self._known.get(vault)
        if known is None or known[0] != head:
            known = self._known[vault] = (head, await stored.debt(db, vault))
        return known[1]

    def moved(self, vault: VaultId, before: Head, entries: int, changed: Mapping[int, Debt]) -> None:
        """A batch of so many entries of the log landed on `before`, and changed the counts by `changed`.

        If anything else landed in between, the log stands further than this says, and all is counted again.
        """
        known = self._known.get(vault)
        if known is None or known[0] != before:
            return
        counts = dict(known[1])
        for tier, by in changed.items():
            here = counts.get(tier, NOTHING)
            counts[tier] = Debt(here.items + by.items, here.tokens + by.tokens)
        self._known[vault] = (Head(before.epoch, before.seq + entries), counts)
