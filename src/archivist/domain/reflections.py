"""Reflections: what a model may write about a batch of memories, and how much waits to be reflected on."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta

from archivist.domain.errors import InvalidArgument
from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.limits import (
    BATCH_TOKENS,
    DUE_AGE_MINUTES,
    DUE_ITEMS,
    DUE_REFLECTIONS,
    DUE_TOKENS,
    REFLECTIONS,
)
from archivist.domain.memories import Memory, checked_text, count_tokens, digest_of, title_of

SOURCE_TIERS = (1, 2)
DUE_AGE = timedelta(minutes=DUE_AGE_MINUTES)
_LEAST, _MOST = REFLECTIONS
_NAMES = frozenset({"text", "content", "importance", "source_ids"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """One checked entry of a commit. sources: of the batch, in the order given; empty stands for all of them."""

    text: str
    importance: int
    sources: tuple[MemoryId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What a look at the oldest that wait tells, without counting the vault.

    items, tokens: of at most DUE_ITEMS raw memories that are old enough. reflections: of tier 2, at most
    DUE_REFLECTIONS. in_flight: memories in open batches. committed: when a batch last was.
    """

    items: int
    tokens: int
    reflections: int
    in_flight: int
    committed: datetime | None

    @property
    def due(self) -> bool:
        """Whether it is worth offering to consolidate."""
        return self.items >= DUE_ITEMS or self.tokens >= DUE_TOKENS or self.reflections >= DUE_REFLECTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Debt:
    """What no reflection was built from yet: raw memories and their tokens, and reflections of tier 2.

    in_flight: how many of all these are in open batches.
    """

    memories: int
    tokens: int
    reflections: int
    in_flight: int
    available: bool
    committed: datetime | None
    threshold_tokens: int = DUE_TOKENS


def checked_tier(tier: int | None) -> int | None:
    """Raises InvalidArgument for a tier that no reflection is built from."""
    if tier is not None and tier not in SOURCE_TIERS:
        raise InvalidArgument("tier", "must be 1 or 2; leave it out to let the server choose")
    return tier


def checked_tokens(max_tokens: int | None) -> int | None:
    """Raises InvalidArgument unless inside BATCH_TOKENS."""
    least, most = BATCH_TOKENS
    if max_tokens is not None and not least <= max_tokens <= most:
        raise InvalidArgument("max_tokens", f"must be {least}..{most}")
    return max_tokens


def checked_entries(entries: Sequence[Mapping[str, object]], batch: AbstractSet[MemoryId]) -> list[Reflection]:
    """What a model wrote, each with `text` (or `content`), `importance`, and `source_ids` if it likes.

    batch: the memories that it was given; no others can be sources.

    Raises:
        InvalidArgument: too few or too many, or one is not as it must be; the field says which.
    """
    if not _LEAST <= len(entries) <= _MOST:
        raise _refused("entries", f"must be {_LEAST}..{_MOST} entries")
    return [_checked(f"entries[{place}]", entry, batch) for place, entry in enumerate(entries)]


def reflection_memory(
    id: MemoryId, vault: VaultId, key: bytes, now: datetime, *, entry: Reflection, tier: int, event: datetime
) -> Memory:
    """The memory of a reflection. event: the end of what it covers. Equal ones are not taken for repeats."""
    return Memory(
        id=id,
        vault=vault,
        text=entry.text,
        title=title_of(entry.text),
        tokens=count_tokens(entry.text),
        digest=digest_of(key, entry.text),
        created=now,
        updated=now,
        event=event,
        tier=tier,
        importance=entry.importance,
    )


def _checked(place: str, entry: Mapping[str, object], batch: AbstractSet[MemoryId]) -> Reflection:
    if not _NAMES.issuperset(entry) or {"text", "content"} <= entry.keys():
        raise _refused(place, "takes text, importance and, optionally, source_ids; nothing else")
    importance = entry.get("importance")
    if type(importance) is not int or not 1 <= importance <= 10:
        raise _refused(f"{place}.importance", "is required and must be an integer 1..10")
    text = entry.get("text", entry.get("content"))
    return Reflection(
        text=_text(f"{place}.text", text),
        importance=importance,
        sources=_sources(f"{place}.source_ids", entry.get("source_ids"), batch),
    )


def _text(field: str, text: object) -> str:
    if not isinstance(text, str):
        raise _refused(field, "is required and must be a string")
    try:
        return checked_text(field, text)
    except InvalidArgument as error:
        raise _refused(field, error.detail.removeprefix(f"{field}: ")) from None


def _sources(field: str, ids: object, batch: AbstractSet[MemoryId]) -> tuple[MemoryId, ...]:
    if ids is None:
        return ()
    if not isinstance(ids, list) or not all(isinstance(id, str) and id in batch for id in ids):
        raise _refused(field, "must be ids of memories in this batch; leave it out for all of them")
    return tuple(dict.fromkeys(ids))


def _refused(field: str, rule: str) -> InvalidArgument:
    return InvalidArgument(field, f"{rule}. Nothing was written and the batch stays yours: mend this, commit again")
