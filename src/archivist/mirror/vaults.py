"""Brings the copy of a vault up to date: reads the change log behind the copy's head, and copies what it names.

What is copied is how the rows are now, not how they were when the entry was written: a later entry for the same row
comes later, too. A page of entries and the copy's new head are one batch, which conflicts if somebody else moved the
head. So any number of processes can do it side by side, and a kill at any moment leaves a state from which it goes on.
"""

import hmac
from collections.abc import Sequence

from archivist.domain.changes import Change, Head
from archivist.domain.errors import NotFound, Refused
from archivist.domain.ids import MemoryId, VaultId
from archivist.search.keyword.index import KeywordIndex
from archivist.storage import changes, copies, heads
from archivist.storage.database import Database, Write
from archivist.storage.heads import Standing
from archivist.storage.schema import NO_ID

PAGE = 200
"""Entries of the log that are copied at once."""


async def step(source: Database, target: Database, vault: VaultId, keywords: KeywordIndex) -> int:
    """Copy the next page into `target`; returns how many entries of the log are left then.

    Raises:
        Refused: `target` is ahead of `source`, or a copy of something else: copying would destroy it.
        Conflict: somebody else copied the same page; go on with the next one.
    """
    theirs = await heads.read(source, vault)
    mine = await _begun(target, vault, theirs)
    if not hmac.compare_digest(mine.secret, theirs.secret):
        raise Refused("the mirror holds another vault under this id; give this data folder a mirror of its own")
    require_behind(mine.head, theirs.head)
    if mine.head.epoch < theirs.head.epoch:
        await target.apply(_anew(vault, mine, theirs, keywords))
        return theirs.head.seq
    if mine.head == theirs.head:
        return 0
    entries = await changes.since(source, vault, mine.head.seq, PAGE)
    upto = changes.reached(entries, PAGE, theirs.head)
    batch = [
        heads.follow(vault, mine.head, Head(theirs.head.epoch, upto), theirs.space),
        *await _copied(source, target, vault, entries, keywords),
        *changes.copied(vault, entries),
        *await copies.new_in_trail(source, vault, target, mine.head.seq, upto),
    ]
    await target.apply(batch)
    return max(0, theirs.head.seq - upto)


async def _begun(target: Database, vault: VaultId, theirs: Standing) -> Standing:
    """Where the copy stands; a new one begins at the beginning."""
    try:
        return await heads.read(target, vault)
    except NotFound:
        await target.apply([heads.make(vault, theirs.secret)])
        return await heads.read(target, vault)


def require_behind(mine: Head, theirs: Head) -> None:
    """Raises Refused: the copy is ahead of what it copies."""
    if mine > theirs:
        raise Refused(
            "the mirror knows more than the data it mirrors, so it is left as it is; `archivist repair` brings back"
            " what is missing"
        )


def _anew(vault: VaultId, mine: Standing, theirs: Standing, keywords: KeywordIndex) -> Sequence[Write]:
    """The vault was restored to another state: empty the copy, and begin again."""
    return [
        heads.follow(vault, mine.head, Head(theirs.head.epoch, 0), theirs.space),
        keywords.clear(vault),
        *(part.clear(vault) for part in copies.EVERYTHING),
        heads.erasing(vault),
    ]


async def _copied(
    source: Database, target: Database, vault: VaultId, entries: Sequence[Change], keywords: KeywordIndex
) -> list[Write]:
    """What the entries name, as it is now. An entry that says that everything went makes those before it idle."""
    cleared = max((place for place, entry in enumerate(entries) if entry.op == "clear"), default=-1)
    batch = await _emptied(source, target, vault, entries[cleared], keywords) if cleared >= 0 else []
    left = entries[cleared + 1 :]
    batch += await _batches(source, vault, _ids(left, "batch"))
    return batch + await _memories(source, vault, _ids(left, "memory"), keywords)


def _ids(entries: Sequence[Change], kind: str) -> list[str]:
    return list(dict.fromkeys(entry.id for entry in entries if entry.kind == kind))


async def _emptied(
    source: Database, target: Database, vault: VaultId, entry: Change, keywords: KeywordIndex
) -> list[Write]:
    known = {row["memory"] for row in await copies.buried_since(target, vault, entry.at)}
    buried = [row for row in await copies.buried_since(source, vault, entry.at) if row["memory"] not in known]
    return [
        keywords.clear(vault),
        *(
            part.clear(vault)
            for part in (copies.MEMORIES, *copies.OF_A_MEMORY, copies.LINEAGE, copies.BATCHES, copies.LEASED)
        ),
        *copies.TOMBSTONES.insert(vault, buried),
        heads.erasing(vault),
    ]


async def _batches(source: Database, vault: VaultId, ids: Sequence[str]) -> list[Write]:
    """Reflection batches, and which memories they hold now."""
    leased = await copies.LEASED_IN.read(source, vault, ids)
    return [
        *copies.BATCHES.drop(vault, ids),
        *copies.LEASED_IN.drop(vault, ids),
        *copies.LEASED.drop(vault, [row["memory"] for row in leased]),
        *copies.BATCHES.insert(vault, await copies.BATCHES.read(source, vault, ids)),
        *copies.LEASED.insert(vault, leased),
    ]


async def _memories(source: Database, vault: VaultId, ids: Sequence[str], keywords: KeywordIndex) -> list[Write]:
    """Memories with all that belongs to them. What is gone, or going, goes."""
    if not ids:
        return []
    shown = [row for row in await copies.MEMORIES.read(source, vault, ids) if row["going"] == NO_ID]
    here = [row["id"] for row in shown]
    batch: list[Write] = [keywords.forget(vault, MemoryId(id)) for id in ids]
    for part in (*copies.OF_A_MEMORY, *copies.OUTLIVING, copies.MEMORIES):
        batch += part.drop(vault, ids)
    batch += copies.MEMORIES.insert(vault, shown)
    for part in copies.OF_A_MEMORY:
        batch += part.insert(vault, await part.read(source, vault, here))
    for part in copies.OUTLIVING:
        batch += part.insert(vault, await part.read(source, vault, ids))
    batch += [keywords.insert(vault, MemoryId(id)) for id in here]
    return batch if len(here) == len(ids) else [*batch, heads.erasing(vault)]
