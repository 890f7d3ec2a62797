"""Budgets: how many acts a key has within a time."""

from datetime import timedelta

from archivist.fetching.budgets import Budget
from tests.builders import Clock

NOW = timedelta(0)


def spent(budget: Budget, key: str, times: int) -> None:
    for _ in range(times):
        assert budget.wait(key) == NOW
        budget.spend(key)


def test_sec_096_a_key_has_so_many_acts_and_another_key_has_its_own():
    budget = Budget(3, timedelta(minutes=1), Clock())
    spent(budget, "ana", 3)
    assert budget.wait("ana") == timedelta(minutes=1)
    assert budget.wait("ben") == NOW


def test_an_act_is_free_again_once_the_oldest_is_out_of_the_window():
    clock = Clock()
    budget = Budget(2, timedelta(minutes=1), clock)
    spent(budget, "ana", 1)
    clock.move(seconds=40)
    spent(budget, "ana", 1)
    clock.move(seconds=19)
    assert budget.wait("ana") == timedelta(seconds=1)
    clock.move(seconds=1)
    spent(budget, "ana", 1)
    assert budget.wait("ana") == timedelta(seconds=40)


def test_asking_uses_nothing_up():
    budget = Budget(1, timedelta(minutes=1), Clock())
    assert [budget.wait("ana") for _ in range(3)] == [NOW] * 3


def test_sec_152_made_up_keys_do_not_grow_memory_and_a_busy_key_is_not_forgotten_for_them():
    budget = Budget(1_000, timedelta(minutes=1), Clock(), keys=100)
    for number in range(1_000):
        budget.spend("ana")
        budget.spend(f"made up {number}")
    assert len(budget._acts) == 100
    assert budget.wait("ana") == timedelta(minutes=1)
    assert budget.wait("made up 0") == NOW
