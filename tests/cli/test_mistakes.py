"""What people and scripts get wrong on the command line, and what stored text may not do to a terminal."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from archivist.cli.main import COMMANDS
from tests.cli.test_commands import LINE

FULL = Path("/dev/full")


def line(done):
    """The one line that a command which failed says."""
    assert done.returncode == 1, done.stderr.decode()
    assert done.stderr.count(b"\n") == 1, done.stderr.decode()
    return done.stderr.decode()


@pytest.mark.parametrize("words", [["keys", "list"], ["search", "x"], ["export"], ["backup", ""]])
def test_an_empty_folder_name_is_wrong_use_and_not_the_folder_that_one_is_in(archivist, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    data = [] if "" in words else ["--data", ""]
    done = archivist(*words, *data, data="" in words)
    assert (done.returncode, list(tmp_path.glob("control.db*"))) == (2, [])


def test_an_empty_vault_name_is_not_the_personal_vault(archivist):
    assert "no vault of that name" in line(archivist("keys", "create", "--vault", ""))
    assert json.loads(archivist("keys", "list", "--json").stdout) == []


@pytest.mark.parametrize("name", [b"\xff\xfe", b"\x1b[31mred", b"two\nlines", b"x" * 101], ids=ascii)
def test_a_key_is_called_something_that_a_list_can_show(archivist, name):
    assert "name: must be" in line(archivist("keys", "create", "--name", name))
    assert json.loads(archivist("keys", "list", "--json").stdout) == []


def test_read_only_beside_scopes_is_wrong_use(archivist):
    done = archivist("keys", "create", "--read-only", "--scopes", "write")
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_vault_name_that_is_taken_leaves_no_file_behind(archivist):
    assert archivist("vaults", "create", "garden").returncode == 0
    files = sorted(path.name for path in (archivist.data / "vaults").glob("*.db"))
    line(archivist("vaults", "create", "Garden"))
    assert sorted(path.name for path in (archivist.data / "vaults").glob("*.db")) == files


@pytest.mark.parametrize("words", [["keys", "create"], ["export"], ["search", "peanuts"]])
def test_output_that_cannot_be_written_is_told_in_one_line(archivist, words):
    assert archivist("import", "-", stdin=json.dumps({**LINE, "text": "peanuts"}).encode()).returncode == 0
    command = [sys.executable, "-m", "archivist", *words, "--data", str(archivist.data)]
    with FULL.open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=archivist.environment, check=False)
    assert "No space left" in line(done)


@pytest.mark.parametrize(
    "url", ["https://me:secret@example.org", "https://example.org:99999", "https://example.org/#x", "https://x:0"]
)
def test_a_public_address_that_no_client_can_use_is_refused_without_repeating_it(archivist, url):
    said = line(archivist("serve", "--public-url", url))
    assert "setting public_url: must be" in said
    assert "secret" not in said


def test_a_title_cannot_move_the_cursor_or_add_lines(archivist):
    title = "Good\r\u0085\u2028\u202e1.00  2026-11-30  peanuts"
    assert (
        archivist("import", "-", stdin=json.dumps({**LINE, "text": "peanuts", "title": title}).encode()).returncode == 0
    )
    (shown,) = archivist("search", "peanuts").stdout.decode().split("\n")[:-1]
    assert shown.isprintable()
    assert "Good" in shown


def test_the_commands_that_the_server_names_can_be_copied_whatever_the_folder_is_called(archivist, tmp_path):
    folder = tmp_path / "my data; $(touch here) 'x'"
    words = [sys.executable, "-m", "archivist", "serve", "--port", "0", "--data", str(folder)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, env=archivist.environment) as process:
        said = [process.stderr.readline().decode() for _ in range(3)] if process.stderr else []
        process.terminate()
    assert all(shlex.split(one)[-2:] == ["--data", str(folder)] for one in said[1:])


@pytest.mark.parametrize(
    "words",
    [
        ["users", "list"],
        ["users", "link", "Ana"],
        ["clients", "list"],
        ["connections", "list"],
        ["audit"],
        ["end", "--all"],
        ["keys", "rotate", "x"],
        ["secrets", "rotate"],
        ["vaults", "members", "x"],
    ],
    ids=" ".join,
)
def test_a_mistyped_folder_is_told_by_every_command_that_needs_one_and_not_made(typed, words):
    assert "holds no memories; check --data" in line(typed(*words))
    assert not typed.data.exists()


def test_every_command_says_what_it_does_and_takes_the_data_folder(typed):
    for name in COMMANDS:
        said = typed(name, "--help", data=False).stdout.decode()
        subcommands = said.partition("Commands:\n")[2].splitlines()
        for words in [[one.split()[0]] for one in subcommands if one.strip()] or [[]]:
            helped = typed(name, *words, "--help", data=False).stdout.decode()
            assert "--data" in helped, (name, words)
