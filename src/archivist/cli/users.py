"""`archivist users`: who may sign in. Nobody sets a password for somebody else: people get links that work once."""

import json
from pathlib import Path

import click

from archivist.app import OWNER, App
from archivist.cli.end import print_ended
from archivist.cli.links import print_link
from archivist.cli.options import data_option, json_option, settings_of, within
from archivist.cli.tables import day, minute, print_table
from archivist.domain.times import iso, iso_or_none
from archivist.domain.users import User
from archivist.services.connections import Ended, Which
from archivist.services.people import Person


@click.group("users")
def users_command() -> None:
    """People who may sign in: make accounts, let people back in, shut them out."""


@users_command.command("create")
@click.argument("name")
@click.option("--administrator", is_flag=True, help="May also manage people, apps and settings.")
@json_option
@data_option
def create(name: str, administrator: bool, as_json: bool, data: Path | None) -> None:
    """Make an account. Its link is printed alone on stdout; there its person sets a password.

    The first account administers the server, and owns what is here already.
    """
    settings = settings_of(data=data)
    user, secret = within(
        settings, lambda app: app.accounts.create(OWNER, name, administrator=administrator), reading=False
    )
    whom = f"For {user.name}, an administrator" if user.administrator else f"For {user.name}"
    print_link(settings, "invitation", secret, whom, as_json=as_json)


@users_command.command("list")
@json_option
@data_option
def list_(as_json: bool, data: Path | None) -> None:
    """Everybody who has an account, oldest first."""
    found = within(settings_of(data=data), lambda app: app.people.list(OWNER))
    if as_json:
        click.echo(json.dumps([_view(person) for person in found], ensure_ascii=False))
        return
    if not found:
        click.echo("No accounts yet. The link that the server prints makes one, and so does `archivist users create`.")
        return
    print_table(
        ["NAME", "SINCE", "LAST HERE (UTC)", "IS", "SECOND FACTOR", "CONNECTIONS", "KEYS"],
        [
            [
                one.user.name,
                day(one.user.created),
                minute(one.last_here),
                _state(one),
                "yes" if one.user.factor else "no",
                str(one.connections),
                str(one.keys),
            ]
            for one in found
        ],
    )


@users_command.command("link")
@click.argument("name")
@json_option
@data_option
def link(name: str, as_json: bool, data: Path | None) -> None:
    """Make a link by which somebody sets a new password. Their sessions end when it is used."""
    settings = settings_of(data=data)
    secret = within(settings, lambda app: app.accounts.recovery_link(OWNER, name))
    print_link(settings, "recovery", secret, f"For {name}", as_json=as_json)


@users_command.command("disable")
@click.argument("name")
@data_option
def disable(name: str, data: Path | None) -> None:
    """Shut somebody out: neither they nor their connections and keys get in, until `users enable`."""

    async def shut_out(app: App) -> tuple[User, bool]:
        user = await app.accounts.set_disabled(OWNER, name, disabled=True)
        people = await app.accounts.list(OWNER)
        return user, any(one.administrator and one.disabled is None for one in people)

    user, administered = within(settings_of(data=data), shut_out)
    click.echo(f"{user.name} is shut out, and their sessions are over.")
    if not administered:
        click.echo("Nobody administers the pages now; `archivist users enable` lets them in again.", err=True)


@users_command.command("enable")
@click.argument("name")
@data_option
def enable(name: str, data: Path | None) -> None:
    """Let somebody in again."""
    user = within(settings_of(data=data), lambda app: app.accounts.set_disabled(OWNER, name, disabled=False))
    click.echo(f"{user.name} may sign in.")


@users_command.command("end")
@click.argument("name")
@json_option
@data_option
def end(name: str, as_json: bool, data: Path | None) -> None:
    """End all sessions, connections and keys of somebody. They may sign in anew."""

    async def cut(app: App) -> Ended:
        user = await app.accounts.named(OWNER, name)
        return await app.connections.end_all(OWNER, Which(user=user.id))

    print_ended(within(settings_of(data=data), cut), as_json=as_json)


@users_command.command("drop-factor")
@click.argument("name")
@data_option
def drop_factor(name: str, data: Path | None) -> None:
    """Take away the second factor of somebody who lost it. Their password alone then opens everything."""
    within(settings_of(data=data), lambda app: app.accounts.drop_factor(OWNER, name))
    click.echo(f"{name} has no second factor any more, and their sessions are over.")


@users_command.command("zone")
@click.argument("name")
@click.argument("zone")
@data_option
def zone_(name: str, zone: str, data: Path | None) -> None:
    """Set the time zone in which somebody's days begin, such as Europe/Lisbon; UTC until then.

    It counts where a date is searched that says neither time nor offset.
    """
    user = within(settings_of(data=data), lambda app: app.accounts.set_zone(OWNER, name, zone))
    click.echo(f"The days of {user.name} begin at midnight in {user.zone or 'UTC'}.")


def _state(person: Person) -> str:
    if person.user.disabled is not None:
        return "shut out"
    if not person.user.password:
        return "invited"
    return "administrator" if person.user.administrator else "user"


def _view(person: Person) -> dict[str, object]:
    user = person.user
    return {
        "id": user.id,
        "name": user.name,
        "administrator": user.administrator,
        "created": iso(user.created),
        "last_here": iso_or_none(person.last_here),
        "disabled": iso_or_none(user.disabled),
        "has_password": bool(user.password),
        "second_factor": bool(user.factor),
        "zone": user.zone or "UTC",
        "connections": person.connections,
        "keys": person.keys,
    }
