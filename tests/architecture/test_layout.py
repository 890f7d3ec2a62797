"""What a module is called, how it begins, and what it may do at all."""

import ast
import re
from collections.abc import Iterator, Sequence

import pytest

from tests.architecture.modules import Module, last_name, package, planted, where

EMPTY_WORDS = {"manager", "managers", "helper", "helpers", "util", "utils", "base", "common", "impl", "misc"}
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|DELETE\s+FROM|UPDATE\s+\w+\s+SET|(CREATE|DROP|ALTER)\s+\w+|PRAGMA)\s",
    re.DOTALL,
)
SPEAKS_SQL = ("storage.", "search.")
SECRET = re.compile(r"(^|_)(secret|token|digest|password|signature|mac|hmac|presented)$")


def without_a_first_line(modules: Sequence[Module]) -> list[str]:
    """Modules whose first line is not their docstring. Empty ones are packages."""
    return [module.name for module in modules if module.text and not module.text.startswith(('"""', 'r"""'))]


def furnished_packages(modules: Sequence[Module]) -> list[str]:
    """Packages that hold code. The root one holds a docstring and its version."""
    nested = [module for module in modules if module.name.endswith(".__init__") and module.text]
    root = [module for module in modules if module.name == "__init__" and not _is_version_only(module)]
    return [module.name for module in [*nested, *root]]


def empty_names(modules: Sequence[Module]) -> list[str]:
    """Modules, folders and classes named by a word that says nothing."""
    names = [(module.name, part) for module in modules for part in module.name.split(".")]
    names += [(module.name, node.name) for module in modules for node in _classes(module)]
    return [f"{place}: {name}" for place, name in names if EMPTY_WORDS & set(_words(name))]


def prints(modules: Sequence[Module]) -> list[str]:
    return [
        where(m, call)
        for m in modules
        for call in _calls(m)
        if isinstance(call.func, ast.Name) and call.func.id == "print"
    ]


def stray_sql(modules: Sequence[Module]) -> list[str]:
    """SQL in strings, or SQLAlchemy, above the floors that speak to databases."""
    above = [module for module in modules if not module.name.startswith(SPEAKS_SQL)]
    texts = [where(module, text) for module in above for text in _strings(module) if SQL.search(text.value)]
    imports = [
        where(module, node)
        for module in above
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and "sqlalchemy" in ast.unparse(node)
    ]
    return texts + imports


def leaky_comparisons(modules: Sequence[Module]) -> list[str]:
    """Secrets compared with `==`, whose time tells how much was right: `hmac.compare_digest` is for them.

    A column in a statement is no secret in memory, and a constant that stands in the code is none at all.
    """
    return [
        where(module, node)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Compare)
        and any(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops)
        and any(_is_secret(side) for side in (node.left, *node.comparators))
        and not any(_is_public(side) for side in (node.left, *node.comparators))
    ]


def _is_secret(side: ast.expr) -> bool:
    return not isinstance(side, ast.Constant) and SECRET.search(last_name(side)) is not None


def _is_public(side: ast.expr) -> bool:
    column = isinstance(side, ast.Attribute) and last_name(side.value) == "c"
    return column or isinstance(side, ast.Constant) or last_name(side).isupper()


def _is_version_only(module: Module) -> bool:
    kinds = [type(node) for node in module.tree.body]
    return kinds == [ast.Expr, ast.Assign] and "__version__" in module.text


def _words(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def _classes(module: Module) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))


def _calls(module: Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(module.tree) if isinstance(node, ast.Call))


def _strings(module: Module) -> Iterator[ast.Constant]:
    return (node for node in ast.walk(module.tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


RULES = [without_a_first_line, furnished_packages, empty_names, prints, stray_sql, leaky_comparisons]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_every_rule_of_its_layout(rule):
    assert rule(package()) == []


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (without_a_first_line, "domain.a", "import re\n"),
        (without_a_first_line, "domain.a", '# said first\n"""Late."""\n'),
        (furnished_packages, "domain.__init__", "from archivist.domain.ids import VaultId\n"),
        (furnished_packages, "__init__", '"""Doc."""\n\nfrom archivist.app import App\n'),
        (empty_names, "services.memory_manager", '"""Doc."""\n'),
        (empty_names, "utils.text", '"""Doc."""\n'),
        (empty_names, "services.a", "class BaseStore: ...\n"),
        (prints, "cli.serve", "print('hello')\n"),
        (stray_sql, "services.a", "q = f'SELECT text FROM {table} WHERE id = 1'\n"),
        (stray_sql, "mcp.a", "q = 'delete'\nr = 'DELETE FROM memories WHERE 1'\n"),
        (stray_sql, "workers.a", "import sqlalchemy as sa\n"),
        (leaky_comparisons, "services.a", "ok = key.secret == presented\n"),
        (leaky_comparisons, "services.a", "if digest_of(x) != row.digest: pass\n"),
    ],
)  # fmt: skip
def test_a_rule_of_the_layout_sees_what_breaks_it(rule, name, text):
    assert rule(planted(name, text)) != []


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (without_a_first_line, "domain.__init__", ""),
        (furnished_packages, "__init__", '"""Doc."""\n\n__version__ = "1"\n'),
        (empty_names, "storage.database", "class Database: ...\n"),
        (stray_sql, "storage.a", "q = 'SELECT a FROM b '\n"),
        (stray_sql, "services.a", "phrase = 'DELETE ALL MEMORIES'\n"),
        (leaky_comparisons, "storage.keys", "q = keys.c.digest == digest\n"),
        (leaky_comparisons, "embedders.a", "if digest != SHA256: pass\n"),
    ],
)
def test_a_rule_of_the_layout_lets_honest_code_pass(rule, name, text):
    assert rule(planted(name, text)) == []
