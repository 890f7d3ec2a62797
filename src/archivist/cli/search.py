"""`archivist search WORDS`."""

import asyncio
import json
from pathlib import Path

import click

from archivist.cli.options import data_option, json_option, opened, settings_of, vault_option
from archivist.domain.limits import SEARCH_DEFAULT, SEARCH_LIMIT
from archivist.domain.memories import in_one_line
from archivist.domain.queries import Ranked
from archivist.domain.times import iso
from archivist.services.search import Found


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, SEARCH_LIMIT), default=SEARCH_DEFAULT, show_default=True)
@vault_option
@json_option
@data_option
def search_command(words: tuple[str, ...], limit: int, vault: str | None, as_json: bool, data: Path | None) -> None:
    """Search a vault by meaning and by words, best first."""

    async def find() -> Found:
        async with opened(settings_of(data=data), reading=True) as app:
            who = await app.local(vault)
            await app.embedder.start()
            await app.embedder.settle()
            return await app.search.search(who, query=" ".join(words), limit=limit)

    found = asyncio.run(find())
    if as_json:
        rows = [_view(row) for row in found.rows]
        click.echo(json.dumps({"results": rows, "note": found.note}, ensure_ascii=False))
        return
    for row in found.rows:
        click.echo(f"{row.score:.2f}  {row.memory.event:%Y-%m-%d}  {row.memory.id}  {in_one_line(row.memory.title)}")
    if found.note:
        click.echo(found.note, err=True)


def _view(row: Ranked) -> dict[str, object]:
    memory = row.memory
    return {
        "id": memory.id,
        "score": row.score,
        "tier": memory.tier,
        "text": memory.text,
        "tags": list(memory.tags),
        "created_at": iso(memory.created),
    }
