"""Lists as people read them: headings, then a row for each thing, in columns that stand under each other."""

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import click

from archivist.domain.access import Scope, ordered
from archivist.domain.memories import in_one_line

_GAP = "  "


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print `rows`, each as long as `headings`. Whatever a cell holds, it stays in its line."""
    shown = [[in_one_line(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(_width(cell) for cell in column) for column in zip(*shown, strict=True)]
    for row in shown:
        padded = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        click.echo(_GAP.join(padded).rstrip())


def day(moment: datetime | None, without: str = "never") -> str:
    """The day of a moment, in UTC; `without` if there is none."""
    return without if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d}"


def minute(moment: datetime | None, without: str = "never") -> str:
    """Day and time of a moment, in UTC; `without` if there is none."""
    return without if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def rights(scopes: Iterable[Scope]) -> str:
    """Scopes by their short names, in their order: `read,write`."""
    return ",".join(scope.name.lower() for scope in ordered(scopes))


def _width(text: str) -> int:
    """The columns that a terminal takes for it: two for wide letters, none for marks on the letter before."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
