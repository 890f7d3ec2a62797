"""`archivist repair`: brings damaged data back from the mirror, and lets the mirror copy anew what is damaged there."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from archivist.app import App
from archivist.cli.doctor import looked_over
from archivist.cli.options import data_option, json_option, settings_of, within
from archivist.domain.times import utc_now
from archivist.storage.sqlite.repair import Repair, carry_out

ACTS = {
    "copy": "is made anew from the mirror",
    "rows": "gets its damaged memories back from the mirror",
    "index": "gets its full-text index built anew",
    "aside": "is moved aside in the mirror, which copies it anew",
    "impossible": "cannot be repaired: no whole copy is left; restore it from a backup",
}


@click.command("repair")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@data_option
def repair_command(yes: bool, as_json: bool, data: Path | None) -> None:
    """Mend what `archivist doctor` finds. Stop the server and all its clients first.

    No damaged file is deleted: it is moved aside, with the date in its name.
    """
    settings = settings_of(data=data)
    needed = [one for one in looked_over(settings) if one.act != "nothing"]
    for one in needed:
        click.echo(f"{one.finding.path.name} {ACTS[one.act]} ({one.reason})", err=True)
        for id in one.lost:
            click.echo(f"  memory {id} is damaged on both sides and stays refused", err=True)
    possible = [one for one in needed if one.act != "impossible"]
    if possible and not yes and not _agreed():
        click.echo("Nothing was changed.", err=True)
        sys.exit(1)
    now = utc_now()
    for one in possible:
        carry_out(one, now)
    if possible:
        within(settings, _followed)
    left = [one for one in needed if one.act == "impossible" or one.lost]
    _told(possible, left, as_json=as_json)
    sys.exit(1 if left else 0)


def _agreed() -> bool:
    if not sys.stdin.isatty():
        click.echo("Add --yes to repair without being asked.", err=True)
        return False
    return click.confirm("Is everything that uses this folder stopped, and shall it be repaired?", err=True)


async def _followed(app: App) -> None:
    await app.mirroring.catch_up()


def _told(done: Sequence[Repair], left: Sequence[Repair], *, as_json: bool) -> None:
    if as_json:
        named = [{"file": one.finding.path.name, "repair": one.act} for one in done]
        click.echo(json.dumps({"repaired": named, "left": [one.finding.path.name for one in left]}))
    elif not done and not left:
        click.echo("Everything is whole.")
    else:
        click.echo(f"{len(done)} repaired, {len(left)} not.")
