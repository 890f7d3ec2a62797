"""The `archivist` command. Every subcommand is a file of its own and is imported when it is asked for."""

import importlib
import os
import sys

import click

from archivist import __version__
from archivist.domain.errors import ArchivistError

COMMANDS = {
    "audit": ("audit", "Who did what."),
    "backup": ("transfer", "A consistent copy of everything, while the server runs."),
    "clients": ("clients", "Make, list and block apps."),
    "connections": ("connections", "List and end what people allowed apps."),
    "doctor": ("doctor", "Look whether everything that is stored is whole."),
    "end": ("end", "End connections, keys and sessions, all at once."),
    "export": ("transfer", "A vault as JSON lines."),
    "forget": ("forget", "Delete single memories, and what was built on them."),
    "import": ("transfer", "Put exported JSON lines into a vault."),
    "keys": ("keys", "Make, list, rotate and revoke keys."),
    "prove": ("prove", "Store a phrase on one connection, find it on another."),
    "reflect": ("reflect", "Let a model of yours reflect on a vault."),
    "repair": ("repair", "Bring damaged data back from the mirror."),
    "search": ("search", "Search a vault."),
    "secrets": ("secrets", "Exchange the server's own secrets."),
    "serve": ("serve", "Run the server."),
    "stdio": ("stdio", "Serve the tools over stdio, for local clients."),
    "users": ("users", "Make accounts, let people back in, shut them out."),
    "vaults": ("vaults", "Make and list vaults, and invite people."),
}


class _Commands(click.Group):
    """Names without imports: `archivist stdio` must not pay for what `archivist serve` needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 — click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 — click's
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"archivist.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="archivist", message="%(prog)s %(version)s")
def root() -> None:
    """A self-hosted memory that every AI assistant you use can share."""


def main() -> None:
    """Run the command: exit code 0 done, 1 failed, 2 wrong use."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")  # memories are in any language, consoles may not be
    try:
        root.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except BrokenPipeError:
        _write_no_more()
        sys.exit(1)
    except ArchivistError as error:
        click.echo(f"archivist: {error.detail}", err=True)
        sys.exit(1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"archivist: {place}{error.strerror or type(error).__name__}", err=True)
        _write_no_more()
        sys.exit(1)


def _write_no_more() -> None:
    """What stdout still holds goes nowhere: flushing it at the interpreter's end would fail once more."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
