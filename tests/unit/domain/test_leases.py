"""Every row of the batch state machine, by a clock that is given."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from archivist.domain import leases
from archivist.domain.errors import ArchivistError, BatchConflict, BatchNotFound, LeaseExpired
from archivist.domain.leases import LEASE, Batch, Member
from tests.builders import MINE, NOON, an_id

INSTANT = timedelta(microseconds=1)
EXPIRED = NOON + LEASE


def a_batch(number: int = 1, holder: str = "me", items: int = 3, at: datetime = NOON) -> Batch:
    return leases.opened(an_id(number), MINE, holder=holder, source_tier=1, items=items, now=at)


def the_members(*standings: str) -> list[Member]:
    return [
        Member(id=an_id(100 + place), version=1, event=None if standing == "deleted" else NOON, standing=standing)  # type: ignore[arg-type]  # the four words
        for place, standing in enumerate(standings)
    ]


def test_a_checkout_opens_a_batch_for_fifteen_minutes_that_leads_one_tier_up():
    batch = a_batch()
    assert (batch.expires - batch.created, batch.target_tier) == (timedelta(minutes=15), 2)
    assert (batch.committed, batch.result) == (None, "")


@pytest.mark.parametrize(
    ("committed", "now", "state"),
    [
        (None, NOON, "open"),
        (None, EXPIRED - INSTANT, "open"),
        (None, EXPIRED, "expired"),
        (None, EXPIRED + timedelta(days=9), "expired"),
        (NOON, NOON, "committed"),
        (EXPIRED, EXPIRED + INSTANT, "committed"),
    ],
)
def test_a_batch_is_open_until_its_lease_ends_or_it_is_committed(committed, now, state):
    assert replace(a_batch(), committed=committed).state(now) == state


def test_whoever_holds_an_open_batch_gets_it_again_and_nobody_else_does():
    mine, theirs = a_batch(1), a_batch(2, holder="they")
    assert leases.resumed([theirs, mine], "me", EXPIRED - INSTANT) is mine
    assert leases.resumed([theirs], "me", NOON) is None


@pytest.mark.parametrize("now", [EXPIRED, EXPIRED + INSTANT])
def test_a_batch_whose_lease_ended_is_not_given_again(now):
    assert leases.resumed([a_batch()], "me", now) is None


def test_a_committed_batch_is_not_given_again():
    assert leases.resumed([replace(a_batch(), committed=NOON)], "me", NOON) is None


def test_four_batches_may_be_open_and_the_fifth_is_told_when_the_first_one_ends():
    open_ones = [a_batch(number, holder=f"holder {number}", at=NOON + number * INSTANT) for number in range(4)]
    leases.require_room(open_ones[:3], NOON)
    leases.require_room([*open_ones[:3], replace(open_ones[3], committed=NOON)], NOON)
    leases.require_room(open_ones, EXPIRED)
    with pytest.raises(BatchConflict, match=r"4 batches .* after 2026-11-30T12:15:00\.000000Z"):
        leases.require_room(open_ones, NOON + LEASE - INSTANT)


def test_an_unknown_batch_and_one_of_somebody_else_are_refused_in_the_same_words():
    batch, said = a_batch(), []
    assert leases.held(batch, "me") is batch
    for found in (None, batch, replace(batch, committed=NOON)):
        with pytest.raises(BatchNotFound, match="nothing was written") as refused:
            leases.held(found, "they")
        said.append(refused.value.detail)
    assert len(set(said)) == 1


COMMITS: list[tuple[str, list[str], type[ArchivistError] | int]] = [
    ("all are there", ["free"] * 3, 3),
    ("one was deleted", ["free", "deleted", "free"], 2),
    ("one was archived", ["archived", "free", "free"], 2),
    ("all were deleted", ["deleted"] * 3, BatchConflict),
    ("all were deleted or archived", ["deleted", "archived", "deleted"], BatchConflict),
    ("another batch took one", ["free", "free"], LeaseExpired),
    ("another batch took all", [], LeaseExpired),
    ("another batch took one, the rest were deleted", ["deleted", "deleted"], LeaseExpired),
    ("one is consolidated", ["free", "consolidated", "free"], LeaseExpired),
]


@pytest.mark.parametrize(("standings", "outcome"), [row[1:] for row in COMMITS], ids=[row[0] for row in COMMITS])
def test_a_commit_takes_what_is_left_unless_somebody_else_took_of_it(standings, outcome):
    if isinstance(outcome, int):
        found = leases.left(a_batch(), the_members(*standings))
        assert [member.standing for member in found] == ["free"] * outcome
    else:
        with pytest.raises(outcome, match=r"nothing was written.*consolidate_memories"):
            leases.left(a_batch(), the_members(*standings))
