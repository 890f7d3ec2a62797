"""Deleting memories with everything that was built on them: first a look at what would go, then exactly that."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from archivist.domain.access import Principal, Scope
from archivist.domain.errors import (
    ArchivistError,
    Conflict,
    NotFound,
    Unavailable,
)
from archivist.domain.ids import MemoryId
from archivist.domain.limits import DELETE_IDS, EXCERPT_LENGTH
from archivist.domain.memories import Memory, shortened
from archivist.domain.operations import permit
from archivist.services.deletion import DELETE_SELECTED, Deletion, Deletions, State, checked_ids, require_phrase
from archivist.storage import lineage
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.keyring import Keyring
from archivist.storage.stores import Stores

LIFE = timedelta(minutes=5)
"""For so long a preview can be acted on."""

_PURPOSE = "derived delete"


@dataclass(frozen=True, slots=True)
class Going:
    """A memory that would go. A caller that may not read learns its id and tier alone: the rest is None."""

    id: MemoryId
    tier: int
    importance: int | None
    date: datetime | None
    excerpt: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What stands behind some ids. `handle` allows to delete exactly this, once, by the same caller, until `expires`.

    named: those of the ids that are here. reflections: what was built on them, directly or through others, and is not
    named itself; highest tier first.
    """

    named: Sequence[Going]
    reflections: Sequence[Going]
    not_found: Sequence[MemoryId]
    handle: str
    expires: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedDeletion:
    """What is gone, as `Deletion` says it. reflections_kept: those that were made of it after the preview."""

    deleted: Sequence[MemoryId]
    reflections_kept: Sequence[MemoryId]
    state: State
    mirror: bool
    primary_cleared: bool
    mirror_cleared: bool


@dataclass(frozen=True, slots=True)
class Derived:
    """The use cases of deleting along the lineage. Nothing is removed here: every id goes the way of `Deletions`."""

    stores: Stores
    deletion: Deletions
    keyring: Keyring
    now: Callable[[], datetime]

    async def preview(self, who: Principal, ids: Sequence[str]) -> Preview:
        """What would go with these memories. An id that was deleted already still leads to what was built on it.

        Raises:
            InvalidArgument: no ids, too many, or something that is not an id.
            NotFound: nothing here has to do with any of them.
        """
        permit(who, "derived preview")
        roots = checked_ids(ids)
        db = await self.stores.vault(who.vault, writable=who.may_change)
        found = await _set(db, who, roots)
        if not found:
            raise NotFound("no memory has one of these ids")
        named = frozenset(roots)
        return Preview(
            named=[_going(who, found[id]) for id in roots if id in found],
            reflections=[_going(who, memory) for id, memory in found.items() if id not in named],
            not_found=[id for id in roots if id not in found],
            handle=self.keyring.seal(_PURPOSE, [*_caller(who), _state_of(found), roots]),
            expires=self.now() + LIFE,
        )

    async def delete(
        self, who: Principal, handle: str, confirmation: str, *, of: Sequence[str] = ()
    ) -> DerivedDeletion:
        """Delete exactly what the preview of this handle showed, reflections before what they were built from.

        of: the ids that the preview must have been asked for; any, if none are given.

        Raises:
            ConfirmationRequired: not the exact phrase; nothing was touched.
            Conflict: the handle is another caller's, over, used, or none; or what it stands for has changed.
            Unavailable: not everything could be deleted; the text says how much was.
        """
        permit(who, "derived delete")
        require_phrase(confirmation, DELETE_SELECTED)
        shown, roots = self._opened(who, handle)
        if of and list(of) != roots:
            raise _over()
        db = await self.stores.vault(who.vault)
        found = await _set(db, who, roots)
        if not found or _state_of(found) != shown:
            raise _over()
        parts = await self._parts(who, list(found), confirmation)
        kept = await lineage.kept_reflections(db, who.vault, roots)
        return DerivedDeletion(
            deleted=[id for part in parts for id in part.deleted],
            reflections_kept=kept,
            state="erased" if all(part.state == "erased" for part in parts) else "removed",
            mirror=any(part.mirror for part in parts),
            primary_cleared=all(part.primary_cleared for part in parts),
            mirror_cleared=all(part.mirror_cleared for part in parts),
        )

    async def _parts(self, who: Principal, ids: Sequence[MemoryId], confirmation: str) -> Sequence[Deletion]:
        done: list[Deletion] = []
        for start in range(0, len(ids), DELETE_IDS):
            try:
                done.append(await self.deletion.delete(who, ids[start : start + DELETE_IDS], confirmation))
            except ArchivistError as error:
                if not done:
                    raise
                gone = sum(len(part.deleted) for part in done)
                text = f"{gone} of {len(ids)} memories are deleted, the others stay ({error.detail}); preview again"
                raise Unavailable(text) from error
        return done

    def _opened(self, who: Principal, handle: str) -> tuple[str, list[MemoryId]]:
        try:
            *caller, shown, roots = self.keyring.open(_PURPOSE, handle, LIFE)
        except NotFound:
            raise _over() from None
        if caller != _caller(who):
            raise _over()
        return shown, [MemoryId(id) for id in roots]


async def _set(db: Database, who: Principal, roots: Sequence[MemoryId]) -> Mapping[MemoryId, Memory]:
    """The roots and all that rests on them, as far as it is here: highest tier first, else as they are met."""
    wanted = [*roots, *await lineage.resting_on(db, who.vault, roots)]
    found = (await stored.find_many(db, who.vault, wanted)).values()
    return {memory.id: memory for memory in sorted(found, key=lambda memory: -memory.tier)}


def _state_of(found: Mapping[MemoryId, Memory]) -> str:
    """What tells these memories, each in its version, from any others."""
    lines = sorted(f"{memory.id} {memory.version}" for memory in found.values())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _going(who: Principal, memory: Memory) -> Going:
    if Scope.READ not in who.scopes:
        return Going(memory.id, memory.tier, None, None, None)
    return Going(memory.id, memory.tier, memory.importance, memory.event, shortened(memory.text, EXCERPT_LENGTH))


def _caller(who: Principal) -> list[str]:
    return [who.user, who.vault, who.credential, who.credential_id]


def _over() -> Conflict:
    return Conflict("nothing was deleted: this preview is over, or what it showed has changed; preview again")
