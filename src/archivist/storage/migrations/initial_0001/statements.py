"""The first schema, as text that never changes: what later migrations build on."""

from collections.abc import Sequence
from pathlib import Path

from archivist.storage.fulltext import FTS_DDL


def control(dialect: str) -> Sequence[str]:
    """For the file of people and keys."""
    return _statements(f"control.{dialect}")


def vault(dialect: str) -> Sequence[str]:
    """For a vault's file, with its full-text table."""
    return [*_statements(f"vault.{dialect}"), *FTS_DDL]


def server(dialect: str) -> Sequence[str]:
    """For a server's database, which holds both."""
    return _statements(f"server.{dialect}")


def _statements(name: str) -> Sequence[str]:
    text = Path(__file__).with_name(f"{name}.sql").read_text(encoding="utf-8")
    return [statement.strip() for statement in text.split(";\n") if statement.strip()]
