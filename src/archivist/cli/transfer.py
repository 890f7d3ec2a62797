"""`archivist export`, `archivist import` and `archivist backup`."""

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from archivist.app import OWNER, App
from archivist.cli.options import Folder, Progress, bar, data_option, json_option, opened, settings_of, vault_option
from archivist.domain.access import Principal
from archivist.domain.errors import InvalidArgument, Refused
from archivist.services.transfer import Imported
from archivist.transfer.jsonl import LINE_BYTES


@click.command("export")
@vault_option
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="A new file; default stdout.")
@data_option
def export_command(vault: str | None, output: Path | None, data: Path | None) -> None:
    """Write a vault as JSON lines, one for each memory. `archivist import` reads them."""

    async def write(out: BinaryIO) -> int:
        count = 0
        async with opened(settings_of(data=data), reading=True) as app:
            async for line in app.transfer.export(await app.local(vault)):
                out.write(line)
                count += 1
        return count

    if output is None:
        asyncio.run(write(sys.stdout.buffer))
        sys.stdout.buffer.flush()
        return
    with _new_file(output) as out:
        count = asyncio.run(write(out))
    click.echo(f"{count} memories written to {output}.", err=True)


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.File("rb"))
@vault_option
@json_option
@data_option
def import_command(files: tuple[BinaryIO, ...], vault: str | None, as_json: bool, data: Path | None) -> None:
    """Put exported JSON lines (`-` is stdin) into a vault. Run it again after an interruption: nothing doubles."""

    sized = [(file, _size(file)) for file in files]

    async def read() -> Imported:
        async with opened(settings_of(data=data)) as app:
            who, total = await app.local(vault), Imported()
            for file, size in sized:
                with bar("Memories", size) as progress:
                    total += await app.transfer.load(who, _lines(file, progress))
            await _give_vectors(app, who)
        return total

    done = asyncio.run(read())
    if as_json:
        click.echo(json.dumps({"stored": done.stored, "already": done.already, "deleted_before": done.deleted}))
        return
    click.echo(f"{done.stored} stored, {done.already} were here already, {done.deleted} were deleted here before.")


@click.command("backup")
@click.argument("folder", type=Folder())
@json_option
@data_option
def backup_command(folder: Path, as_json: bool, data: Path | None) -> None:
    """Copy everything, consistently, into a new folder. The server can go on meanwhile."""

    target = folder.absolute()

    async def copy() -> int:
        async with opened(settings_of(data=data), reading=True) as app:
            files = await app.stores.backup(target)
            await app.trail.note(OWNER, "backup")
            return files

    files = asyncio.run(copy())
    click.echo(json.dumps({"files": files}) if as_json else f"{files} files copied to {folder}.")


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """A private file for the time of a command; a command that fails leaves none behind."""
    try:
        out = path.open("xb")
        path.chmod(0o600)
    except FileExistsError:
        raise click.UsageError(f"{path} is there already; name a new file") from None
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}; name another file") from None
    try:
        with out:
            yield out
    except BaseException:
        path.unlink(missing_ok=True)
        raise


async def _give_vectors(app: App, who: Principal) -> None:
    """Embed what was imported, so that it is found by meaning too; without a model, the server does it later."""
    await app.embedder.start()
    await app.embedder.settle()
    if app.embedder.state != "ready":
        click.echo(f"Found by words for now: {app.embedder.reason}", err=True)
        return
    with bar("Vectors", await app.embedding.waiting(who.vault)) as progress:
        await app.embedding.catch_up(who.vault, progress.update)


def _lines(file: BinaryIO, progress: Progress) -> Iterator[bytes]:
    """Lines of bounded length, split at line feeds alone."""
    number = 0
    while line := file.readline(LINE_BYTES + 1):
        number += 1
        if len(line) > LINE_BYTES:
            raise InvalidArgument(f"line {number}", f"must be at most {LINE_BYTES} bytes")
        progress.update(len(line))
        yield line


def _size(file: BinaryIO) -> int:
    """The bytes of a regular file; 0 for a pipe."""
    try:
        return Path(file.name).stat().st_size
    except OSError:
        return 0
