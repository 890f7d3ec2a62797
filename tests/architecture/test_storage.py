"""No query can forget its vault: functions of storage/ are given it first, and statements filter on it."""

import ast
import importlib
import re
from collections.abc import Iterator, Sequence

import pytest
import sqlalchemy as sa
from sqlalchemy.sql import visitors

from tests.architecture.modules import Function, Module, last_name, package, planted

BUILDERS = {"select", "insert", "update", "delete", "text", "exists", "union", "union_all"}
DOORS = {"Database", "Connection"}
VAULTS = {"VaultId"}
PEOPLE = "storage.people."
"""Modules about people, apps and sessions: their tables belong to no vault, and have no column for one."""

ENGINES = ("storage.sqlite", "storage.server", "storage.migrations", "storage.schema", "storage.sql")
"""Modules that run statements and lay out tables; they know no rows of their own."""

WITHOUT_A_VAULT = {
    "storage.keys.by_digest": "the key says which vault it opens, so nobody knows the vault before",
    "storage.keys.of_owner": "a list for the owner, over all vaults of theirs",
    "storage.keys.alive": "an operator ends all that is meant, wherever it is",
    "storage.vaults.of_member": "a list for the person, of all vaults that they are in",
    "storage.vaults.everything": "an operator ends all that is meant, wherever it is",
    "storage.vaults.ids": "workers visit every vault in turn",
    "storage.members.of_user": "the same list, of the roles",
    "storage.grants.of_user": "a person's connections, in all vaults of theirs",
    "storage.grants.resumable": "the same, with those that an app gave back just now",
    "storage.grants.reused": "the same, of those that ended of misuse",
    "storage.grants.alive": "an operator ends all that is meant, wherever it is",
    "storage.codes.by_digest": "the code says which vault it opens",
    "storage.approvals.clear": "age is the same in every vault",
    "storage.codes.clear": "age is the same in every vault",
    "storage.tokens.by_digest": "the token says which vault it opens",
    "storage.tokens.clear": "age is the same in every vault",
    "storage.copies._missing": "of a vault, or of the control database, whose trail speaks of all vaults",
    "storage.changes.entries_of": "lays out a statement, which asks for the vault that is bound to it",
}
"""Functions over more than one vault, each with its reason."""

UNFILTERED = {
    "storage.keys._BY_DIGEST": "of by_digest",
    "storage.keys._OF_OWNER": "of of_owner",
    "storage.keys._ALIVE": "of alive",
    "storage.vaults._ALL": "of everything",
    "storage.copies._TRAIL": "of new_in_control_trail",
    "storage.vaults._OF_MEMBER": "of of_member",
    "storage.members._OF_USER": "of of_user",
    "storage.grants._OF_USER": "of of_user",
    "storage.grants._RESUMABLE": "of resumable",
    "storage.grants._REUSED": "of reused",
    "storage.grants._ALL": "of alive",
    "storage.codes._BY_DIGEST": "of by_digest",
    "storage.approvals._CLEAR": "of clear",
    "storage.codes._CLEAR": "of clear",
    "storage.tokens._BY_DIGEST": "of by_digest",
    "storage.tokens._CLEAR": "of clear",
    "storage.vaults._IDS": "of ids",
    "storage.pending._HAVE": "a part of _WITHOUT, which asks for the vault of memories",
    "storage.memories.SELECT": "the beginning of others, which add the vault",
}
"""Statements of such functions, and parts of statements."""


def vaultless(modules: Sequence[Module]) -> list[str]:
    """Functions that build a statement and take neither (vault, …) nor (db, vault, …) nor a value with its vault."""
    return [
        f"{module.name}.{function.name}"
        for module in modules
        if module.name.startswith("storage.") and not module.name.startswith((*ENGINES, PEOPLE))
        for function in module.tree.body
        if isinstance(function, Function) and _speaks(function) and not _has_vault_first(function)
    ]


def unfiltered(name: str, statement: sa.ClauseElement) -> list[str]:
    """The tables of a statement whose vault it does not ask for. Of an insert, those that it copies from."""
    if isinstance(statement, sa.Insert):
        values = [part for part in visitors.iterate(statement) if isinstance(part, sa.Select)]
        read = values if statement.select is None else [statement.select]
        return [finding for part in read for finding in unfiltered(name, part)]
    text = str(statement.compile())
    tables = {part.name for part in visitors.iterate(statement) if isinstance(part, sa.Table) and "vault" in part.c}
    return [f"{name}: {table}" for table in sorted(tables) if not re.search(rf"\b{table}\.vault = ", text)]


def statements() -> Iterator[tuple[str, sa.ClauseElement]]:
    """Every statement that is laid out once, at the top of a module of storage/ or search/."""
    for module in package():
        if module.name.startswith(("storage.", "search.")) and not module.name.endswith("__init__"):
            for name, value in vars(importlib.import_module(f"archivist.{module.name}")).items():
                if isinstance(value, sa.Select | sa.CompoundSelect | sa.Insert | sa.Update | sa.Delete):
                    yield f"{module.name}.{name}", value


def _speaks(function: Function) -> bool:
    """Whether it builds a statement, reads with one, or wraps one in a Write."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    names = {call.id for call in calls if isinstance(call, ast.Name)}
    methods = {(last_name(call.value), call.attr) for call in calls if isinstance(call, ast.Attribute)}
    builds = any(owner in {"sa", "sqlalchemy"} and name in BUILDERS for owner, name in methods)
    return builds or bool(names & (BUILDERS | {"Write"})) or any(name == "read" for _, name in methods)


def _has_vault_first(function: Function) -> bool:
    kinds = [(arg.arg, last_name(arg.annotation)) for arg in (*function.args.posonlyargs, *function.args.args)]
    if kinds and kinds[0][1] in DOORS:
        kinds = kinds[1:]
    if not kinds:
        return False
    name, kind = kinds[0]
    return (name == "vault" and kind in VAULTS) or kind in _values_with_a_vault()


def _values_with_a_vault() -> set[str]:
    """Domain values that carry their vault, and those that are one."""
    classes = [
        node
        for module in package()
        if module.name.startswith("domain.")
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    ]
    fields = {node.name: {last_name(f.target) for f in node.body if isinstance(f, ast.AnnAssign)} for node in classes}
    return {name for name, names in fields.items() if "vault" in names} | {"Vault"}


def test_every_statement_is_built_for_one_vault():
    assert sorted(set(vaultless(package())) - set(WITHOUT_A_VAULT)) == []


def test_no_exception_outlives_its_function():
    names = {f"{module.name}.{function.name}" for module in package() for function in module.functions()}
    assert sorted(set(WITHOUT_A_VAULT) - names) == []


def test_every_statement_asks_for_its_vault():
    found = [
        finding for name, statement in statements() if name not in UNFILTERED for finding in unfiltered(name, statement)
    ]
    assert found == []


def test_a_module_about_people_touches_no_table_of_a_vault():
    found = {
        f"{name}: {part.name}"
        for name, statement in statements()
        if name.startswith(PEOPLE)
        for part in visitors.iterate(statement)
        if isinstance(part, sa.Table) and "vault" in part.c
    }
    assert found == set()


def test_no_excused_statement_outlives_its_use():
    assert sorted(set(UNFILTERED) - {name for name, _ in statements()}) == []


def test_a_statement_that_forgets_a_vault_is_found():
    first, second = (
        sa.Table(name, sa.MetaData(), sa.Column("vault", sa.Text), sa.Column("id", sa.Text)) for name in ("one", "two")
    )
    mine = first.c.vault == sa.bindparam("of_vault")
    assert unfiltered("x", sa.select(first).where(mine)) == []
    assert unfiltered("x", sa.select(first).where(first.c.id == "1")) == ["x: one"]
    assert unfiltered("x", sa.delete(first)) == ["x: one"]
    assert unfiltered("x", sa.select(first, second.c.id).where(mine, first.c.id == second.c.id)) == ["x: two"]
    assert unfiltered("x", sa.insert(first).from_select(["id"], sa.select(second.c.id))) == ["x: two"]


@pytest.mark.parametrize(
    "text",
    [
        "async def find(db: Database, id: MemoryId): return await db.read(sa.select(memories))",
        "def remove(id: MemoryId) -> Write: return Write(sa.delete(memories))",
        "def remove(ids: Sequence[MemoryId], vault: VaultId) -> Write: return Write(sa.delete(memories))",
        "def everything() -> Write: return Write(delete(memories))",
        "async def ids(db: Database): return await db.read(_IDS)",
        "def remove(vault) -> Write: return Write(delete(memories))",
    ],
)
def test_a_statement_without_a_vault_is_found(text):
    assert vaultless(planted("storage.memories", text)) != []


@pytest.mark.parametrize(
    "text",
    [
        "async def find(db: Database, vault: VaultId, id: MemoryId): return await db.read(sa.select(memories))",
        "def remove(vault: VaultId, id: MemoryId) -> Write: return Write(sa.delete(memories))",
        "def insert(memory: Memory) -> Write: return Write(sa.insert(memories))",
        "def _memory(row: Row) -> Memory: return Memory(**row)",
    ],
)
def test_a_statement_for_a_vault_passes(text):
    assert vaultless(planted("storage.memories", text)) == []
