"""`archivist vaults`: make and list them, see who is in one, invite people, and have an owner asked."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from archivist.app import OWNER, App
from archivist.cli.links import print_link
from archivist.cli.options import data_option, json_option, settings_of, within
from archivist.cli.tables import day, print_table
from archivist.domain.access import LOCAL_OWNER
from archivist.domain.approvals import WANTED, Wanted
from archivist.domain.ids import VaultId
from archivist.domain.roles import ROLES, Role
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
    vault = within(settings_of(data=data), lambda app: app.vaults.create(OWNER, name, kind), reading=False)
    made = {**_view(vault), "role": "owner"}
    click.echo(json.dumps(made) if as_json else f"Vault {vault.name!r} is ready ({vault.kind}, {vault.id}).")


@vaults_command.command("list")
@json_option
@data_option
def list_(as_json: bool, data: Path | None) -> None:
    """The vaults that there are, oldest first."""

    async def find(app: App) -> tuple[Sequence[Vault], Mapping[VaultId, Role]]:
        return await app.vaults.list(OWNER), await app.vaults.roles(OWNER)

    found, roles = within(settings_of(data=data), find)
    if as_json:
        rows = [{**_view(vault), "role": roles.get(vault.id, "")} for vault in found]
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    if not found:
        click.echo("No vaults yet. `archivist vaults create NAME` makes one; your first key makes a personal one.")
        return
    print_table(
        ["MADE", "KIND", "YOU ARE", "ID", "NAME"],
        [[day(vault.created), vault.kind, roles.get(vault.id, ""), vault.id, vault.name] for vault in found],
    )


@vaults_command.command("members")
@click.argument("name")
@json_option
@data_option
def members(name: str, as_json: bool, data: Path | None) -> None:
    """Who is in a vault, and as what."""

    async def find(app: App) -> Sequence[tuple[str, str, str, str]]:
        vault = await app.vaults.named(OWNER, name)
        return [
            (one.member.user, one.name, one.member.role, iso(one.member.created))
            for one in await app.members.list(OWNER, vault.id)
        ]

    found = within(settings_of(data=data), find)
    if as_json:
        names = ("id", "name", "role", "since")
        click.echo(json.dumps([dict(zip(names, row, strict=True)) for row in found], ensure_ascii=False))
        return
    rows = [
        [called or ("(you)" if user == LOCAL_OWNER else user), role, since[:10]] for user, called, role, since in found
    ]
    print_table(["NAME", "ROLE", "SINCE"], rows)


@vaults_command.command("invite")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What they will be in it.")
@json_option
@data_option
def invite(name: str, role: Role, as_json: bool, data: Path | None) -> None:
    """Make a link by which one person joins a vault. It is printed alone on stdout."""
    settings = settings_of(data=data)

    async def make(app: App) -> str:
        vault = await app.vaults.named(OWNER, name)
        return await app.members.invite(OWNER, vault.id, role)

    print_link(settings, "invitation", within(settings, make), f"For one {role} of {name}", as_json=as_json)


@vaults_command.command("approval")
@click.argument("name")
@click.argument("wanted", type=click.Choice(WANTED))
@data_option
def approval(name: str, wanted: Wanted, data: Path | None) -> None:
    """Have an owner asked before a program empties a vault (forget_all_memories).

    off: nobody is asked; so it is at first. on: the tool answers with a link to a page, where an owner or admin who
    signs in approves it; a client that can ask its person asks them itself, and is trusted to tell the truth. page:
    only what is approved on the page counts. An approval works once, within ten minutes.
    """

    async def change(app: App) -> Vault:
        vault = await app.vaults.named(OWNER, name)
        await app.approvals.choose(OWNER, vault.id, wanted)
        return vault

    vault = within(settings_of(data=data), change)
    click.echo(f"{vault.name!r}: {_ASKED[wanted]}.")


_ASKED: Mapping[Wanted, str] = {
    "off": "nobody is asked before it is emptied",
    "on": "an owner is asked before a program empties it, on a page or in the client",
    "page": "an owner is asked before a program empties it, on a page only",
}


def _view(vault: Vault) -> dict[str, str]:
    return {
        "id": vault.id,
        "name": vault.name,
        "kind": vault.kind,
        "created": iso(vault.created),
        "approval": vault.approval,
    }
