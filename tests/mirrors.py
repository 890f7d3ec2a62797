"""Compares a vault with its mirror, row by row and word by word."""

from pathlib import Path

from archivist.domain.ids import VaultId
from archivist.storage.schema import VAULT
from tests.e2e.inspecting import looking

NOT_COPIED = {"erasures"}
OF_EACH_SIDE = {"erasing", "leasing"}
"""Columns of the head that say how this side stands."""


def contents(folder: Path, vault: VaultId) -> dict[str, list[tuple[object, ...]]]:
    """The rows of every table of a vault's file, sorted, and the terms of its index."""
    found: dict[str, list[tuple[object, ...]]] = {}
    with looking(folder / "vaults" / f"{vault}.db") as connection:
        for table in VAULT:
            if table.name not in NOT_COPIED:
                names = [column.name for column in table.columns if column.name not in OF_EACH_SIDE]
                quoted = ", ".join(f'"{name}"' for name in names)
                found[table.name] = sorted(connection.execute(f"SELECT {quoted} FROM {table.name}"), key=repr)
        found["terms"] = sorted(connection.execute("SELECT term, doc, cnt FROM fts_terms"))
        found["documents"] = sorted(connection.execute("SELECT id FROM fts_docsize"))
    return found


def differences(data: Path, mirror: Path, vault: VaultId) -> list[str]:
    """The names of the tables that differ."""
    here, there = contents(data, vault), contents(mirror, vault)
    return [name for name, rows in here.items() if there[name] != rows]
