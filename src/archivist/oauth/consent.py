"""What the consent page shows of an authorization request: who asks, where the answer goes, which vaults there are."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, time
from typing import Any

from archivist.app import App
from archivist.domain.access import Principal, Scope
from archivist.domain.authorizations import Request
from archivist.domain.client_names import resembles
from archivist.domain.clients import Client
from archivist.domain.documents import host_of
from archivist.domain.errors import ArchivistError, InvalidArgument
from archivist.domain.grants import REFRESH_IDLE, REFRESH_TOTAL
from archivist.domain.redirects import target
from archivist.domain.roles import CAPS
from archivist.domain.toolsets import PATHS
from archivist.http.forms import Form
from archivist.services.authorizations import Choice, Pending
from archivist.web import words

_WHERE = {"web": "host", "loopback": "computer", "app": "scheme"}


async def context(app: App, who: Principal, pending: Pending, form: Form | None) -> Mapping[str, Any]:
    """The values of the page. `form`: what was chosen before, if it is shown again."""
    request = pending.request
    chosen = form.one("vault") if form else None
    vaults = [await _vault(app, who, choice) for choice in pending.choices]
    first = chosen or (vaults[0]["id"] if vaults else "new")
    shown = next((choice for choice in pending.choices if choice.vault.id == first), None)
    client = client_of(pending.client, request)
    copy = datetime.combine(pending.dated, time(), UTC) if pending.dated else None
    values = {"vault": chosen, "new_vault": form.one("new_vault"), "scope": list(form.all("scope"))} if form else {}
    return {
        "now": app.connections.now(),
        "transaction": pending.secret,
        "tools": PATHS[request.toolset],
        "lasts": {"idle_days": REFRESH_IDLE.days, "total_days": REFRESH_TOTAL.days},
        "client": {**client, "copy_of": copy, "changed": list(pending.changed)},
        "vaults": [{**vault, "chosen": vault["id"] == first} for vault in vaults],
        "new_vault": True,
        "scopes": [_scope(scope, pending, shown, form) for scope in Scope],
        "locked": pending.connected is not None,
        "values": values,
    }


def client_of(client: Client, request: Request) -> dict[str, Any]:
    """The app as a page shows it: by what it calls itself, never alone, and by where its answer goes."""
    to = target(request.redirect_uri)
    document_host = host_of(client.client_id) if client.kind == "document" else None
    where = _WHERE[to.kind]
    host = to.host or to.scheme
    if to.kind == "loopback":
        host = request.redirect_uri.partition("://")[2].partition("/")[0]
    proven = document_host or (to.host if to.kind == "web" else "")
    looks_like = None if client.kind == "confidential" else resembles(client.name, proven)
    return {
        "name": client.name or words.NAMELESS_APP,
        "kind": client.kind,
        "document_host": document_host,
        "where": where,
        "host": host,
        "resembles": looks_like,
        "other_site": document_host is not None and to.kind == "web" and not _same_site(to.host, document_host),
        "copy_of": None,
        "changed": [],
    }


def mistake(error: InvalidArgument, form: Form | None) -> str:
    """What was wrong with what was chosen, as the page says it."""
    if error.field == "form":
        return words.MISTAKES["early"]
    if error.field == "scope":
        return words.MISTAKES["scope" if form and form.all("scope") else "nothing_ticked"]
    text = error.detail.removeprefix(f"{error.field}: ")
    return f"{text[:1].upper()}{text[1:]}."


async def _vault(app: App, who: Principal, choice: Choice) -> dict[str, Any]:
    looking = replace(who, vault=choice.vault.id, scopes=frozenset({Scope.READ}))
    try:
        memories = (await app.status.of(looking)).memories
    except ArchivistError:  # a damaged vault must not keep anybody from the others
        memories = 0
    return {
        "id": choice.vault.id,
        "name": choice.vault.name,
        "kind": choice.vault.kind,
        "role": choice.role,
        "memories": memories,
        "last_used": choice.last_used,
    }


def _scope(scope: Scope, pending: Pending, shown: Choice | None, form: Form | None) -> dict[str, Any]:
    held = shown is not None and scope in shown.held
    asked = scope in pending.request.asked
    ticked = scope in shown.ticked if shown else scope == Scope.READ
    if form is not None:
        ticked = scope.value in form.all("scope")
    possible = shown is None or scope in CAPS[shown.role]
    return {
        "scope": scope.value,
        "ticked": ticked and possible,
        "asked": asked,
        "held": held,
        "new": pending.connected is not None and asked and not held,
    }


def _same_site(host: str, other: str) -> bool:
    """Whether the two are the same host, or one lies below the other."""
    return host == other or host.endswith(f".{other}") or other.endswith(f".{host}")
