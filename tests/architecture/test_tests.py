"""Tests say what can be observed, never wait by the clock, and are never passed over."""

import ast
from collections.abc import Iterator, Sequence

import pytest

from tests.architecture.modules import Function, Module, last_name, planted, suite, where

PASSED_OVER = {"skip", "skipif", "xfail", "importorskip", "skipTest", "skipUnless", "expectedFailure"}
MAY_SLEEP = {"waiting.py": "looks again until something is so, within a bound; everything else asks it"}


def short_names(modules: Sequence[Module]) -> list[str]:
    """Tests whose name is not a sentence of at least three words."""
    return [
        f"{where(module, function)} {function.name}"
        for module in modules
        for function in module.functions()
        if function.name.startswith("test_") and len([word for word in function.name.split("_")[1:] if word]) < 3
    ]


def sleepers(modules: Sequence[Module]) -> list[str]:
    """Calls of any `sleep` with a time: `sleep(0)` only lets others run."""
    return [
        where(module, node)
        for module in modules
        if module.name not in MAY_SLEEP
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and last_name(node.func) == "sleep" and not _is_zero(node)
    ]


def passed_over(modules: Sequence[Module]) -> list[str]:
    return [
        where(module, node)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute | ast.Name) and last_name(node) in PASSED_OVER and _is_of_a_runner(node)
    ]


def repeated_names(modules: Sequence[Module]) -> list[str]:
    """Tests that hide an earlier one of the same name: Python keeps only the last."""
    found = []
    for module in modules:
        seen: set[str] = set()
        for function in _top_tests(module):
            found += [f"{where(module, function)} {function.name}"] if function.name in seen else []
            seen.add(function.name)
    return found


def _top_tests(module: Module) -> Iterator[Function]:
    return (node for node in module.tree.body if isinstance(node, Function) and node.name.startswith("test_"))


def _is_of_a_runner(node: ast.Attribute | ast.Name) -> bool:
    if isinstance(node, ast.Name):
        return True
    return last_name(node.value) in {"pytest", "mark", "unittest", "self"}


def _is_zero(call: ast.Call) -> bool:
    return [arg.value for arg in call.args if isinstance(arg, ast.Constant)] == [0]


RULES = [short_names, sleepers, passed_over, repeated_names]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tests_keep_every_rule_for_tests(rule):
    assert rule(suite()) == []


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (short_names, "def test_keys_2(): ...\n"),
        (short_names, "class A:\n    async def test_revoke(self): ...\n"),
        (sleepers, "import time\ntime.sleep(0.1)\n"),
        (sleepers, "from anyio import sleep\nasync def f(): await sleep(1)\n"),
        (passed_over, "import pytest\n@pytest.mark.skipif(True, reason='x')\ndef test_a_b_c(): ...\n"),
        (passed_over, "import pytest\nbrowser = pytest.importorskip('playwright')\n"),
        (passed_over, "import pytest\ndef test_a_b_c(): pytest.xfail('later')\n"),
        (repeated_names, "def test_a_b_c(): ...\ndef test_a_b_c(): ...\n"),
    ],
)
def test_a_rule_for_tests_sees_what_breaks_it(rule, text):
    assert rule(planted("unit/test_planted.py", text)) != []


def test_a_test_may_let_others_run():
    assert sleepers(planted("unit/test_planted.py", "async def f(): await anyio.sleep(0)\n")) == []
