"""The writes that make a memory findable, and those that make it forgotten: rows, index, vectors and log together.

Whoever changes memories takes their batches from here, so that no face or worker can leave a part behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from archivist.domain.changes import Head, Op
from archivist.domain.erasures import Erasure
from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.memories import Memory, findable_text
from archivist.search.analysis import analyse
from archivist.search.keyword.index import KeywordIndex
from archivist.search.vector.quantised import Floats, quantised
from archivist.storage import changes, erasures, heads, pending, tombstones, vectors
from archivist.storage import memories as stored
from archivist.storage.database import Write


@dataclass(frozen=True, slots=True)
class Entries:
    """Every method returns (the beginning of) one batch. `head`: where the log stood when the caller decided."""

    keywords: KeywordIndex

    def put(self, memory: Memory, head: Head, now: datetime) -> list[Write]:
        """Keep a new memory, found by its words. Goes before `meaning`."""
        return [
            *_log(memory, head, now, "put"),
            *stored.insert(memory, " ".join(analyse(findable_text(memory)))),
            self.keywords.insert(memory.vault, memory.id),
        ]

    def meaning(self, memory: Memory, made: Floats | None, space: str) -> list[Write]:
        """The vectors of a new memory, (windows, d), of `space`; without those that are wanted it waits for them."""
        if made is None:
            return [pending.insert(memory.vault, memory.id)]
        return [*_vectors(memory, made, space), pending.insert_unless_wanted(memory.vault, memory.id, space)]

    def embed(self, memory: Memory, head: Head, now: datetime, made: Floats, space: str) -> list[Write]:
        """Replace the vectors of a memory that waits; conflicts if it does not any more, or not for `space`."""
        return [
            pending.remove(memory.vault, memory.id, space),
            vectors.drop(memory.vault, [memory.id]),
            *_vectors(memory, made, space),
            *_log(memory, head, now, "embed"),
        ]

    def adopt(self, vault: VaultId, head: Head, space: str, now: datetime) -> list[Write]:
        """From now on `space` is wanted: memories without vectors of it wait, and keep their old ones meanwhile."""
        log = changes.append(vault, head.epoch, kind="vault", id="", version=1, op="embed", at=now)
        return [*log, heads.set_space(vault, space), *pending.without(vault, space)]

    def hide(self, erasure: Erasure, ids: Sequence[MemoryId], head: Head, now: datetime) -> list[Write]:
        """Begin to delete memories: from now on nobody reads them. Conflicts if one is gone already."""
        log = [
            write
            for id in ids
            for write in changes.append(erasure.vault, head.epoch, kind="memory", id=id, version=0, op="delete", at=now)
        ]
        return [*log, *erasures.hide(erasure, ids), erasures.begin(erasure), tombstones.bury(erasure, now)]

    def hide_all(self, erasure: Erasure, head: Head, now: datetime) -> list[Write]:
        """Begin to delete everything that the vault remembers."""
        log = changes.append(erasure.vault, head.epoch, kind="vault", id="", version=0, op="clear", at=now)
        return [*log, *erasures.hide_all(erasure), erasures.begin(erasure), tombstones.bury(erasure, now)]

    def show_again(self, erasure: Erasure, head: Head, now: datetime) -> list[Write]:
        """Withdraw a deletion: all is as it was. Conflicts if somebody ended it, or the vault has another epoch."""
        return [erasures.close(erasure), tombstones.dig_up(erasure), *erasures.show_again(erasure, head, now)]

    def drop(self, erasure: Erasure) -> list[Write]:
        """Delete what an erasure hid; conflicts if somebody ended it. Of deleted sources, links without text stay."""
        return [
            erasures.close(erasure),
            *self.keywords.forget_going(erasure),
            *erasures.drop(erasure),
            heads.erasing(erasure.vault),
        ]


def _log(memory: Memory, head: Head, now: datetime, op: Op) -> list[Write]:
    return changes.append(memory.vault, head.epoch, kind="memory", id=memory.id, version=memory.version, op=op, at=now)


def _vectors(memory: Memory, made: Floats, space: str) -> list[Write]:
    scales, data = quantised(made)
    return [vectors.insert(memory.vault, memory.id, space, scales, data)]
