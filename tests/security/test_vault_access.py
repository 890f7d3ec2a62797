"""Access to a vault's data: read-only means that SQLite refuses, every statement names the vault, no name is a path."""

import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from archivist.app import OWNER, App
from archivist.domain.access import ALL_SCOPES, Scope
from archivist.domain.errors import InsufficientScope, InvalidArgument, NotFound, Unavailable
from archivist.domain.ids import VaultId
from archivist.server import asgi
from archivist.services.deletion import DELETE_ALL, DELETE_SELECTED
from archivist.settings import Settings
from archivist.storage.database import Write
from archivist.storage.schema import VAULT, memories
from archivist.storage.sqlite import connections
from tests.faces.mcp.conversations import Person
from tests.faces.mcp.talking import modern, post

pytestmark = pytest.mark.anyio

READING = "SELECT count(*) AS items FROM memories WHERE vault = :vault"
FORCED = [
    "DELETE FROM memories",
    "UPDATE memories SET text = 'forced'",
    "INSERT INTO pending SELECT vault, id FROM memories",
    "INSERT INTO fts(fts) VALUES ('delete-all')",
    "DROP TABLE memories",
    "PRAGMA user_version = 9",
]


def databases(folder: Path) -> set[Path]:
    return set(folder.rglob("*.db"))


def contents(data: Path) -> dict[str, str]:
    """Every vault file and its log, by content."""
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in sorted(data.glob("vaults/*.db*"))}


@pytest.mark.parametrize("statement", FORCED)
async def test_sec_169_a_write_forced_through_a_reader_fails_in_sqlite_itself(app: App, me: Person, statement: str):
    await me.store("stays as it is")
    who = (await app.local()).narrowed({Scope.READ})
    db = await app.stores.vault(who.vault, writable=who.may_change)
    with pytest.raises(Unavailable, match="cannot be written") as refused:
        await db.read(sa.text(statement))
    assert "readonly" in str(refused.value.__cause__) or "read-only" in str(refused.value.__cause__)
    [row] = await db.read(sa.text(READING), {"vault": who.vault})
    assert row["items"] == 1


async def test_sec_169_the_door_of_a_reader_takes_no_batch_and_no_erasure(app: App):
    who = (await app.local()).narrowed({Scope.READ})
    db = await app.stores.vault(who.vault, writable=who.may_change)
    with pytest.raises(InsufficientScope):
        await db.apply([Write(sa.delete(memories).where(memories.c.vault == who.vault))])
    with pytest.raises(InsufficientScope):
        await db.scrub()


async def test_sec_169_what_a_reader_does_leaves_the_files_byte_equal(app: App, me: Person, tmp_path: Path):
    await me.store("stays as it is")
    [id] = await me.ids("stays")
    async with Person.connected(app, asgi(app, Settings(data=tmp_path / "data")), Scope.READ) as reader:
        before = contents(tmp_path / "data")
        await reader.structured("search_memories", query="stays")
        await reader.structured("memory_status")
        for tool, arguments in (
            ("store_memory", {"content": "no"}),
            ("delete_memories", {"memory_ids": [id], "confirmation": DELETE_SELECTED}),
            ("forget_all_memories", {"confirmation": DELETE_ALL}),
        ):
            with pytest.raises(AssertionError, match="403"):
                await reader.structured(tool, **arguments)
        assert contents(tmp_path / "data") == before


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, str]]:
    """Every statement that any connection carries out, with the file."""
    heard: list[tuple[Path, str]] = []
    for name in ("reader", "writer"):
        monkeypatch.setattr(connections, name, _listened_to(getattr(connections, name), heard))
    return heard


def _listened_to(opens: Any, heard: list[tuple[Path, str]]) -> Any:
    def opened(path: Path, *args: Any, **options: Any) -> Any:
        connection = opens(path, *args, **options)
        connection.set_trace_callback(lambda sql: heard.append((path, sql)))
        return connection

    return opened


TABLES = re.compile(rf"\b({'|'.join(table.name for table in VAULT)})\b")
OURS = re.compile(r"\bvault = |^INSERT INTO \w+ \(vault,")


async def test_sec_169_nothing_that_is_carried_out_on_vault_data_lacks_the_vault(recorded, app: App, tmp_path: Path):
    who = await app.local()
    await app.memories.recent(who, 1)
    recorded.clear()  # what laid out and migrated the file speaks of the whole file
    for number in range(12):
        await app.memories.store(who, text=f"fact {number}", tags=["a"])
    assert (await app.search.search(who, query="fact 1")).rows
    assert (await app.search.by_date(who, start="2026-01-01")).rows
    assert (await app.search.by_date(who, start="2026-01-01", query="fact")).rows
    lines = [line async for line in app.transfer.export(who)]
    await app.transfer.load(who, lines)
    await app.embedding.catch_up(who.vault)
    taken = await app.reflections.checkout(who)
    assert taken.batch is not None
    await app.reflections.commit(who, taken.batch.id, [{"text": f"Entry {n}.", "importance": 1} for n in range(5)])
    await app.reflections.due(who)
    ids = [memory.id for memory in await app.memories.recent(who, 3)]
    await app.deletion.delete(who, ids, DELETE_SELECTED)
    await app.status.of(who)
    await app.deletion.forget_all(who, DELETE_ALL)
    on_vaults = [sql for path, sql in recorded if path.parent.name == "vaults" and _is_of_rows(sql)]
    assert len(on_vaults) > 50
    assert [sql for sql in on_vaults if not OURS.search(sql)] == []


def _is_of_rows(sql: str) -> bool:
    """Whether it speaks of our rows: not what lays out the file, and not what full-text search does inside itself."""
    laid_out = sql.startswith(("CREATE", "PRAGMA", "--", "BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK"))
    return not laid_out and TABLES.search(sql) is not None and "fts_idx" not in sql


TRAVERSALS = ["../control", "..", "control", "/etc/passwd", "..%2fcontrol", "a/b", "", "\x00", "x" * 300, "CON", "."]


@pytest.mark.parametrize("name", TRAVERSALS)
async def test_sec_164_no_vault_name_or_id_becomes_a_path(app: App, tmp_path: Path, name: str):
    with pytest.raises(NotFound):
        await app.stores.vault(VaultId(name))
    with pytest.raises(NotFound):
        await app.stores.create(VaultId(name))
    await app.local()
    before = databases(tmp_path)
    made = []
    with suppress(InvalidArgument):
        made = [await app.vaults.create(OWNER, name, "project")]
    assert databases(tmp_path) - before == {tmp_path / "data" / "vaults" / f"{one.id}.db" for one in made}


@pytest.mark.parametrize(
    "uri",
    [
        "memory://vault/../stats",
        "memory://vault/stats/../../control.db",
        "memory://vault/%2e%2e/stats",
        "file:///etc/passwd",
        "memory://other/stats",
    ],
)
async def test_sec_164_no_resource_address_leads_anywhere_else(me: Person, uri: str):
    answer = await resource(me.http, uri)
    assert "error" in answer
    assert "passwd" not in answer["error"]["message"]


async def resource(http: httpx2.AsyncClient, uri: str) -> Any:
    return (await post(http, modern("resources/read", uri=uri))).json()


async def test_sec_186_without_the_right_to_delete_nothing_is_removed_or_written_over(app: App, me: Person):
    await me.store("the first text")
    who = await app.local()
    [line] = [line async for line in app.transfer.export(who)]
    without = who.narrowed(ALL_SCOPES - {Scope.DELETE})
    [memory] = await app.memories.recent(without, 9)
    with pytest.raises(InsufficientScope):
        await app.deletion.delete(without, [memory.id], DELETE_SELECTED)
    with pytest.raises(InsufficientScope):
        await app.deletion.forget_all(without, DELETE_ALL)
    await app.transfer.load(without, [line.replace(b"the first text", b"junk written over")])
    assert [kept.text for kept in await app.memories.recent(without, 9)] == ["the first text"]
