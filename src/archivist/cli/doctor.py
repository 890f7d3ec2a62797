"""`archivist doctor`: whether everything that is stored is whole, in the data folder and in its mirror."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from archivist.cli.options import bar, data_option, json_option, settings_of
from archivist.cli.tables import print_table
from archivist.domain.errors import Refused
from archivist.settings import Settings
from archivist.storage.sqlite.diagnosis import Finding
from archivist.storage.sqlite.repair import Repair, memories_in, plan

STATES = {
    None: "whole",
    "missing": "missing",
    "unreadable": "damaged",
    "rows": "memories damaged",
    "index": "index damaged",
}


@click.command("doctor")
@json_option
@data_option
def doctor_command(as_json: bool, data: Path | None) -> None:
    """Read every page and every memory of the data and of its mirror, and say what is wrong. Changes nothing.

    A server may run meanwhile. Ends with 1 if something is damaged; `archivist repair` mends it.
    """
    settings = settings_of(data=data)
    found = looked_over(settings)
    wrong = [one for one in found if one.act != "nothing" or one.finding.trouble is not None]
    if as_json:
        click.echo(json.dumps({"whole": not wrong, "files": [_view(one, settings) for one in found]}))
    else:
        print_table(["FILE", "SIDE", "STATE", "LOG", "WHAT"], [_row(one, settings) for one in found])
        for line in _behind(found, settings):
            click.echo(line, err=True)
        if wrong:
            click.echo("Stop the server and its clients, then run `archivist repair`.", err=True)
    sys.exit(1 if wrong else 0)


def looked_over(settings: Settings) -> Sequence[Repair]:
    """What each file needs.

    Raises:
        Refused: neither the folder nor its mirror holds any data.
    """
    mirror = settings.mirror_folder
    sides = [side for side in (settings.data, mirror) if side is not None]
    if not any((side / "control.db").exists() or (side / "vaults").is_dir() for side in sides):
        raise Refused(f"{settings.data} holds no memories; check --data")
    there = mirror if mirror is not None and mirror.is_dir() else None
    with bar("Memories", memories_in(settings.data, there)) as progress:
        return plan(settings.data, there, progress.update)


def _row(one: Repair, settings: Settings) -> list[str]:
    finding = one.finding
    return [finding.path.name, _side(finding, settings), STATES[finding.trouble], _log(finding), one.reason]


def _side(finding: Finding, settings: Settings) -> str:
    mirror = settings.mirror_folder
    return "mirror" if mirror is not None and finding.path.is_relative_to(mirror) else "data"


def _log(finding: Finding) -> str:
    return "-" if finding.head is None else str(finding.head.seq)


def _behind(found: Sequence[Repair], settings: Settings) -> list[str]:
    """What the mirror has not copied yet, in words."""
    stands = {(_side(one.finding, settings), one.finding.path.name): one.finding.head for one in found}
    return [
        f"The mirror of {name} is {head.seq - mine.seq} entries of the log behind; a running server copies them."
        for (side, name), head in stands.items()
        if side == "data" and head and (mine := stands.get(("mirror", name))) and mine.seq < head.seq
    ]


def _view(one: Repair, settings: Settings) -> dict[str, object]:
    finding = one.finding
    return {
        "file": finding.path.name,
        "side": _side(finding, settings),
        "trouble": finding.trouble,
        "detail": one.reason,
        "memories": list(finding.memories),
        "lost": list(one.lost),
        "log": None if finding.head is None else finding.head.seq,
        "repair": one.act,
    }
