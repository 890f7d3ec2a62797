"""`archivist forget`: delete single memories, and with them what was built on them, after showing exactly what goes."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from archivist.app import App
from archivist.cli.options import data_option, json_option, settings_of, vault_option, within
from archivist.cli.tables import day, print_table
from archivist.domain.errors import NotFound
from archivist.domain.ids import is_uuid
from archivist.services.deletion import DELETE_SELECTED, Deletion
from archivist.services.derived import DerivedDeletion, Going, Preview


class Id(click.ParamType[str]):
    """The id of a memory, however its letters are written."""

    name = "id"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_uuid(value.lower()):
            self.fail("must be the id of a memory, as `archivist search` shows it", param, ctx)
        return value.lower()


@click.command("forget")
@click.argument("ids", nargs=-1, required=True, metavar="ID…", type=Id())
@click.option("--derived", is_flag=True, help="Delete every reflection that was built on them, too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@vault_option
@json_option
@data_option
def forget_command(  # noqa: PLR0917 — click gives them by name
    ids: tuple[str, ...], derived: bool, yes: bool, vault: str | None, as_json: bool, data: Path | None
) -> None:
    """Delete memories for good. `archivist search` shows their ids.

    What goes is shown first, and asked about. Without --derived the reflections that were built on it stay, and may
    still tell of it.
    """
    if not yes and (as_json or not sys.stdin.isatty()):
        raise click.UsageError("nobody can be asked here; give --yes if it shall be done unasked")

    async def act(app: App) -> Deletion | DerivedDeletion | None:
        who = await app.local(vault)
        found = await app.derived.preview(who, ids)
        if not as_json:
            _show(found, derived=derived)
        count = len(found.named) + (len(found.reflections) if derived else 0)
        if not count:
            raise NotFound("these are deleted already; --derived deletes what was built on them")
        if not (yes or click.confirm(f"Delete {_counted(count, 'memory', 'memories')} for good?", err=True)):
            return None
        if derived:
            return await app.derived.delete(who, found.handle, DELETE_SELECTED)
        return await app.deletion.delete(who, ids, DELETE_SELECTED)

    done = within(settings_of(data=data), act)
    if done is None:
        click.echo("Nothing was deleted.", err=True)
        sys.exit(1)
    _print(done, as_json=as_json)


def _show(found: Preview, *, derived: bool) -> None:
    going = [*found.reflections, *found.named] if derived else found.named
    if going:
        click.echo("These go:")
        _print_rows(going)
    if found.reflections and not derived:
        click.echo("These were built on them and stay; --derived takes them along:")
        _print_rows(found.reflections)
    for id in found.not_found:
        click.echo(f"Not here: {id}", err=True)


def _print_rows(memories: Sequence[Going]) -> None:
    rows = [[one.id, str(one.tier), day(one.date, "-"), one.excerpt or "-"] for one in memories]
    print_table(["ID", "TIER", "DATE", "TEXT"], rows)


def _print(done: Deletion | DerivedDeletion, *, as_json: bool) -> None:
    if as_json:
        told = {
            "deleted_ids": list(done.deleted),
            "reflections_kept": list(done.reflections_kept),
            "state": done.state,
            "primary_cleared": done.primary_cleared,
            "mirror_cleared": done.mirror_cleared,
            "mirror": "cleared" if done.mirror else "disabled",
        }
        click.echo(json.dumps(told))
        return
    rest = "" if done.state == "erased" else " Their bytes are erased when nobody reads the vault any more."
    click.echo(f"{_counted(len(done.deleted), 'memory is', 'memories are')} deleted.{rest}")
    if done.reflections_kept:
        kept = _counted(len(done.reflections_kept), "reflection that was", "reflections that were")
        click.echo(f"{kept} built on them may still tell of them: {', '.join(done.reflections_kept)}", err=True)


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"
