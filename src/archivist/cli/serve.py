"""`archivist serve`: the server, until it is told to stop."""

import asyncio
import errno
import gc
import os
import shlex
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import uvicorn
from uvicorn.server import HANDLED_SIGNALS

from archivist.app import OWNER, App, build
from archivist.cli.http import BoundedHeads
from archivist.cli.links import lasting
from archivist.cli.options import data_option, settings_of
from archivist.domain.errors import Refused
from archivist.domain.ids import CONTROL
from archivist.server import asgi
from archivist.settings import LOOPBACK, Settings, load
from archivist.web import links
from archivist.workers.rounds import attempted

DRAIN_SECONDS = 10


@click.command("serve")
@click.option("--host", help="The address to listen on; default 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port; default 8765, 0 takes a free one.")
@click.option("--public-url", help="The address that clients use, such as https://memory.example.org.")
@click.option("--allow-plain-http", is_flag=True, default=None, help="Listen beyond this computer without https.")
@click.option("--no-set-up-link", is_flag=True, hidden=True, help="Leave the link alone that another server printed.")
@data_option
def serve_command(*, no_set_up_link: bool, **given: object) -> None:
    """Run the server. It prints the address for clients, and stops cleanly on Ctrl-C or SIGTERM.

    Until there is an account it also prints a link that makes the first one; each start makes a new link, and only
    the newest works.
    """
    settings = settings_of(serving=True, **given)
    _require_private(settings)
    listening = _listen(settings)
    settings = settings.model_copy(update={"port": listening.getsockname()[1]})
    app = build(settings, progress=lambda line: click.echo(line, err=True))
    server = _Server(_config(app, settings))
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:  # uvloop where there is one
        runner.run(_serve(app, server, settings, listening, linking=not no_set_up_link))


class _Server(uvicorn.Server):
    """Leaves the signals to `_told_to_stop`: at its end uvicorn raises them again, before our files are closed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(app: App, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        asgi(app, settings),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        http=BoundedHeads,
    )


async def _serve(
    app: App, server: uvicorn.Server, settings: Settings, listening: socket.socket, *, linking: bool
) -> None:
    with _told_to_stop(server):
        try:
            await app.start()
            await app.trail.note(OWNER, "server start")
            link = await app.accounts.set_up_link(OWNER) if linking else None
            gc.freeze()  # what is loaded by now stays; collecting among it would cost a tenth of every request
            _greet(settings, link)
            await server.serve(sockets=[listening])
            await attempted("stop unnoted", CONTROL, app.trail.note(OWNER, "server stop"))
        finally:
            await app.close()


@contextmanager
def _told_to_stop(server: uvicorn.Server) -> Iterator[None]:
    """The first SIGINT or SIGTERM lets the requests under way finish; with another one they are not waited for."""

    def stop(_number: int, _frame: object) -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in HANDLED_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _greet(settings: Settings, link: str | None) -> None:
    """The address, two commands that work as they are printed, and the set-up link while nobody has an account."""
    own = os.environ.get("ARCHIVIST_DATA") is None and settings.data != Settings().data
    where = f" --data {shlex.quote(str(settings.data))}" if own else ""
    expected = address(load(os.environ, data=settings.data))
    there = "" if expected == address(settings) else f" --url {address(settings)}"
    click.echo(f"Archivist is ready.  MCP address: {address(settings)}/mcp", err=True)
    click.echo(f"  make a key:   {_program()} keys create{where}", err=True)
    click.echo(f"  see it work:  {_program()} prove{there}{where}", err=True)
    if there:
        click.echo(
            "  links:        other commands make them from archivist.toml; write the port or address there", err=True
        )
    if link is not None:
        click.echo(f"  sign up:      {links.address(settings, 'set-up', link)}", err=True)
        click.echo(f"                for the first account; it works once, for {lasting('set-up')}", err=True)


def _program() -> str:
    """How this command can be called from the same folder."""
    if shutil.which("archivist"):
        return "archivist"
    called = Path(sys.argv[0])
    return shlex.quote(str(called)) if called.name == "archivist" else f"{shlex.quote(sys.executable)} -m archivist"


def address(settings: Settings) -> str:
    """The origin that clients use."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return settings.public_url or f"http://{host}:{settings.port}"


def _require_private(settings: Settings) -> None:
    if settings.host in LOOPBACK or settings.public_url.startswith("https://"):
        return
    if not settings.allow_plain_http:
        raise Refused(
            f"listening on {settings.host} would send keys and memories readable over the network; "
            "give --public-url https://… of the proxy in front, or --allow-plain-http if you know what you do"
        )
    click.echo(f"WARNING: {settings.host} is served WITHOUT https: anybody on the way can read keys.", err=True)


def _listen(settings: Settings) -> socket.socket:
    """The socket, bound before anything else is done, so that a second start ends at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, else asyncio leaves Nagle on
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise Refused(
                f"port {settings.port} is in use; stop the program that has it, or choose another with --port"
            ) from None
        raise Refused(f"cannot listen on {settings.host} port {settings.port}: {error.strerror}") from None
    listening.listen(2048)
    return listening
