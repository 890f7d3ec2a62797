"""The first schema, as text that never changes: what later migrations build on."""

from collections.abc import Sequence
from pathlib import Path

from archivist.storage.fulltext import FTS_DDL
from archivist.storage.migrations import frozen

_HERE = Path(__file__).parent


def control(dialect: str) -> Sequence[str]:
    """For the file of people and keys."""
    return frozen.statements(_HERE, f"control.{dialect}")


def vault(dialect: str) -> Sequence[str]:
    """For a vault's file, with its full-text table."""
    return [*frozen.statements(_HERE, f"vault.{dialect}"), *FTS_DDL]


def server(dialect: str) -> Sequence[str]:
    """For a server's database, which holds both."""
    return frozen.statements(_HERE, f"server.{dialect}")
