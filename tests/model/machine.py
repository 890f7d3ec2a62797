"""Runs acts against the services and the model, makes things go wrong meanwhile, and compares the two after each act.

Whatever goes wrong, an act is done as a whole or not at all: what is found afterwards must be what the model holds with
it, or without it, and the answer must say which.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import permutations, product
from pathlib import Path
from random import Random
from types import SimpleNamespace
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from archivist.domain import ids
from archivist.domain.errors import Unavailable
from archivist.services import reflection
from tests.builders import Clock
from tests.e2e.inspecting import faults
from tests.faults import Fault, Killed, When
from tests.mirrors import differences
from tests.model.acts import (
    Act,
    Checkout,
    Commit,
    Cut,
    Delete,
    Deleted,
    DeleteDerived,
    Draft,
    Edit,
    Failed,
    ForgetAll,
    Forgotten,
    Outcome,
    Store,
    found_ids,
    holder,
    same_answer,
)
from tests.model.house import AWAY, House, Meanwhile, owed
from tests.model.model import TOP_DUE, Model

CONNECTIONS = 6
"""More than may hold a batch at once."""

DELETIONS = (Delete, DeleteDerived, ForgetAll)
EVERYTHING = 500
NOBODY = "0193b000-0000-7000-8000-000000000001"
"""The id of nothing."""


@dataclass(frozen=True)
class Crash:
    """The process of the act ends at this call of the vault, or of its mirror."""

    at: int
    when: When
    of_mirror: bool


@dataclass(frozen=True)
class Hiccup:
    """One call of the vault fails, and whether it had an effect nobody can say."""

    at: int
    when: When


@dataclass(frozen=True)
class Outage:
    """The mirror is away from this call on: until the act is over, or until it is set up again."""

    at: int
    lasting: bool


@dataclass(frozen=True)
class Other:
    """Before this call of the vault another act is done as a whole, in the other process."""

    at: int
    kind: str
    by: int
    pick: int


Mishap = Crash | Hiccup | Outage | Other | None

CALLS = st.integers(1, 16)
WHEN = st.sampled_from(["before", "after"])
PICKS = st.integers(0, 10_000)
BY = st.integers(0, CONNECTIONS - 1)
KINDS = st.sampled_from(["store", "edit", "checkout", "commit", "delete", "forget all"])
CRASHES = st.builds(Crash, CALLS, WHEN, st.booleans())
OTHERS = st.builds(Other, CALLS, KINDS, BY, PICKS)
MISHAPS = st.one_of(
    st.none(),
    st.none(),
    st.none(),
    CRASHES,
    st.builds(Hiccup, CALLS, WHEN),
    st.builds(Outage, CALLS, st.booleans()),
    OTHERS,
)
MINUTES = st.sampled_from([0, 0, 1, 14, 16, 60])
TIERS = st.sampled_from([None, 1, 1, 2])
WORDS = st.sampled_from([1, 60, 250])
BUDGETS = st.sampled_from([1_000, 1_000, 60_000, None])
DRAFTS = st.sampled_from(["right", "right", "right", "own sources", "too few", "too many", "no source of it"])


class WholeStore(RuleBasedStateMachine):
    """The whole store. What a rule draws is turned into an act by what the model holds."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="archivist-model-"))
        self.clock, self.model, self.count, self.steps = Clock(), Model(), 0, 0
        bits = SimpleNamespace(randbits=Random(0).getrandbits)  # ids, and with them ties, are the same in every run
        self.patches = [
            mock.patch.object(ids, "secrets", bits),
            mock.patch.object(reflection, "DUE_REFLECTIONS", TOP_DUE),
        ]
        for patch in self.patches:
            patch.start()
        self.runner = asyncio.Runner()
        self.house = House(self.folder / "data", self.clock)
        self.run(self.house.open())

    def teardown(self) -> None:
        try:
            self.set_mirror(up=True)
            self.follow_the_mirror()
            self.run(self.house.close())
            assert (found := faults(self.house.data)) == [], found
        finally:
            self.runner.close()
            for patch in self.patches:
                patch.stop()
            shutil.rmtree(self.folder)

    # What connections do

    @initialize(count=st.integers(0, 14))
    def begin(self, count: int) -> None:
        for _ in range(count):
            self.step(Store(0, self.text("walrus", 60)))

    @rule(by=BY, count=st.integers(1, 6), words=WORDS, mishap=MISHAPS)
    def store(self, by: int, count: int, words: int, mishap: Mishap) -> None:
        for number in range(count):
            self.step(Store(by, self.text("walrus", words)), None if number else mishap)

    @precondition(lambda self: self.model.memories)
    @rule(by=BY, pick=PICKS, mishap=MISHAPS)
    def store_again(self, by: int, pick: int, mishap: Mishap) -> None:
        self.step(Store(by, self.model.memories[self.picked(pick)].text), mishap)

    @precondition(lambda self: self.model.memories)
    @rule(by=BY, pick=PICKS, to=st.none() | PICKS, words=WORDS, mishap=MISHAPS)
    def edit(self, by: int, pick: int, to: int | None, words: int, mishap: Mishap) -> None:
        text = self.text("seal", words) if to is None else self.model.memories[self.picked(to)].text
        self.step(Edit(by, self.picked(pick), text), mishap)

    @rule(by=BY, tier=st.sampled_from([None, 1, 2]), max_tokens=BUDGETS, mishap=MISHAPS)
    def checkout(self, by: int, tier: int | None, max_tokens: int | None, mishap: Mishap) -> None:
        self.step(Checkout(by, tier, max_tokens), mishap)

    @precondition(lambda self: self.model.batches)
    @rule(pick=PICKS, by=st.none() | BY, how=DRAFTS, count=st.integers(5, 10), mishap=MISHAPS)
    def commit(self, pick: int, by: int | None, how: str, count: int, mishap: Mishap) -> None:
        self.step(self.a_commit(self.a_batch(pick), by, how, count), mishap)

    @precondition(lambda self: any(not one.committed for one in self.model.batches.values()))
    @rule(pick=PICKS, count=st.integers(5, 10), mishap=MISHAPS)
    def commit_what_is_open(self, pick: int, count: int, mishap: Mishap) -> None:
        self.step(self.a_commit(self.a_batch(pick, waiting=True), None, "right", count), mishap)

    @precondition(lambda self: self.model.memories)
    @rule(by=BY, tier=TIERS, minutes=MINUTES, rival=st.none() | BY, commit=st.tuples(DRAFTS, MISHAPS))
    def reflect(self, by: int, tier: int | None, minutes: int, rival: int | None, commit: tuple[str, Mishap]) -> None:
        """Take a batch, be at it for a while, commit it, and once more since the answer was lost."""
        self.step(Checkout(by, tier, 60_000))
        own = {id: one for id, one in self.model.batches.items() if one.holder == holder(by) and not one.committed}
        self.clock.move(minutes=minutes)
        if rival is not None:
            self.step(Checkout(rival, tier, 1_000))
        if own:
            act = self.a_commit(list(own)[-1], None, commit[0], 6)
            self.step(act, commit[1])
            self.step(act)

    @rule(by=BY, picks=st.lists(PICKS, min_size=1, max_size=4), mishap=MISHAPS)
    def delete(self, by: int, picks: list[int], mishap: Mishap) -> None:
        if ids := self.ever(picks):
            self.step(Delete(by, ids), mishap)

    @precondition(lambda self: self.model.batches)
    @rule(by=BY, pick=PICKS, most=st.integers(1, 20), mishap=MISHAPS)
    def delete_what_is_lent(self, by: int, pick: int, most: int, mishap: Mishap) -> None:
        batches = list(self.model.batches.values())
        if ids := batches[pick % len(batches)].ids[:most]:
            self.step(Delete(by, tuple(ids)), mishap)

    @rule(by=BY, picks=st.lists(PICKS, min_size=1, max_size=2), mishap=MISHAPS)
    def delete_derived(self, by: int, picks: list[int], mishap: Mishap) -> None:
        if ids := self.ever(picks):
            self.step(DeleteDerived(by, ids), mishap)

    @rule(by=BY, mishap=MISHAPS, really=st.sampled_from([False, False, False, True]))
    def forget_all(self, by: int, mishap: Mishap, really: bool) -> None:
        self.step(ForgetAll(by) if really else Store(by, self.text("walrus", 60)), mishap)

    # What happens to them

    @rule(minutes=st.sampled_from([1, 5, 14, 15, 16, 60, 3_000, -10]))
    def jump(self, minutes: int) -> None:
        self.clock.move(minutes=minutes)

    @rule()
    def restart(self) -> None:
        self.run(self.house.reopen())

    @rule(up=st.sampled_from([True, True, False]))
    def set_mirror(self, up: bool) -> None:
        self.house.set_mirror(up=up)

    @rule(process=st.integers(0, 1))
    def follow_the_mirror(self, process: int = 0) -> None:
        if self.house.mirror_is_up:
            self.run(self.house.processes[process].app.mirroring.catch_up())
            self.compare_with_the_mirror()

    # What always holds

    @invariant()
    def the_vault_is_as_the_model_says(self) -> None:
        self.steps += 1
        self.run(self.compare())

    def compare_with_the_mirror(self) -> None:
        assert (found := differences(self.house.data, self.house.copy, self.house.vault)) == [], found

    async def compare(self) -> None:
        model, now, by = self.model, self.clock(), self.steps % CONNECTIONS
        app, who = self.house.process_of(by).app, self.house.principal(by)
        assert self.house.look() == model
        lent = [id for one in model.batches.values() if one.is_open(now) for id in one.ids]
        assert len(lent) == len(set(lent)), "a memory is in two open batches"
        seen = {memory.id: memory for memory in await app.memories.recent(who, EVERYTHING)}
        assert {id: one.text for id, one in seen.items()} == {id: one.text for id, one in model.memories.items()}
        assert owed(await app.reflections.debt(who)) == model.owed(now)
        assert await app.reflections.due(who) == model.is_due(now)
        status, here = await app.status.of(who), model.memories.values()
        assert (status.memories, status.tokens) == (len(here), sum(one.tokens for one in here))
        assert status.tiers == {tier: sum(one.tier == tier for one in here) for tier in (1, 2, 3)}
        assert (owed(status.reflection), status.pending) == (model.owed(now), 0)
        if model.memories:
            await self.look_closer(self.picked(self.steps))
        if self.house.mirror_is_up and status.mirror.state == "current" and model.gone | model.memories.keys():
            self.compare_with_the_mirror()

    async def look_closer(self, id: str) -> None:
        """One memory is found by its words, and behind it stands what it was built from."""
        process, who, model = self.house.process_of(self.steps), self.house.principal(self.steps), self.model
        text = model.memories[id].text
        found = [row.memory for row in (await process.app.search.search(who, query=text, limit=EVERYTHING)).rows]
        assert found[0].text == text
        assert all(one.id in model.memories and model.memories[one.id].text == one.text for one in found)
        links, inside = model.links.get(id, {}), await process.app.lineage.inspect(who, id)
        here = {one: version for one, version in links.items() if one in model.memories}
        edited = sum(model.memories[one].version != version for one, version in here.items())
        counted = inside.sources_total, inside.sources_deleted, inside.sources_edited
        assert counted == (len(links), len(links) - len(here), edited)
        above = {parent for parent, below in model.links.items() if id in below and parent in model.memories}
        assert {one.id for one in inside.above} == above

    # One act

    def step(self, act: Act, mishap: Mishap = None) -> None:
        """Do it on both sides; what is found afterwards becomes the model's truth if it can be explained."""
        self.clock.move(seconds=1)
        now, done = self.clock(), [(act, Cut())]
        if isinstance(mishap, Outage | Crash) and not self.house.mirror_is_up and getattr(mishap, "of_mirror", True):
            mishap = None
        before = self.prepare(act, mishap, done)
        done[0] = act, self.run(self.house.do(act))
        self.clean_up(act, mishap, done[0][1])
        found = self.house.look()
        ids = {one.text: id for id, one in found.memories.items() if id not in self.known}
        ids |= {one.holder: id for id, one in found.batches.items() if id not in self.model.batches}
        for one, outcome in done:
            ids |= found_ids(one, outcome)
        explained = [model for model in self.explanations(done, mishap, before, ids, now) if model == found]
        assert explained, f"{mishap}: {done} changed {found.changes_since(self.model)}"
        self.model = explained[0]

    @property
    def known(self) -> frozenset[str]:
        return self.model.gone | self.model.memories.keys()

    def prepare(self, act: Act, mishap: Mishap, done: list[tuple[Act, Outcome]]) -> bool:
        """Set up what goes wrong. Returns whether the mirror is away before the act begins."""
        away, process = not self.house.mirror_is_up, self.house.process_of(act.by)
        match mishap:
            case Crash(at, when, of_mirror):
                (process.mirror if of_mirror else process.primary).fault = Fault(at, when, Killed)
            case Hiccup(at, when):
                process.primary.fault = Fault(at, when, lambda: Unavailable("the disk is busy"))
            case Outage(at, _):
                process.mirror.fault = Fault(at, "before", lambda: AWAY, lasting=True)
            case Other(at, kind, by, pick):
                other = self.another(kind, by ^ 1 if self.house.process_of(by) is process else by, pick)

                async def meanwhile() -> None:
                    process.interrupted.meanwhile = None
                    done.append((other, await self.house.do(other)))

                process.interrupted.meanwhile = Meanwhile(at, meanwhile)
        return away

    def clean_up(self, act: Act, mishap: Mishap, outcome: Outcome) -> None:
        process = self.house.process_of(act.by)
        process.primary.fault = process.interrupted.meanwhile = None
        self.house.set_mirror(up=self.house.mirror_is_up and not (isinstance(mishap, Outage) and mishap.lasting))
        if isinstance(outcome, Cut):
            self.run(self.house.reopen())
        elif isinstance(mishap, Hiccup):
            self.clock.move(minutes=3)
            self.run(self.house.end_what_is_left(patience=True))

    def explanations(
        self, done: list[tuple[Act, Outcome]], mishap: Mishap, away: bool, ids: dict[str, str], now: datetime
    ) -> Iterator[Model]:
        """The states that the answers allow: each act was done, or was not, or was begun and withdrawn."""
        (act, outcome), *others = done
        same = [(act, outcome)]
        if isinstance(act, DeleteDerived) and others:  # what comes to rest on it after the preview stays
            same.append((Delete(act.by, self.model.derived(act.ids)), outcome))
        for order in (order for one in same for order in permutations([one, *others])):
            for fates in product(("done", "not done", "withdrawn"), repeat=len(order)):
                model, hidden, fits = self.model.copy(), {}, True
                for (act, outcome), fate in zip(order, fates, strict=True):
                    if fate == "done":
                        fits &= self.agrees(model.act(act, now, ids), outcome, mishap, away)
                        continue
                    fits &= self.may_fail(act, outcome, mishap, away)
                    if fate == "withdrawn":  # others see what is going as gone, until it is shown again
                        hidden |= model.hide(act)
                if fits:
                    model.show(hidden)
                    yield model

    def agrees(self, expected: Outcome, outcome: Outcome, mishap: Mishap, away: bool) -> bool:
        """Whether an act that was done may have been answered so."""
        if away and (isinstance(expected, Forgotten) or (isinstance(expected, Deleted) and expected.deleted)):
            return False
        unknown = isinstance(mishap, Hiccup) and isinstance(outcome, Failed) and outcome.error == "Unavailable"
        nothing = isinstance(outcome, Failed) and outcome.detail.startswith("nothing was")
        if isinstance(outcome, Cut) or (unknown and not nothing):
            return True
        return same_answer(expected, outcome, loosely=isinstance(mishap, Hiccup | Other))

    def may_fail(self, act: Act, outcome: Outcome, mishap: Mishap, away: bool) -> bool:
        """Whether an act that was not done may have been answered so."""
        if isinstance(outcome, Cut):
            return isinstance(mishap, Crash)
        if not isinstance(outcome, Failed):
            return False
        refused = outcome.error == "Unavailable" and outcome.detail.startswith("nothing was deleted: the mirror")
        match mishap:
            case Hiccup():
                return outcome.error == "Unavailable"
            case Other():
                late = outcome.error == "LeaseExpired" and isinstance(act, Commit)  # all was forgotten as it looked
                return late or outcome.error in ("Conflict", "Unavailable")
            case Outage():
                return isinstance(act, DELETIONS) and refused
        return away and isinstance(act, DELETIONS) and refused

    # Out of what is there

    def run(self, work):
        return self.runner.run(work)

    def text(self, word: str, words: int) -> str:
        self.count += 1
        return f"{word}{self.count}" + " pebble" * words

    def picked(self, pick: int) -> str:
        return list(self.model.memories)[pick % len(self.model.memories)]

    def ever(self, picks: list[int]) -> tuple[str, ...]:
        """Some of the memories that are here, or were."""
        all_ids = [*self.model.memories, *sorted(self.model.gone)[:3]]
        return tuple(dict.fromkeys(all_ids[pick % len(all_ids)] for pick in picks)) if all_ids else ()

    def a_batch(self, pick: int, *, waiting: bool = False) -> str:
        batches = [id for id, one in self.model.batches.items() if not (waiting and one.committed)]
        return batches[pick % len(batches)]

    def a_commit(self, id: str, by: int | None, how: str, count: int) -> Commit:
        batch, count = self.model.batches[id], {"too few": 4, "too many": 11}.get(how, count)
        sources = {"own sources": tuple(batch.ids[:3]), "no source of it": (NOBODY,)}.get(how, ())
        drafts = tuple(
            Draft(self.text("otter", 20), 1 + number % 10, sources if number < 2 else ()) for number in range(count)
        )
        return Commit(int(batch.holder[-2:], 16) if by is None else by, id, drafts)

    def another(self, kind: str, by: int, pick: int) -> Act:
        if kind == "edit" and self.model.memories:
            return Edit(by, self.picked(pick), self.text("seal", 5))
        if kind == "checkout":
            return Checkout(by, None, 1_000)
        if kind == "commit" and self.model.batches:
            return self.a_commit(self.a_batch(pick), None, "right", 5)
        if kind == "delete" and (ids := self.ever([pick, pick + 1])):
            return Delete(by, ids)
        return ForgetAll(by) if kind == "forget all" else Store(by, self.text("walrus", 5))
