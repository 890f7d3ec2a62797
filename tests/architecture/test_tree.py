"""The tree as a whole: one tool file, and nothing in it that speaks of a machine, a registry or how it was made."""

import re
import subprocess
import tomllib
from collections.abc import Iterator

import pytest

from tests.architecture.modules import ROOT

TOOL_FILES = re.compile(
    r"(setup\.(cfg|py)|tox\.ini|pytest\.ini|\.?mypy\.ini|\.?ruff\.toml|\.flake8|\.importlinter|\.coveragerc|"
    r"\.pylintrc|pyrightconfig\.json|uv\.lock|poetry\.lock|Pipfile(\.lock)?)"
)
AT_HOME = re.compile(r"^tools/setup\.py$")
"""A script of ours that only shares its name with a tool's file."""

UNWANTED = {
    "a path of some machine": r"/w[o]rk/|/r[o]ot/|/opt/w[h]eels|/f[a]rm/",
    "a registry's host": r"pypi\.[o]rg|pythonhost[e]d|npmjs\.[o]rg|ind[e]x-url|find-l[i]nks|\"resolved\": *\"http",
    "how it was made": r"\bissue\s#?\d+\b|\bV-row|\bSEC-\d|\bINV-\d|\b[C]EO\b|product\.[m]d|retrieval\.[m]d"
    r"|style\.[m]d|shared/(spec|design|ref[e]rence|bench)",
    "unfinished work": r"\bT[O]DO\b|\bF[I]XME\b|\bXX[X]\b|NotImpl[e]mentedError",
}
UNEXPLAINED = {
    "type: ignore": re.compile(r"# type: ign[o]re(\[[\w\-, ]+\])?\s*$", re.MULTILINE),
    "noqa": re.compile(r"# n[o]qa(: *[A-Z]+\d+(, *[A-Z]+\d+)*)?\s*$", re.MULTILINE),
    "no cover": re.compile(r"# pragma: no c[o]ver\s*$", re.MULTILINE),
}
PIN = re.compile(r"[a-z0-9][\w.-]*==[\w.]+ |    --hash=sha256:[0-9a-f]{64}")


def tracked() -> Iterator[tuple[str, str]]:
    """Every text file that is in the repository or about to be: its path and its text."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        path = ROOT / name
        if path.is_file():
            yield name, path.read_bytes().decode("utf-8", errors="replace")


@pytest.fixture(scope="module")
def tree() -> dict[str, str]:
    return dict(tracked())


def found(pattern: str, text: str) -> list[str]:
    return [match[0] for match in re.finditer(pattern, text)]


def test_the_tree_is_read_at_all(tree):
    assert {
        "pyproject.toml",
        "README.md",
        "src/archivist/__init__.py",
        "tests/architecture/test_tree.py",
    } <= tree.keys()


def test_pyproject_is_the_only_tool_file(tree):
    names = [name for name in tree if TOOL_FILES.fullmatch(name.rsplit("/", 1)[-1]) and not AT_HOME.match(name)]
    assert names == []


@pytest.mark.parametrize("what", UNWANTED)
def test_no_file_speaks_of_anything_but_the_product(tree, what):
    places = {name: words for name, text in tree.items() if (words := found(UNWANTED[what], text))}
    assert places == {}


@pytest.mark.parametrize("what", UNEXPLAINED)
def test_an_exception_from_a_tool_gives_its_reason_on_the_line(tree, what):
    code = {name: text for name, text in tree.items() if name.endswith((".py", ".pyi"))}
    assert [name for name, text in code.items() if UNEXPLAINED[what].search(text)] == []


def test_the_rules_for_the_tree_see_what_breaks_them():
    wheels, host = "/opt/" + "wheels/x.whl", "https://pypi." + "org/simple"
    assert found(UNWANTED["a path of some machine"], f"from {wheels}") == ["/opt/" + "wheels"]
    assert found(UNWANTED["a registry's host"], host) == ["pypi." + "org"]
    assert found(UNWANTED["how it was made"], "as SEC-" + "112 asks") == ["SEC-" + "1"]
    assert UNEXPLAINED["type: ignore"].search("x = y  # type: " + "ignore[arg-type]\n")
    assert not UNEXPLAINED["type: ignore"].search("x = y  # type: " + "ignore[arg-type]  # the stub is wrong\n")
    assert TOOL_FILES.fullmatch("pytest.ini")


def test_the_version_is_said_the_same_everywhere(tree):
    version = tomllib.loads(tree["pyproject.toml"])["project"]["version"]
    assert f'__version__ = "{version}"' in tree["src/archivist/__init__.py"]


def test_the_changelog_says_what_is_new(tree):
    unreleased = tree["CHANGELOG.md"].split("\n## ")[1]
    assert unreleased.startswith("[Unreleased]")
    assert "\n- " in unreleased


def test_every_pin_carries_hashes_and_only_a_version(tree):
    for name in ("run", "dev", "build", "lock"):
        lines = tree[f"requirements/{name}.txt"].splitlines()
        assert lines
        assert [
            line for line in lines if not re.match(r"[a-z0-9][\w.-]*==[\w.]+ |    --hash=sha256:[0-9a-f]{64}", line)
        ] == []


def test_an_npm_lock_file_names_no_address(tree):
    locks = {name: text for name, text in tree.items() if name.endswith("package-lock.json")}
    assert "tests/clients/package-lock.json" in locks
    assert [name for name, text in locks.items() if '"integrity"' not in text or '"resolved"' in text] == []
