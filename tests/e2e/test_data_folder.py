"""What is wrong with a data folder or a setting is told in one line that says how to mend it; nothing is touched."""

import os
import sqlite3
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.e2e.callers import SELECTED, Call, Refusal, over_http
from tests.e2e.processes import COMMAND, READY, Place, Started
from tests.waiting import SECONDS

KB = 1024


def another_programs(place: Place) -> None:
    place.data.mkdir()
    with sqlite3.connect(place.data / "control.db") as connection:
        connection.execute("CREATE TABLE theirs (thing TEXT)")
    connection.close()


def garbage(place: Place) -> None:
    place.data.mkdir()
    (place.data / "control.db").write_bytes(b"not a database, but somebody wants to keep it" * 100)


def a_file(place: Place) -> None:
    place.data.write_text("a file")


def broken_settings(place: Place) -> None:
    place.data.mkdir()
    (place.data / "archivist.toml").write_text("port = = 1")


def unknown_in_settings(place: Place) -> None:
    place.data.mkdir()
    (place.data / "archivist.toml").write_text("prot = 1")


def everything_in(folder: Path) -> dict[str, bytes | None]:
    if folder.is_file():
        return {"": folder.read_bytes()}
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize(
    ("spoil", "named", "mend"),
    [
        (another_programs, "control.db", "another data folder"),
        (garbage, "control.db", "archivist repair`, or move it away"),
        (a_file, "is a file", "choose another data folder"),
        (broken_settings, "archivist.toml", "mend or remove it"),
        (unknown_in_settings, "prot", "README.md"),
    ],
)
def test_a_folder_that_cannot_serve_is_refused_in_one_line_and_left_alone(
    place: Place, spoil: Callable[[Place], None], named: str, mend: str
):
    spoil(place)
    before = everything_in(place.data)
    refused = place.run("serve", "--port", "0")
    assert (refused.returncode, refused.stdout) == (1, "")
    [line] = refused.stderr.splitlines()
    assert line.startswith("archivist: ")
    assert named in line
    assert mend in line
    after = everything_in(place.data)
    assert {name: content for name, content in after.items() if name in before} == before
    assert not [name for name in after.keys() - before.keys() if not name.endswith("vaults")]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ARCHIVIST_DATE", "/tmp", "ARCHIVIST_DATE is not a setting"),
        ("ARCHIVIST_PORT", "70000", "setting port"),
        ("ARCHIVIST_EMBEDDER", "ollama", "setting embedder"),
        ("ARCHIVIST_PUBLIC_URL", "http://memory.example.org", "setting public_url"),
    ],
)
def test_a_setting_that_means_nothing_is_refused_in_one_line(place: Place, name: str, value: str, said: str):
    refused = Place(place.data, {name: value}).run("serve")
    assert refused.returncode == 1
    [line] = refused.stderr.splitlines()
    assert said in line
    assert not place.data.exists()


@contextmanager
def mounted(place: Place, size: str, *, read_only: bool = False) -> Iterator[Started]:
    """A server whose data folder is a file system of its own, in memory, that only this server sees."""
    place.data.mkdir(mode=0o700, exist_ok=True)
    remount = f'mount -o remount,ro,mode=700 "{place.data}"' if read_only else "true"
    script = f'mount -t tmpfs -o size={size},mode=700 none "{place.data}" && {remount} && exec "$0" serve --port 0'
    alone = ["unshare", "--mount" if os.geteuid() == 0 else "--map-root-user", "--mount"]
    process = subprocess.Popen(
        [*alone, "sh", "-c", script, COMMAND],
        env=place.environment() | {"ARCHIVIST_EMBEDDER": "none"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    started = Started(process)
    try:
        yield started
    finally:
        started.kill()


def test_a_read_only_folder_is_refused_in_one_line(place: Place):
    with mounted(place, "8m", read_only=True) as started:
        assert started.wait() == 1
        [line] = started.everything().splitlines()
    assert "read-only" in line
    assert "another data folder" in line


def test_a_full_disk_refuses_writes_clearly_reads_go_on_and_writes_once_there_is_room(place: Place):
    with mounted(place, "4m") as started:
        origin = started.line(READY)[1]
        inside = Path(f"/proc/{started.process.pid}/root{place.data}")
        key = _key_inside(started, place)
        with over_http(origin, key) as call:
            _fill(inside / "ballast", 1024 * KB)
            stored = _store_until_full(call)
            assert stored > 3
            [found] = call("search_memories", query="fact1x")["results"]
            assert call("memory_status")["totalMemories"] == stored
            assert httpx2.get(f"{origin}/health").status_code == 200
            (inside / "ballast").unlink()
            assert call("delete_memories", memory_ids=[found["id"]], confirmation=SELECTED)["deleted"] == 1
            call("store_memory", content="there is room again")
            assert call("memory_status")["totalMemories"] == stored
        started.process.terminate()
        assert started.wait() == 0


def _key_inside(started: Started, place: Place) -> str:
    """A key, made by a command that sees the server's file system."""
    command = ["nsenter", "--target", str(started.process.pid), "--mount", "--user", "--preserve-credentials"]
    if os.geteuid() == 0:
        command = command[:4]
    made = subprocess.run(
        [*command, COMMAND, "keys", "create", "--scopes", "read,write,delete"],
        env=place.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    return made.stdout.strip()


def _fill(path: Path, size: int) -> None:
    path.write_bytes(bytes(size))


def _require_full(refusal: Refusal) -> None:
    assert refusal.code == "storage_unavailable"
    assert "disk is full" in str(refusal)


def _store_until_full(call: Call) -> int:
    for number in range(1_000):
        try:
            call("store_memory", content=f"fact{number}x " + "and so on " * 3_000)
        except Refusal as refusal:
            _require_full(refusal)
            return number
    raise AssertionError("the disk was never full")


def test_files_are_the_owners_alone_under_load_and_in_what_is_taken_out(place: Place, tmp_path: Path):
    place.data.mkdir(mode=0o755)
    before = os.umask(0)  # the least private that a caller can be
    try:
        key = place.key()
        with place.serving() as server, over_http(server.origin, key) as call:
            for number in range(20):
                call("store_memory", content=f"private {number}")
            assert any(path.name.endswith("-wal") for path in place.data.rglob("*"))
            assert open_to_others(place.data) == []
            place.said("backup", tmp_path / "backup")
            place.said("export", "--output", tmp_path / "export.jsonl")
    finally:
        os.umask(before)
    assert open_to_others(tmp_path / "backup") == []
    assert stat.S_IMODE((tmp_path / "export.jsonl").stat().st_mode) == 0o600


def open_to_others(folder: Path) -> list[str]:
    return [
        f"{path}: {mode:o}"
        for path in (folder, *folder.rglob("*"))
        if (mode := stat.S_IMODE(path.stat().st_mode)) != (0o700 if path.is_dir() else 0o600)
    ]
