"""How commands print one-time links."""

import json

import click

from archivist.domain.links import LIFE, Kind
from archivist.settings import Settings
from archivist.web.links import address


def print_link(settings: Settings, kind: Kind, secret: str, whom: str, *, as_json: bool) -> None:
    """A link alone on stdout; beside it for whom it is, how long it works, and what decides where it leads."""
    url = address(settings, kind, secret)
    if as_json:
        click.echo(json.dumps({"link": url, "kind": kind, "seconds": int(LIFE[kind].total_seconds())}))
        return
    click.echo(url)
    click.echo(f"{whom}. It works once, for {lasting(kind)}.", err=True)
    if not settings.public_url:
        click.echo("It leads to this computer; others need the setting public_url.", err=True)


def lasting(kind: Kind) -> str:
    """How long such a link works: `60 minutes`, `72 hours`."""
    minutes = int(LIFE[kind].total_seconds()) // 60
    return f"{minutes // 60} hours" if minutes > 60 else f"{minutes} minutes"
