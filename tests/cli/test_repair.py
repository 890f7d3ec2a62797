"""`doctor` and `repair`: what is damaged is refused and named, and what was mirrored comes back."""

import json
import shutil
from contextlib import closing

import pytest

from archivist.domain.memories import new_memory
from archivist.storage.sqlite.driver import driver
from archivist.transfer import jsonl
from tests.builders import MINE, NOON, SECRET, an_id

TEXTS = [f"walrus number {number}, who lives at the {number}. pier" for number in range(300)]


def a_line(number, text):
    return jsonl.dump(new_memory(an_id(number), MINE, SECRET, NOON, text=text, tags=["pier"]), [])


@pytest.fixture
def filled(typed, tmp_path):
    """A vault whose mirror has caught up."""
    lines = tmp_path / "lines.jsonl"
    lines.write_bytes(b"".join(a_line(number, text) for number, text in enumerate(TEXTS)))
    done = typed("import", str(lines))
    assert done.returncode == 0, done.stderr
    return typed


def vault_of(typed, side="."):
    [path] = (typed.data / side / "vaults").glob("*.db")
    return path


def texts(typed):
    done = typed("export")
    assert done.returncode == 0, done.stderr
    return sorted(json.loads(line)["text"] for line in done.stdout.splitlines())


def findings(typed):
    done = typed("doctor", "--json")
    return done.returncode, {
        (one["side"], one["file"] if one["file"] == "control.db" else "vault"): one["trouble"]
        for one in json.loads(done.stdout)["files"]
        if one["trouble"] or one["repair"] != "nothing"
    }


def repaired(typed):
    done = typed("repair", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    assert findings(typed) == (0, {})
    return json.loads(done.stdout)["repaired"]


def garbage(path, start=0.3, end=0.7):
    content = bytearray(path.read_bytes())
    first, last = (int(len(content) * part) for part in (start, end))
    content[first:last] = b"\xa5\x5a" * ((last - first) // 2) + b"\xa5" * ((last - first) % 2)
    path.write_bytes(content)


def truncated(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def emptied(path):
    path.write_bytes(b"")


def headless(path):
    garbage(path, 0, 0.1)


DAMAGES = [garbage, truncated, emptied, headless, lambda path: path.unlink()]
NAMES = ["garbage", "truncated", "emptied", "headless", "missing"]


def test_a_whole_folder_is_called_whole(filled):
    assert findings(filled) == (0, {})
    assert b"Everything is whole" in filled("repair").stdout


@pytest.mark.parametrize("damage", DAMAGES, ids=NAMES)
def test_a_damaged_vault_is_refused_never_told_wrongly_and_comes_back_whole(filled, damage):
    damage(vault_of(filled))
    code, found = findings(filled)
    assert code == 1
    assert list(found) == [("data", "vault")]
    seen = filled("export")
    assert seen.returncode == 1
    assert set(json.loads(line)["text"] for line in seen.stdout.splitlines() if line.startswith(b"{")) <= set(TEXTS)
    assert b"Traceback" not in seen.stderr
    assert [one["repair"] for one in repaired(filled)] == ["copy"]
    assert texts(filled) == sorted(TEXTS)
    assert list((filled.data / "vaults").glob("*.damaged-*")) or damage is DAMAGES[-1]


@pytest.mark.parametrize("damage", DAMAGES, ids=NAMES)
def test_a_damaged_mirror_is_copied_anew(filled, damage):
    damage(vault_of(filled, "mirror"))
    if damage is DAMAGES[-1]:
        assert findings(filled) == (0, {})
        later = filled.data.parent / "later.jsonl"
        later.write_bytes(a_line(0xFFFF, "came later"))
        assert filled("import", str(later)).returncode == 0
    else:
        assert list(findings(filled)[1]) == [("mirror", "vault")]
        repaired(filled)
    vault_of(filled).unlink()
    repaired(filled)
    assert set(texts(filled)) >= set(TEXTS)


@pytest.mark.parametrize("damage", DAMAGES, ids=NAMES)
def test_damaged_people_and_keys_come_back(filled, damage):
    key = filled("keys", "create", "--name", "laptop").stdout
    damage(filled.data / "control.db")
    refused = filled("keys", "list")
    assert refused.returncode == 1
    assert b"archivist repair" in refused.stderr
    assert ("data", "control.db") in findings(filled)[1]
    repaired(filled)
    assert b"laptop" in filled("keys", "list").stdout
    assert key
    assert texts(filled) == sorted(TEXTS)


def change(path, statement, *values):
    with closing(driver().connect(str(path), isolation_level=None)) as connection:
        connection.execute(statement, values)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memories SET text = 'the opposite' WHERE text LIKE 'walrus number 7,%'",
        "UPDATE memories SET importance = 9 WHERE text LIKE 'walrus number 7,%'",
        "UPDATE memories SET text = CAST(x'ff00fe' AS TEXT) WHERE text LIKE 'walrus number 7,%'",
        "DELETE FROM tags WHERE memory = '0193b000-0000-7000-8000-000000000007'",
    ],
    ids=["text", "importance", "no text", "tags"],
)
def test_a_memory_that_is_not_what_was_written_is_refused_and_brought_back(filled, statement):
    change(vault_of(filled), statement)
    code, found = findings(filled)
    assert (code, found) == (1, {("data", "vault"): "rows"})
    seen = filled("export")
    assert seen.returncode == 1
    assert b"opposite" not in seen.stdout
    assert b"archivist" in seen.stderr
    assert [one["repair"] for one in repaired(filled)] == ["rows"]
    assert texts(filled) == sorted(TEXTS)


def test_a_search_leaves_out_what_is_damaged_says_so_and_finds_the_rest(filled):
    change(vault_of(filled), "UPDATE memories SET text = 'the opposite' WHERE text LIKE 'walrus number 7,%'")
    done = filled("search", "walrus number 7", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "opposite" not in done.stdout.decode()
    assert len(answer["results"]) > 5
    assert "archivist repair" in answer["note"]


def test_an_index_that_lacks_memories_is_built_anew(filled):
    change(vault_of(filled), "INSERT INTO fts (fts) VALUES ('delete-all')")
    assert findings(filled) == (1, {("data", "vault"): "index"})
    assert [one["repair"] for one in repaired(filled)] == ["index"]
    found = json.loads(filled("search", "walrus pier", "--json").stdout)
    assert len(found["results"]) == 10


def test_what_is_damaged_on_both_sides_is_named_and_the_rest_is_brought_back(filled):
    for side in (".", "mirror"):
        garbage(vault_of(filled, side))
    done = filled("repair", "--yes")
    assert done.returncode == 1
    assert b"cannot be repaired" in done.stderr
    assert filled("keys", "list").returncode == 0


def test_data_that_were_put_back_to_an_older_state_get_from_the_mirror_what_they_lack(filled, tmp_path):
    path = vault_of(filled)
    shutil.copy(path, tmp_path / "old.db")
    later = tmp_path / "later.jsonl"
    later.write_bytes(a_line(0xFFFF, "came later"))
    assert filled("import", str(later)).returncode == 0
    shutil.copy(tmp_path / "old.db", path)
    assert findings(filled)[0] == 1
    repaired(filled)
    assert "came later" in texts(filled)


def test_without_a_yes_nothing_is_touched(filled):
    garbage(vault_of(filled))
    before = vault_of(filled).read_bytes()
    done = filled("repair")
    assert done.returncode == 1
    assert b"--yes" in done.stderr
    assert vault_of(filled).read_bytes() == before


def test_without_a_mirror_doctor_looks_at_the_data_alone(filled):
    done = filled("doctor", "--json", ARCHIVIST_MIRROR="none")
    assert done.returncode == 0
    assert {one["side"] for one in json.loads(done.stdout)["files"]} == {"data"}
