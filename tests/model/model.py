"""What a vault should hold after any acts, in plain Python: dictionaries by id, and no storage at all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from archivist.domain.memories import count_tokens
from tests.model.acts import (
    Act,
    Checkout,
    Commit,
    Committed,
    Delete,
    Deleted,
    DeleteDerived,
    Edit,
    Edited,
    Failed,
    ForgetAll,
    Forgotten,
    Lent,
    Nothing,
    Outcome,
    Owed,
    Store,
    Stored,
    holder,
)

LEASE = timedelta(minutes=15)
OPEN, ITEMS, LEAST, TOKENS = 4, 150, 10, 12_000
TOP_DUE = 12
"""Reflections of tier 2 from which on the server takes these by itself; 40, but runs are short."""

DUE_AGE, DUE_ITEMS, DUE_TOKENS, DUE_REFLECTIONS = timedelta(minutes=10), 60, 8_000, 40


@dataclass(frozen=True)
class Remembered:
    """A memory that is here. batch: that it was consolidated in."""

    text: str
    tier: int
    event: datetime
    version: int = 1
    importance: int | None = None
    batch: str = ""

    @property
    def tokens(self) -> int:
        return count_tokens(self.text)


@dataclass(frozen=True)
class Batch:
    """members: the ids and versions that no later batch took; none once it is committed."""

    holder: str
    tier: int
    items: int
    created: datetime
    expires: datetime
    members: tuple[tuple[str, int], ...]
    committed: datetime | None = None
    result: tuple[str, ...] = ()
    sources: int = 0

    def is_open(self, now: datetime) -> bool:
        return self.committed is None and now < self.expires

    @property
    def ids(self) -> list[str]:
        return [id for id, _ in self.members]


@dataclass
class Model:
    """A vault. links: what each reflection was built from, with the version of each; those of deleted ones, too.

    gone: the ids of all that was deleted.
    """

    memories: dict[str, Remembered] = field(default_factory=dict)
    links: dict[str, dict[str, int]] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()

    def copy(self) -> "Model":
        return Model(dict(self.memories), dict(self.links), dict(self.batches), self.gone)

    def changes_since(self, before: "Model") -> dict[str, object]:
        """For people: by id what is not as it was before."""
        tables = [(vars(before)[name], vars(self)[name]) for name in ("memories", "links", "batches")]
        keys = [(old, new, key) for old, new in tables for key in old.keys() | new.keys()]
        changed = {key: (old.get(key), new.get(key)) for old, new, key in keys if old.get(key) != new.get(key)}
        return changed | {"gone": self.gone ^ before.gone}

    def act(self, act: Act, now: datetime, ids: Mapping[str, str]) -> Outcome:
        """Do it, and what it answers. ids: what was made of a text, or lent to a holder, as it was found out."""
        match act:
            case Store():
                return self._store(act, now, ids)
            case Edit():
                return self._edit(act)
            case Checkout():
                return self._checkout(act, now, ids)
            case Commit():
                return self._commit(act, now, ids)
        return self._gone(act)

    # What is told

    def waiting(self, tier: int) -> list[str]:
        """What no reflection was built from yet, oldest first."""
        here = self.memories.items()
        return [id for _, id in sorted((one.event, id) for id, one in here if one.tier == tier and not one.batch)]

    def owed(self, now: datetime, *, but: str = "") -> Owed:
        """but: a batch that is left out."""
        lent = [id for name, one in self.batches.items() if one.is_open(now) and name != but for id in one.ids]
        own = set(self.batches[but].ids) if but else set()
        raw, reflections = ([id for id in self.waiting(tier) if id not in own] for tier in (1, 2))
        return Owed(
            memories=len(raw),
            tokens=sum(self.memories[id].tokens for id in raw),
            reflections=len(reflections),
            in_flight=sum(id in self.memories for id in lent),
        )

    def is_due(self, now: datetime) -> bool:
        old = [self.memories[id] for id in self.waiting(1) if self.memories[id].event <= now - DUE_AGE][:DUE_ITEMS]
        tokens = sum(one.tokens for one in old)
        return len(old) >= DUE_ITEMS or tokens >= DUE_TOKENS or len(self.waiting(2)) >= DUE_REFLECTIONS

    def derived(self, roots: Sequence[str]) -> tuple[str, ...]:
        """Those of `roots` and of all that was built on them that are here."""
        return tuple(id for id in dict.fromkeys([*roots, *self._above(roots)]) if id in self.memories)

    def _above(self, roots: Sequence[str]) -> Iterator[str]:
        seen, step = set(roots), set(roots)
        while step:
            step = {parent for parent, children in self.links.items() if step & children.keys()} - seen
            seen |= step
            yield from step

    # What is done

    def _store(self, act: Store, now: datetime, ids: Mapping[str, str]) -> Outcome:
        if any(one.text == act.text and one.tier == 1 for one in self.memories.values()):
            return Stored(duplicate=True)
        self.memories[ids.get(act.text, f"missing: {act.text}")] = Remembered(act.text, 1, now)
        return Stored(duplicate=False)

    def _edit(self, act: Edit) -> Outcome:
        before = self.memories.get(act.id)
        if before is None:
            return Failed("NotFound")
        others = [one for id, one in self.memories.items() if id != act.id]
        if before.tier == 1 and any(one.text == act.text and one.tier == 1 for one in others):
            return Failed("Conflict")
        self.memories[act.id] = replace(before, text=act.text, version=before.version + 1)
        return Edited(before.version + 1)

    def _checkout(self, act: Checkout, now: datetime, ids: Mapping[str, str]) -> Outcome:
        lent = {id: one for id, one in self.batches.items() if one.is_open(now)}
        own = max(
            (id for id, one in lent.items() if one.holder == holder(act.by)),
            key=lambda id: (lent[id].created, id),
            default=None,
        )
        if own and (here := tuple(id for id in lent[own].ids if id in self.memories)):
            return Lent(own, here, self.owed(now, but=own))
        others = [one for id, one in lent.items() if id != own]
        if len(others) >= OPEN:
            return Failed("BatchConflict")
        taken = {id for one in others for id in one.ids}
        tier, waiting = self._tier(act.tier, taken)
        if not waiting or (len(waiting) < LEAST and act.max_tokens is None):
            return Nothing(self.owed(now))
        chosen = self._fitting(waiting, act.max_tokens or TOKENS)
        if own:
            self.batches[own] = replace(lent[own], expires=now)
        for name, one in self.batches.items():
            self.batches[name] = replace(one, members=tuple(pair for pair in one.members if pair[0] not in chosen))
        new = ids.get(holder(act.by), "missing batch")
        members = tuple((id, self.memories[id].version) for id in chosen)
        self.batches[new] = Batch(holder(act.by), tier, len(chosen), now, now + LEASE, members)
        return Lent(new, tuple(chosen), self.owed(now, but=new))

    def _tier(self, tier: int | None, taken: set[str]) -> tuple[int, list[str]]:
        raw, reflections = ([id for id in self.waiting(one) if id not in taken][:ITEMS] for one in (1, 2))
        second = tier == 2 or (tier is None and len(reflections) >= TOP_DUE)
        return (2, reflections) if second else (1, raw)

    def _fitting(self, waiting: list[str], room: int) -> list[str]:
        chosen: list[str] = []
        for id in waiting:
            room -= self.memories[id].tokens
            if chosen and room < 0:
                break
            chosen.append(id)
        return chosen

    def _commit(self, act: Commit, now: datetime, ids: Mapping[str, str]) -> Outcome:
        batch = self.batches.get(act.batch)
        if batch is None or batch.holder != holder(act.by):
            return Failed("BatchNotFound")
        if batch.committed is not None:
            return Committed(batch.tier + 1, batch.result, batch.sources, already=True, debt=self.owed(now))
        free = [id for id in batch.ids if id in self.memories]
        if len(batch.members) < batch.items:
            return Failed("LeaseExpired")
        if not free:
            return Failed("BatchConflict")
        known = dict(batch.members)
        right = all(set(draft.sources) <= known.keys() and 1 <= draft.importance <= 10 for draft in act.drafts)
        if not (5 <= len(act.drafts) <= 10 and right):
            return Failed("InvalidArgument")
        end = max(self.memories[id].event for id in free)
        result = tuple(ids.get(draft.text, f"missing: {draft.text}") for draft in act.drafts)
        for id, draft in zip(result, act.drafts, strict=True):
            sources = draft.sources or tuple(known)
            event = max((self.memories[one].event for one in sources if one in self.memories), default=end)
            self.memories[id] = Remembered(draft.text, batch.tier + 1, event, importance=draft.importance)
            self.links[id] = {one: known[one] for one in sources}
        for id in free:
            self.memories[id] = replace(self.memories[id], batch=act.batch)
        self.batches[act.batch] = replace(batch, members=(), committed=now, result=result, sources=len(free))
        return Committed(batch.tier + 1, result, len(free), already=False, debt=self.owed(now))

    def hide(self, act: Act) -> dict[str, Remembered]:
        """Begin to delete what `act` asks for; returns what is hidden then. Batches end as soon as everything goes."""
        wanted: Sequence[str] = ()
        match act:
            case Delete(_, wanted):
                pass
            case DeleteDerived(_, ids):
                wanted = self.derived(ids)
            case ForgetAll():
                wanted, self.batches = list(self.memories), {}
                self.links = {parent: below for parent, below in self.links.items() if parent in self.memories}
        return {id: self.memories.pop(id) for id in set(wanted) & self.memories.keys()}

    def show(self, hidden: Mapping[str, Remembered]) -> None:
        """Withdraw it."""
        self.memories |= hidden

    def _gone(self, act: Delete | DeleteDerived | ForgetAll) -> Outcome:
        match act:
            case Delete(_, wanted):
                return self._delete(wanted)
            case DeleteDerived(_, wanted):
                going = self.derived(wanted)
                return self._delete(going, roots=wanted) if going else Failed("NotFound")
        return self._forget_all()

    def _delete(self, ids: Sequence[str], roots: Sequence[str] | None = None) -> Outcome:
        going = frozenset(ids) & frozenset(self.memories)
        kept = frozenset(self._above(roots or ids)) & self.memories.keys() - set(ids) if going else frozenset()
        for id in going:
            del self.memories[id]
        self.gone |= going
        return Deleted(going, frozenset(ids) - going, kept)

    def _forget_all(self) -> Outcome:
        count = len(self.memories)
        self.gone |= frozenset(self.memories)
        self.memories, self.links, self.batches = {}, {}, {}
        return Forgotten(count)
