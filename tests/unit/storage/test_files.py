"""SQLite files: recognised, migrated whole or not at all, never overwritten."""

import re

import pytest
import sqlalchemy as sa

from archivist.domain.errors import Refused
from archivist.storage.migrations.runner import MIGRATIONS, Migration
from archivist.storage.schema import VAULT
from archivist.storage.schema_people import CONTROL
from archivist.storage.sqlite import connections, files
from archivist.storage.sqlite.driver import driver, is_safe

DDL = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'fts%' ORDER BY name"

NEWEST = MIGRATIONS["control"][-1].number


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "x.db"
    connections.make_private(path)
    return path


def rows(path, statement):
    connection = connections.reader(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def change(path, *statements):
    connection = connections.writer(path)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


def spaced_alike(made):
    """The same statements with single blanks, and none before brackets and commas."""
    return [tuple(re.sub(r"\s+(?=[,)])|(?<=\()\s+", "", " ".join(str(part).split())) for part in row) for row in made]


@pytest.mark.parametrize(("kind", "tables"), [("control", CONTROL), ("vault", VAULT)])
def test_all_migrations_together_make_the_schema(path, tmp_path, kind, tables):
    files.prepare(path, kind)
    created = tmp_path / "created.db"
    connections.make_private(created)
    engine = sa.create_engine("sqlite://", creator=lambda: connections.plain(created), module=driver())
    tables[0].metadata.create_all(engine, tables=tables)
    engine.dispose()
    assert spaced_alike(rows(path, DDL)) == spaced_alike(rows(created, DDL))


def test_a_prepared_file_is_durable_erasing_and_strict(path):
    files.prepare(path, "vault")
    connection = connections.writer(path)
    pragmas = ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "trusted_schema", "cell_size_check")
    found = [connection.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]
    connection.close()
    assert found == ["wal", 2, 1, 1, 0, 1]


def test_an_older_file_is_migrated_and_a_copy_kept(path):
    files.prepare(path, "control")
    change(path, "INSERT INTO heads VALUES ('v', 1, 0, x'', '', 0, 0)")
    newer = (*MIGRATIONS["control"], Migration(NEWEST + 1, lambda _dialect: ["ALTER TABLE heads ADD COLUMN more TEXT"]))
    files.prepare(path, "control", newer)
    kept = path.with_name(f"x.db.before-{NEWEST + 1}")
    assert rows(path, "SELECT vault, more FROM heads") == [("v", None)]
    assert rows(kept, "SELECT vault FROM heads") == [("v",)]
    assert [rows(one, "PRAGMA user_version") for one in (path, kept)] == [[(NEWEST + 1,)], [(NEWEST,)]]
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_new_file_needs_no_copy(path):
    files.prepare(path, "control")
    assert not list(path.parent.glob("*before*"))


def test_a_migration_that_is_cut_off_leaves_the_old_state(path):
    files.prepare(path, "control")
    half = Migration(
        NEWEST + 1, lambda _dialect: ["ALTER TABLE heads ADD COLUMN more TEXT", "DROP TABLE keys", "nonsense"]
    )
    with pytest.raises(driver().OperationalError):
        files.prepare(path, "control", (*MIGRATIONS["control"], half))
    assert rows(path, "PRAGMA user_version") == [(NEWEST,)]
    assert rows(path, "SELECT count(*) FROM keys") == [(0,)]
    assert "more" not in [row[1] for row in rows(path, "PRAGMA table_info(heads)")]


def test_a_newer_file_is_refused_and_left_alone(path):
    files.prepare(path, "vault")
    change(path, "PRAGMA user_version=99")
    with pytest.raises(Refused, match=r"newer version.*schema 99"):
        files.prepare(path, "vault")
    assert rows(path, "PRAGMA user_version") == [(99,)]


def test_another_programs_database_is_refused_and_left_alone(path):
    change(path, "CREATE TABLE theirs (a)")
    before = path.read_bytes()
    with pytest.raises(Refused, match="belongs to another program; move it away"):
        files.prepare(path, "control")
    assert path.read_bytes() == before


def test_a_vault_file_is_no_control_file(path):
    files.prepare(path, "vault")
    with pytest.raises(Refused, match="another program"):
        files.prepare(path, "control")


@pytest.mark.parametrize("garbage", [b"not a database, but long enough to look like one" * 99, b"\x00" * 5000, b"x"])
def test_garbage_is_refused_and_left_alone(path, garbage):
    path.write_bytes(garbage)
    with pytest.raises(Refused, match=r"not a database|another program"):
        files.prepare(path, "control")
    assert path.read_bytes() == garbage


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 9), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 53, 0), True),
        ((4, 0, 0), True),
    ],
)
def test_only_libraries_with_the_log_fix_are_safe(version, safe):
    assert is_safe(version) == safe


def test_without_a_safe_library_the_start_is_refused():
    with pytest.raises(Refused, match="install pysqlite3"):
        driver(["no_such_module"])
