"""The SQL of a migration: text that never changes once it was released."""

from collections.abc import Sequence
from pathlib import Path


def statements(folder: Path, name: str) -> Sequence[str]:
    """The statements of `folder/name.sql`, in order."""
    text = (folder / f"{name}.sql").read_text(encoding="utf-8")
    return [statement.strip() for statement in text.split(";\n") if statement.strip()]
