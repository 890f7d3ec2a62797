"""Which migrations a database still needs. Forward only; how to run them is each backend's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from archivist.domain.errors import Refused
from archivist.storage.migrations.initial_0001 import statements as initial_0001
from archivist.storage.migrations.people_0002 import statements as people_0002
from archivist.storage.migrations.reflections_0003 import statements as reflections_0003

Kind = Literal["control", "vault", "server"]
"""The SQLite file of people and keys, a vault's SQLite file, and a server's database, which holds both."""


@dataclass(frozen=True, slots=True)
class Migration:
    """`up` gives the statements for a dialect. They run in one transaction with the note that they ran."""

    number: int
    up: Callable[[str], Sequence[str]]


MIGRATIONS: dict[Kind, Sequence[Migration]] = {
    "control": (
        Migration(1, initial_0001.control),
        Migration(2, people_0002.control),
        Migration(3, reflections_0003.control),
    ),
    "vault": (Migration(1, initial_0001.vault), Migration(3, reflections_0003.vault)),
    "server": (
        Migration(1, initial_0001.server),
        Migration(2, people_0002.server),
        Migration(3, reflections_0003.server),
    ),
}


def due(migrations: Sequence[Migration], version: int, name: str) -> Sequence[Migration]:
    """Those that a database at `version` (0: empty) still needs, in order.

    Raises:
        Refused: `name` was written by a newer program.
    """
    newest = migrations[-1].number
    if version > newest:
        raise Refused(
            f"{name} was written by a newer version of Archivist (schema {version}, this one knows {newest});"
            " install that version or a later one"
        )
    return [migration for migration in migrations if migration.number > version]
