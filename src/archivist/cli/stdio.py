"""`archivist stdio`: the tools for one local client, over stdin and stdout."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from archivist.cli.options import Scopes, data_option, settings_of, vault_option
from archivist.domain.access import Scope
from archivist.mcp.stdio import protocol_streams, serve

if TYPE_CHECKING:
    from archivist.app import App

DEFAULT = frozenset({Scope.READ, Scope.WRITE, Scope.REFLECT})


@click.command("stdio")
@click.option("--tools", type=click.Choice(["vault"]), default="vault", expose_value=False, help="The tool set.")
@vault_option
@click.option("--scopes", type=Scopes(), default=DEFAULT, help="read,write,reflect,delete; default all but delete.")
@data_option
def stdio_command(vault: str | None, scopes: frozenset[Scope], data: Path | None) -> None:
    """Serve the tools over stdio. A local client starts this itself; stdout carries the protocol only."""
    with protocol_streams() as (source, sink):  # around all of it: closing may print too
        settings = settings_of(serving=True, data=data)

        def services() -> "App":
            from archivist.app import build  # half a second of imports, for which the catalogue does not wait

            return build(settings, progress=lambda line: click.echo(line, err=True), lazy=True)

        asyncio.run(serve(services, lambda app: app.local(vault, scopes, by="stdio"), source, sink))
