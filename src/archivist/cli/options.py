"""What subcommands share: their options, and an open App for the time of a command."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from archivist.domain.access import Scope, parse_scopes
from archivist.domain.errors import InvalidArgument, Refused
from archivist.settings import Settings, load
from archivist.telemetry.logging import configure

if TYPE_CHECKING:
    from archivist.app import App

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class Progress(Protocol):
    """What a bar can be told: so much more is done."""

    def update(self, steps: int) -> None: ...


def data_option(command: F) -> F:
    """`--data DIR`, on every command."""
    return click.option("--data", type=Folder(), help="The data folder; default ARCHIVIST_DATA, else the platform's.")(
        command
    )


def json_option(command: F) -> F:
    """`--json`, on every command whose output a machine may want."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(command)


def vault_option(command: F) -> F:
    """`--vault NAME`; the personal vault without it."""
    return click.option("--vault", metavar="NAME", help="The vault; default your personal one.")(command)


class Folder(click.Path):
    """The path of a folder. An empty word, which a shell makes of an unset variable, is not taken for this folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        if not os.fspath(value):
            self.fail("must not be empty", param, ctx)
        return super().convert(value, param, ctx)


class Scopes(click.ParamType[frozenset[Scope]]):
    """`read,write,reflect,delete`, short or full names."""

    name = "scopes"

    def convert(
        self, value: str | frozenset[Scope], param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[Scope]:
        try:
            return parse_scopes(value) if isinstance(value, str) else value
        except InvalidArgument as error:
            self.fail(error.detail, param, ctx)


def settings_of(*, serving: bool = False, **given: object) -> Settings:
    """The settings of this command, with its log set up: a command that only does one thing tells warnings alone."""
    settings = load(os.environ, **given)
    configure(settings.log_level if serving or settings.log_level == "error" else "warning")
    return settings


@asynccontextmanager
async def opened(settings: Settings, *, reading: bool = False) -> AsyncIterator["App"]:
    """The services without workers, for a command that does one thing and ends.

    reading: the command only looks, so a folder that holds nothing is a slip of typing.

    Raises:
        Refused: there is nothing to look at.
    """
    lost = any((settings.data / "vaults").glob("*.db"))  # opening it says how to mend that
    if reading and not lost and not (settings.data / "control.db").exists():
        raise Refused(f"{settings.data} holds no memories; check --data, or begin with `archivist keys create`")
    from archivist.app import build  # half a second of imports, for which `archivist stdio` does not wait

    app = build(settings, progress=lambda line: click.echo(line, err=True))
    try:
        yield app
    finally:
        await app.close()


def within(settings: Settings, act: Callable[["App"], Awaitable[T]], *, reading: bool = True) -> T:
    """What `act` gives, done within the services while they are open; `reading` as for `opened`."""

    async def run() -> T:
        async with opened(settings, reading=reading) as app:
            return await act(app)

    return asyncio.run(run())


def bar(label: str, length: int) -> AbstractContextManager[Progress]:
    """A progress bar on stderr; silent unless that is a terminal."""
    quiet = not sys.stderr.isatty() or length == 0
    return click.progressbar(length=max(length, 1), label=label, file=sys.stderr, hidden=quiet)
