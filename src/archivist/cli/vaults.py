"""`archivist vaults create` and `archivist vaults list`."""

import asyncio
import json
from pathlib import Path

import click

from archivist.app import OWNER
from archivist.cli.options import data_option, json_option, opened, settings_of
from archivist.domain.times import iso
from archivist.domain.vaults import KINDS, Kind, Vault


@click.group("vaults")
def vaults_command() -> None:
    """Make and list vaults. Nothing in one vault is ever found from another."""


@vaults_command.command("create")
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), default="project", show_default=True)
@json_option
@data_option
def create(name: str, kind: Kind, as_json: bool, data: Path | None) -> None:
    """Make a new, empty vault."""

    async def make() -> Vault:
        async with opened(settings_of(data=data)) as app:
            return await app.vaults.create(OWNER, name, kind)

    vault = asyncio.run(make())
    click.echo(json.dumps(_view(vault)) if as_json else f"Vault {vault.name!r} is ready ({vault.kind}, {vault.id}).")


@vaults_command.command("list")
@json_option
@data_option
def list_(as_json: bool, data: Path | None) -> None:
    """The vaults that there are, oldest first."""

    async def find() -> list[Vault]:
        async with opened(settings_of(data=data), reading=True) as app:
            return list(await app.vaults.list(OWNER))

    found = asyncio.run(find())
    if as_json:
        click.echo(json.dumps([_view(vault) for vault in found], ensure_ascii=False))
        return
    if not found:
        click.echo("No vaults yet. `archivist vaults create NAME` makes one; your first key makes a personal one.")
    for vault in found:
        click.echo(f"{vault.created:%Y-%m-%d}  {vault.kind:<12}  {vault.id}  {vault.name}")


def _view(vault: Vault) -> dict[str, str]:
    return {"id": vault.id, "name": vault.name, "kind": vault.kind, "created": iso(vault.created)}
