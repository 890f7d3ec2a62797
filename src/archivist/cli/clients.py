"""`archivist clients`: the apps that are known here, those with a secret, and those that nobody may connect."""

import json
from pathlib import Path

import click

from archivist.app import OWNER
from archivist.cli.options import data_option, json_option, settings_of, within
from archivist.cli.tables import day, print_table
from archivist.domain.clients import Client, Method
from archivist.domain.times import iso, iso_or_none

METHODS: dict[str, Method] = {"basic": "client_secret_basic", "post": "client_secret_post"}


@click.group("clients")
def clients_command() -> None:
    """Apps that ask to be connected. Most make themselves known; they have no rights until somebody allows them."""


@clients_command.command("create")
@click.argument("name")
@click.option("--redirect-uri", "uris", multiple=True, required=True, help="Where its answers go; may be repeated.")
@click.option("--method", type=click.Choice(sorted(METHODS)), default="basic", show_default=True, help="How it proves.")
@json_option
@data_option
def create(name: str, uris: tuple[str, ...], method: str, as_json: bool, data: Path | None) -> None:
    """Make an app that proves itself by a secret. It is printed once and kept nowhere: enter it in the app."""
    client, secret = within(
        settings_of(data=data),
        lambda app: app.clients.create(OWNER, name=name, redirect_uris=uris, method=METHODS[method]),
        reading=False,
    )
    if as_json:
        click.echo(json.dumps({**_view(client), "client_secret": secret}, ensure_ascii=False))
        return
    click.echo(f"client_id      {client.client_id}\nclient_secret  {secret}")
    click.echo("This is the only time the secret is shown.", err=True)


@clients_command.command("list")
@json_option
@data_option
def list_(as_json: bool, data: Path | None) -> None:
    """The apps that are known, oldest first."""
    found = within(settings_of(data=data), lambda app: app.clients.list(OWNER))
    if as_json:
        click.echo(json.dumps([_view(client) for client in found], ensure_ascii=False))
        return
    if not found:
        click.echo(
            "No apps yet. They make themselves known when they connect; `archivist clients create` makes others."
        )
        return
    print_table(
        ["NAME", "KIND", "KNOWN SINCE", "ALLOWED", "IS", "ID"],
        [
            [client.name, client.kind, day(client.created), day(client.approved), _state(client), client.client_id]
            for client in found
        ],
    )


@clients_command.command("block")
@click.argument("id")
@data_option
def block(id: str, data: Path | None) -> None:
    """Let nobody connect an app any more, and end its connections."""
    client = within(settings_of(data=data), lambda app: app.clients.set_blocked(OWNER, id, blocked=True))
    click.echo(f"{client.name or id} is blocked, and its connections are over.")


@clients_command.command("unblock")
@click.argument("id")
@data_option
def unblock(id: str, data: Path | None) -> None:
    """Let people connect an app again."""
    client = within(settings_of(data=data), lambda app: app.clients.set_blocked(OWNER, id, blocked=False))
    click.echo(f"{client.name or id} may be connected.")


def _state(client: Client) -> str:
    return "blocked" if client.blocked else "open"


def _view(client: Client) -> dict[str, object]:
    return {
        "client_id": client.client_id,
        "kind": client.kind,
        "name": client.name,
        "redirect_uris": list(client.redirect_uris),
        "method": client.method,
        "created": iso(client.created),
        "approved": iso_or_none(client.approved),
        "blocked": iso_or_none(client.blocked),
    }
