"""`archivist connections`: what people allowed which app, and its end."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from archivist.app import OWNER, App
from archivist.cli.options import data_option, json_option, settings_of, within
from archivist.cli.tables import day, minute, print_table, rights
from archivist.domain.ids import UserId
from archivist.domain.times import iso
from archivist.domain.toolsets import PATHS
from archivist.services.connections import Connection


@click.group("connections")
def connections_command() -> None:
    """Connections let an app into one vault of a person, with the rights that they ticked."""


@connections_command.command("list")
@click.option("--user", metavar="NAME", help="Only those of this person.")
@json_option
@data_option
def list_(user: str | None, as_json: bool, data: Path | None) -> None:
    """The connections that have not ended, the last allowed first."""

    async def find(app: App) -> tuple[Sequence[Connection], Mapping[UserId, str]]:
        named = None if user is None else (await app.accounts.named(OWNER, user)).id
        names = {one.id: one.name for one in await app.accounts.list(OWNER)}
        return await app.connections.everybody(OWNER, named), names

    found, names = within(settings_of(data=data), find)
    if as_json:
        click.echo(json.dumps([_view(one, names) for one in found], ensure_ascii=False))
        return
    if not found:
        click.echo("No connections. They are made in the browser, when an app asks to be let in.")
        return
    print_table(
        ["ID", "APP", "RETURNS TO", "OF", "MAY", "ALLOWED", "LAST USE (UTC)"],
        [
            [
                one.grant.id,
                one.grant.client_name,
                one.grant.host,
                names.get(one.grant.user, ""),
                rights(one.grant.scopes),
                day(one.grant.approved),
                minute(one.seen.last if one.seen else None),
            ]
            for one in found
        ],
    )


@connections_command.command("end")
@click.argument("id")
@data_option
def end(id: str, data: Path | None) -> None:
    """End a connection. It holds from the next request on."""
    grant = within(settings_of(data=data), lambda app: app.connections.cut(OWNER, id))
    click.echo(f"The connection of {grant.client_name or 'a nameless app'} is over.")


def _view(one: Connection, names: Mapping[UserId, str]) -> dict[str, object]:
    grant, seen = one.grant, one.seen
    return {
        "id": grant.id,
        "app": grant.client_name,
        "host": grant.host,
        "user": names.get(grant.user, ""),
        "vault": grant.vault,
        "tools": PATHS[grant.toolset],
        "scopes": sorted(grant.scopes),
        "created": iso(grant.created),
        "approved": iso(grant.approved),
        "last_used": iso(seen.last) if seen else None,
    }
