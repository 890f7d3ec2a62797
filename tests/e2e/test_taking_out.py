"""Export, import and backup with the commands, while others write and after a kill."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from archivist.domain.ids import MemoryId, VaultId, uuid7
from archivist.domain.memories import new_memory
from archivist.domain.times import utc_now
from archivist.transfer import jsonl
from tests.e2e import inspecting
from tests.e2e.callers import over_http
from tests.e2e.load import Load
from tests.e2e.processes import Place
from tests.waiting import until

TEXTS = [
    "plain",
    "two\nlines",
    "nel\u0085 and \u2028",
    "安娜对花生过敏",
    "e\u0301 é",
    "👩\u200d👩\u200d👧",
    '{"a": "}\\n"}',
    "x" * 60_000,
]
MANY = 3_000


@pytest.fixture
def plain(place: Place) -> Place:
    """Without a model: what is moved is text, not vectors."""
    return Place(place.data, {"ARCHIVIST_EMBEDDER": "none"})


def written(path: Path, texts: list[str]) -> bytes:
    """A file as an export writes it."""
    now = utc_now()
    lines = []
    for text in texts:
        id = MemoryId(uuid7(now))
        lines.append(jsonl.dump(new_memory(id, VaultId("any"), b"", now, text=text, tags=["a", "b,c"]), []))
    path.write_bytes(b"".join(sorted(lines, key=lambda line: json.loads(line)["id"])))
    return path.read_bytes()


def test_what_is_exported_and_imported_into_another_vault_exports_to_the_same_bytes(plain: Place, tmp_path: Path):
    first, second, third = (tmp_path / f"{name}.jsonl" for name in ("first", "second", "third"))
    content = written(first, TEXTS)
    plain.said("import", first)
    plain.said("export", "--output", second)
    assert second.read_bytes() == content
    plain.said("vaults", "create", "other")
    plain.said("import", second, "--vault", "other")
    plain.said("export", "--vault", "other", "--output", third)
    assert third.read_bytes() == content
    assert plain.run("export", "--output", third).returncode == 2, "no file is written over"


def test_an_import_that_was_killed_and_is_run_again_doubles_and_loses_nothing(plain: Place, tmp_path: Path):
    source, out = tmp_path / "many.jsonl", tmp_path / "out.jsonl"
    content = written(source, [f"fact number {number}" for number in range(MANY)])
    plain.said("keys", "create")
    started = plain.start("import", source)
    until(lambda: _count(plain) > 0, "the first lines are in")
    started.kill()
    before = _count(plain)
    assert before < MANY
    assert inspecting.faults(plain.data) == []
    done = json.loads(plain.said("import", source, "--json"))
    assert done == {"stored": MANY - before, "already": before, "deleted_before": 0}
    plain.said("export", "--output", out)
    assert out.read_bytes() == content


def test_a_backup_under_load_is_whole_and_serves_as_a_data_folder(place: Place, tmp_path: Path):
    key, target = place.key(), tmp_path / "backup"
    with place.serving() as server, over_http(server.origin, key) as call:
        load = Load(call)
        load.begin()
        acknowledged = set(load.kept)
        place.said("backup", target)
        refused = place.run("backup", target)
        server.stop(signal.SIGTERM)
        load.end()
    assert refused.returncode == 1
    assert refused.stderr.endswith("is not empty; choose a new folder\n")
    assert inspecting.faults(target) == []
    assert acknowledged <= {row.text for row in inspecting.memories(target)}
    shutil.copytree(target, tmp_path / "restored")
    restored = Place(tmp_path / "restored", place.settings)
    wanted = sorted(acknowledged)[0]
    found = json.loads(restored.said("search", wanted, "--json"))["results"]
    assert wanted in [row["text"] for row in found]
    with restored.serving() as server, over_http(server.origin, key) as call:
        assert call("search_memories", query=wanted)["results"], "keys are in the backup, too"


def _count(place: Place) -> int:
    return len(inspecting.memories(place.data)) if (place.data / "vaults").exists() else 0
