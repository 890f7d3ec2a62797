"""The whole store against a small model: nothing is lost, lent twice, half done, or different in the mirror."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import WholeStore

RUNS, STEPS = 60, 35
"""About two minutes. More of both look further: the runs are the same ones every time."""

SETTINGS = settings(
    max_examples=RUNS,
    stateful_step_count=STEPS,
    derandomize=True,
    database=None,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def test_whatever_connections_do_and_whatever_fails_meanwhile_the_store_is_what_the_model_says():
    run_state_machine_as_test(WholeStore, settings=SETTINGS)
