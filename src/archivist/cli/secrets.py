"""`archivist secrets`: the server's own secrets, which seal what goes out and comes back, and the second factors."""

import json
from pathlib import Path

import click

from archivist.app import OWNER
from archivist.cli.options import data_option, json_option, settings_of, within
from archivist.services.sealing import Resealed


@click.group("secrets")
def secrets_command() -> None:
    """Exchange the server's own secrets while it runs: rotate, wait, strike."""


@secrets_command.command("rotate")
@json_option
@data_option
def rotate(as_json: bool, data: Path | None) -> None:
    """Make a new secret. The one before it still opens what it sealed, until `strike` or the next `rotate`."""
    done = within(settings_of(data=data), lambda app: app.sealing.rotate(OWNER))
    _print(done, "A new secret seals from now on; the one before it still opens, until it is struck off.", as_json)


@secrets_command.command("strike")
@json_option
@data_option
def strike(as_json: bool, data: Path | None) -> None:
    """Let only the newest secret be valid. Second factors go along; pages that are open now have to be loaded again."""
    done = within(settings_of(data=data), lambda app: app.sealing.strike(OWNER))
    _print(done, "Only the newest secret is valid any more.", as_json)


def _print(done: Resealed, what: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"resealed": done.count, "lost": list(done.lost)}, ensure_ascii=False))
        return
    click.echo(f"{what} Second factors sealed anew: {done.count}.")
    for name in done.lost:
        click.echo(
            f"The one of {name} can be opened by no secret; `archivist users drop-factor` takes it away.", err=True
        )
