"""`archivist keys`: make, list, rotate and revoke them."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from archivist.app import OWNER, App
from archivist.cli.moments import Moment, Span
from archivist.cli.options import Scopes, data_option, json_option, settings_of, vault_option, within
from archivist.cli.tables import day, minute, print_table, rights
from archivist.domain.access import Scope
from archivist.domain.ids import VaultId
from archivist.domain.keys import Key, Kind
from archivist.domain.times import iso, iso_or_none, utc_now
from archivist.services.keys import OVERLAP, Listed

READ_WRITE = frozenset({Scope.READ, Scope.WRITE})
KINDS: Sequence[Kind] = ("memory", "account")
"""Those that people make."""


@click.group("keys")
def keys_command() -> None:
    """Keys let a client into one vault, with the rights they were made with."""


@keys_command.command("create")
@vault_option
@click.option("--name", default="", help="What to call it in the list.")
@click.option("--scopes", type=Scopes(), help="read,write,reflect,delete; default read,write.")
@click.option("--read-only", is_flag=True, help="The same as --scopes read.")
@click.option("--expires", type=Moment(ends=True, ahead=True), metavar="90d|ISO", help="When it ends; default never.")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="memory",
    show_default=True,
    help="memory opens its vault; account only makes keys for the users of a product.",
)
@json_option
@data_option
def create(  # noqa: PLR0917 — click gives them by name
    vault: str | None,
    name: str,
    scopes: frozenset[Scope] | None,
    read_only: bool,
    expires: datetime | None,
    kind: Kind,
    as_json: bool,
    data: Path | None,
) -> None:
    """Make a key. It is printed once, alone on stdout, and kept nowhere: store it where the client reads it."""
    if read_only and scopes is not None:
        raise click.UsageError("--read-only and --scopes say two things; give one")
    wanted = frozenset({Scope.READ}) if read_only else scopes or READ_WRITE

    async def make(app: App) -> tuple[Key, str]:
        who = await app.local(vault)
        return await app.keys.create(who, name=name, scopes=wanted, expires=expires, kind=kind)

    key, secret = within(settings_of(data=data), make, reading=False)
    what = (
        f"may {rights(key.scopes)}"
        if kind == "memory"
        else f"makes keys that may {rights(key.scopes)}, and opens no vault"
    )
    _print_secret(key, secret, f"Key {key.id} {what}, until {day(key.expires, 'it is revoked')}.", as_json=as_json)


@keys_command.command("list")
@json_option
@data_option
def list_(as_json: bool, data: Path | None) -> None:
    """The keys that there are; never the keys themselves."""

    async def find(app: App) -> tuple[Sequence[Listed], Mapping[VaultId, str]]:
        names = {vault.id: vault.name for vault in await app.vaults.list(OWNER)}
        return await app.keys.list(OWNER), names

    found, names = within(settings_of(data=data), find)
    if as_json:
        rows = [{**_view(one.key), "vault": names.get(one.key.vault, ""), "last_used": _last(one)} for one in found]
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    if not found:
        click.echo("No keys yet. `archivist keys create` makes one.")
        return
    print_table(
        ["ID", "BEGINS", "VAULT", "KIND", "MAY", "MADE", "EXPIRES", "LAST USE (UTC)", "NAME"],
        [_row(one, names) for one in found],
    )


@keys_command.command("rotate")
@click.argument("id")
@click.option(
    "--overlap", type=Span(), default=OVERLAP, metavar="24h", help="How long the old key goes on working; default 24h."
)
@json_option
@data_option
def rotate(id: str, overlap: timedelta, as_json: bool, data: Path | None) -> None:
    """Make a key in place of an old one, with its rights. The new one is printed once, alone on stdout."""
    key, secret = within(settings_of(data=data), lambda app: app.keys.rotate(OWNER, id, overlap))
    until = f"{(utc_now() + overlap).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    said = f"Key {key.id} takes the place of {id}, which works until {until} at the latest."
    _print_secret(key, secret, said, as_json=as_json)


@keys_command.command("revoke")
@click.argument("id")
@data_option
def revoke(id: str, data: Path | None) -> None:
    """End a key. It holds from the next request on."""
    within(settings_of(data=data), lambda app: app.keys.revoke(OWNER, id))
    click.echo(f"Key {id} is revoked.")


def _print_secret(key: Key, secret: str, said: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({**_view(key), "key": secret}, ensure_ascii=False))
        return
    click.echo(secret)
    click.echo(f"{said} This is the only time it is shown.", err=True)


def _row(one: Listed, names: Mapping[VaultId, str]) -> Sequence[str]:
    key = one.key
    return [
        key.id,
        f"{key.start}…",
        names.get(key.vault, key.vault) if key.kind != "account" else "-",
        key.kind,
        _state(key),
        day(key.created),
        day(key.expires),
        minute(one.seen.last if one.seen else None),
        key.name,
    ]


def _state(key: Key) -> str:
    if key.revoked is not None:
        return "revoked"
    return "expired" if key.expires is not None and key.expires <= utc_now() else rights(key.scopes)


def _last(one: Listed) -> str | None:
    return iso(one.seen.last) if one.seen else None


def _view(key: Key) -> dict[str, object]:
    return {
        "id": key.id,
        "start": key.start,
        "name": key.name,
        "kind": key.kind,
        "scopes": sorted(key.scopes),
        "created": iso(key.created),
        "expires": iso_or_none(key.expires),
        "revoked": iso_or_none(key.revoked),
    }
