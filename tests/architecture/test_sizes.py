"""Modules fit in one sitting, functions on one screen, and imports stand at the top."""

import ast
from collections.abc import Sequence
from statistics import median, quantiles

from tests.architecture.modules import Module, package, planted, where

MODULE_LINES = 400
FUNCTION_LINES = 60
INNER_IMPORTS = 5
ENOUGH_MODULES = 30
"""Below this many a median says nothing."""


def too_long(modules: Sequence[Module]) -> list[str]:
    return [f"{module.name} has {module.lines} lines" for module in modules if module.lines > MODULE_LINES]


def too_long_functions(modules: Sequence[Module]) -> list[str]:
    return [
        f"{where(module, function)} {function.name} has {length} lines"
        for module in modules
        for function in module.functions()
        if (length := _length(function)) > FUNCTION_LINES
    ]


def inner_imports(modules: Sequence[Module]) -> list[str]:
    """Imports inside functions. Those of types only, at the top under TYPE_CHECKING, are none."""
    inside = {
        where(module, node)
        for module in modules
        for function in module.functions()
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return sorted(inside)


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_every_module_fits_in_one_sitting():
    assert too_long(package()) == []


def test_every_function_fits_on_one_screen():
    assert too_long_functions(package()) == []


def test_modules_are_deep_and_none_of_them_is_the_program():
    lengths = [module.lines for module in package() if module.text]
    if len(lengths) > ENOUGH_MODULES:
        assert 50 <= median(lengths) <= 150
        assert quantiles(lengths, n=10)[-1] <= 300


def test_functions_are_mostly_short():
    lengths = [_length(function) for module in package() for function in module.functions()]
    assert median(lengths) <= 8
    assert quantiles(lengths, n=10)[-1] <= 30


def test_few_imports_hide_inside_functions():
    found = inner_imports(package())
    assert len(found) <= INNER_IMPORTS, found


def test_an_import_inside_a_function_gives_its_reason():
    lines = {module.name: module.text.splitlines() for module in package()}
    places = [place.rsplit(":", 1) for place in inner_imports(package())]
    unexplained = [f"{name}:{line}" for name, line in places if "#" not in lines[name][int(line) - 1]]
    assert unexplained == []


def test_the_size_rules_see_what_breaks_them():
    assert too_long(planted("services.everything", "x = 1\n" * 401)) == ["services.everything has 401 lines"]
    assert too_long(planted("services.everything", "x = 1\n" * 400)) == []
    body = "def f():\n" + "    x = 1\n" * 60
    assert too_long_functions(planted("domain.long", body)) == ["domain.long:1 f has 61 lines"]
    assert inner_imports(planted("app", "import a\ndef f():\n    from b import c\n")) == ["app:3"]
