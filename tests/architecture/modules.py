"""The modules as text and syntax trees, for rules to look at. A rule is a function of modules: real or planted."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """A module by its dotted name without the package (`storage.memories`); a package is `storage.__init__`."""

    name: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones too."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node


def planted(name: str, text: str) -> list[Module]:
    """A package of one module, made up to break a rule."""
    return [Module(name, text, ast.parse(text))]


@cache
def package() -> Sequence[Module]:
    """The modules of src/archivist, by name."""
    root = SRC / "archivist"
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
    return [
        Module(".".join(path.relative_to(root).with_suffix("").parts), text, ast.parse(text))
        for path, text in texts.items()
    ]


@cache
def suite() -> Sequence[Module]:
    """The modules of tests/, by their path."""
    root = ROOT / "tests"
    paths = [path for path in sorted(root.rglob("*.py")) if "node_modules" not in path.parts]
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return [Module(name, text, ast.parse(text)) for name, text in texts.items()]


def where(module: Module, node: ast.stmt | ast.expr) -> str:
    """How a finding names its place."""
    return f"{module.name}:{node.lineno}"


def last_name(node: ast.AST | None) -> str:
    """The last word of a name: `c` of `a.b.c`, `f` of `f(…)`; empty for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner) | ast.Await(value=inner):
            return last_name(inner)
        case ast.Constant(value=str(text)):
            return text.rsplit(".", 1)[-1]
    return ""
