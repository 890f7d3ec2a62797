"""`archivist keys create`, `keys list` and `keys revoke`."""

import asyncio
import json
from pathlib import Path

import click

from archivist.app import OWNER
from archivist.cli.options import Scopes, data_option, json_option, opened, settings_of, vault_option
from archivist.domain.access import Scope
from archivist.domain.ids import VaultId
from archivist.domain.keys import Key
from archivist.domain.times import iso

READ_WRITE = frozenset({Scope.READ, Scope.WRITE})


@click.group("keys")
def keys_command() -> None:
    """Keys let a client into one vault, with the rights they were made with."""


@keys_command.command("create")
@vault_option
@click.option("--name", default="", help="What to call it in the list.")
@click.option("--scopes", type=Scopes(), help="read,write,reflect,delete; default read,write.")
@click.option("--read-only", is_flag=True, help="The same as --scopes read.")
@json_option
@data_option
def create(  # noqa: PLR0917 — click gives them by name
    vault: str | None, name: str, scopes: frozenset[Scope] | None, read_only: bool, as_json: bool, data: Path | None
) -> None:
    """Make a key. It is printed once, alone on stdout, and kept nowhere: store it where the client reads it."""
    if read_only and scopes is not None:
        raise click.UsageError("--read-only and --scopes say two things; give one")
    wanted = frozenset({Scope.READ}) if read_only else scopes or READ_WRITE

    async def make() -> tuple[Key, str]:
        async with opened(settings_of(data=data)) as app:
            who = await app.local(vault)
            return await app.keys.create(who, name=name, scopes=wanted)

    key, secret = asyncio.run(make())
    if as_json:
        click.echo(json.dumps({**_view(key), "key": secret}, ensure_ascii=False))
        return
    click.echo(secret)
    click.echo(f"Key {key.id} may {_short(key)}. This is the only time it is shown.", err=True)


@keys_command.command("list")
@json_option
@data_option
def list_(as_json: bool, data: Path | None) -> None:
    """The keys that there are; never the keys themselves."""

    async def find() -> tuple[list[Key], dict[VaultId, str]]:
        async with opened(settings_of(data=data), reading=True) as app:
            names = {vault.id: vault.name for vault in await app.vaults.list(OWNER)}
            return [one.key for one in await app.keys.list(OWNER)], names

    keys, names = asyncio.run(find())
    if as_json:
        click.echo(json.dumps([{**_view(key), "vault": names.get(key.vault, "")} for key in keys], ensure_ascii=False))
        return
    if not keys:
        click.echo("No keys yet. `archivist keys create` makes one.")
    for key in keys:
        state = "revoked" if key.revoked else _short(key)
        click.echo(f"{key.id}  {key.start}…  {names.get(key.vault, key.vault)}  {state}  {key.name}".rstrip())


@keys_command.command("revoke")
@click.argument("id")
@data_option
def revoke(id: str, data: Path | None) -> None:
    """End a key. It holds from the next request on."""

    async def end() -> None:
        async with opened(settings_of(data=data), reading=True) as app:
            await app.keys.revoke(OWNER, id)

    asyncio.run(end())
    click.echo(f"Key {id} is revoked.")


def _short(key: Key) -> str:
    return ",".join(scope.name.lower() for scope in Scope if scope in key.scopes)


def _view(key: Key) -> dict[str, object]:
    return {
        "id": key.id,
        "start": key.start,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "created": iso(key.created),
        "expires": iso(key.expires) if key.expires else None,
        "revoked": iso(key.revoked) if key.revoked else None,
    }
