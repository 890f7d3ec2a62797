"""`archivist end`: the kill switch. Connections, keys and sessions that meet every condition end, all at once."""

import json
from datetime import datetime
from pathlib import Path

import click

from archivist.app import OWNER, App
from archivist.cli.moments import Moment
from archivist.cli.options import data_option, json_option, settings_of, within
from archivist.domain.clients import client_digest
from archivist.domain.errors import NotFound
from archivist.services.connections import Ended, Which


@click.command("end")
@click.option("--user", metavar="NAME", help="Only those of this person.")
@click.option("--client", metavar="ID", help="Only connections of this app; `clients list` shows the ids.")
@click.option("--vault", metavar="NAME", help="Only those of this vault, whoever's it is; its id will do, too.")
@click.option("--since", type=Moment(), metavar="ISO", help="Only those made at that day or moment, or later.")
@click.option("--until", type=Moment(ends=True), metavar="ISO", help="Only those made before that moment; a day ends.")
@click.option("--all", "everything", is_flag=True, help="Every one of everybody.")
@json_option
@data_option
def end_command(  # noqa: PLR0917 — click gives them by name
    user: str | None,
    client: str | None,
    vault: str | None,
    since: datetime | None,
    until: datetime | None,
    everything: bool,
    as_json: bool,
    data: Path | None,
) -> None:
    """End connections, keys and sessions, from the next request on, in every process.

    What meets every condition that is given ends. Keys belong to no app, and sessions to neither app nor vault: with
    such a condition they stay.
    """
    conditions = (user, client, vault, since, until)
    if everything and conditions != (None,) * len(conditions):
        raise click.UsageError("--all and a condition say two things; give one")
    if not everything and conditions == (None,) * len(conditions):
        raise click.UsageError("say what is to end: --user, --client, --vault, --since, --until, or --all")

    async def cut(app: App) -> Ended:
        which = Which(
            user=None if user is None else (await app.accounts.named(OWNER, user)).id,
            client=None if client is None else await _known(app, client),
            vault=None if vault is None else (await app.vaults.anywhere(OWNER, vault)).id,
            since=since,
            until=until,
        )
        return await app.connections.end_all(OWNER, which)

    print_ended(within(settings_of(data=data), cut), as_json=as_json)


def print_ended(ended: Ended, *, as_json: bool) -> None:
    """How many of each have ended."""
    counts = {"connections": ended.connections, "keys": ended.keys, "sessions": ended.sessions}
    if as_json:
        click.echo(json.dumps(counts))
        return
    words = [f"{count} {what if count != 1 else what.removesuffix('s')}" for what, count in counts.items()]
    click.echo(f"Ended: {', '.join(words)}.")


async def _known(app: App, client_id: str) -> str:
    if await app.clients.known(client_id) is None:
        raise NotFound("no app with that id; `archivist clients list` shows them")
    return client_digest(client_id)
