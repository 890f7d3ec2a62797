"""Reflection batches, deletions that are seen through on both sides, checksums of rows, approvals of owners."""

from collections.abc import Sequence
from pathlib import Path

from archivist.storage.migrations import frozen

_HERE = Path(__file__).parent


def control(dialect: str) -> Sequence[str]:
    """For the file of people and keys."""
    return frozen.statements(_HERE, f"control.{dialect}")


def vault(dialect: str) -> Sequence[str]:
    """For a vault's file."""
    return frozen.statements(_HERE, f"vault.{dialect}")


def server(dialect: str) -> Sequence[str]:
    """For a server's database, which holds both."""
    return frozen.statements(_HERE, f"server.{dialect}")
