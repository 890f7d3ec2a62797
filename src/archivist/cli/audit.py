"""`archivist audit`: who did what, newest first. Ids and counts, never what was stored or asked."""

import json
from collections.abc import Mapping
from pathlib import Path

import click

from archivist.app import OWNER, App
from archivist.cli.options import data_option, json_option, settings_of, within
from archivist.cli.tables import minute, print_table
from archivist.domain.access import LOCAL_OWNER
from archivist.domain.audit import Entry
from archivist.domain.times import iso
from archivist.services.trail import PAGE, Page

MOST = 1000


@click.command("audit")
@click.option("--vault", metavar="NAME", help="The trail of a vault of yours; default that of the server.")
@click.option("--limit", type=click.IntRange(1, MOST), default=PAGE, show_default=True)
@click.option("--before", metavar="ID", help="Go on behind the entry with this id, where the last page ended.")
@json_option
@data_option
def audit_command(vault: str | None, limit: int, before: str | None, as_json: bool, data: Path | None) -> None:
    """Who did what: sign-ins, accounts, apps and keys; with --vault also what was changed there."""

    async def read(app: App) -> tuple[Page, Mapping[str, str]]:
        names = {str(one.id): one.name for one in await app.accounts.list(OWNER)}
        if vault is None:
            return await app.trail.of_server(OWNER, before=before, limit=limit), names
        room = await app.vaults.named(OWNER, vault)
        return await app.trail.of_vault(OWNER, room.id, before=before, limit=limit), names

    page, names = within(settings_of(data=data), read)
    if as_json:
        entries = [_view(act, names) for act in page.entries]
        click.echo(json.dumps({"entries": entries, "older": page.older}, ensure_ascii=False))
        return
    print_table(
        ["WHEN (UTC)", "WHO", "BY", "DID", "TO", "TIMES", "OUTCOME"],
        [
            [minute(act.at), _who(act, names), act.credential, act.action, act.target, str(act.count), act.outcome]
            for act in page.entries
        ],
    )
    if page.older:
        click.echo(f"There are older ones: --before {page.older}", err=True)


def _who(act: Entry, names: Mapping[str, str]) -> str:
    return names.get(act.user) or ("owner" if act.user == LOCAL_OWNER else act.user)


def _view(act: Entry, names: Mapping[str, str]) -> dict[str, object]:
    return {
        "id": act.id,
        "at": iso(act.at),
        "user": act.user,
        "name": names.get(act.user, ""),
        "credential": act.credential,
        "credential_id": act.credential_id,
        "action": act.action,
        "target": act.target,
        "count": act.count,
        "outcome": act.outcome,
    }
