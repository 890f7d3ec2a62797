"""People, apps, and what opens doors. Whoever owned a vault becomes its first member."""

from collections.abc import Sequence
from pathlib import Path

from archivist.storage.migrations import frozen

_HERE = Path(__file__).parent


def control(dialect: str) -> Sequence[str]:
    """For the file of people and keys."""
    return frozen.statements(_HERE, f"control.{dialect}")


def server(dialect: str) -> Sequence[str]:
    """For a server's database."""
    return frozen.statements(_HERE, f"server.{dialect}")
