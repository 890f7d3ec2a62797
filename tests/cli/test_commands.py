"""The commands: what they print for people and for machines, and how they end."""

import json

import pytest

from archivist.domain import keys
from archivist.domain.access import ALL_SCOPES, Scope


def out(done):
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_new_key_is_printed_alone_on_stdout(archivist):
    done = archivist("keys", "create")
    assert keys.parse(out(done).removesuffix("\n")).most == ALL_SCOPES
    assert b"only time" in done.stderr


def test_a_key_gets_the_scopes_that_were_named_short_or_in_full(archivist):
    made = json.loads(out(archivist("keys", "create", "--scopes", "read,memories:delete", "--json")))
    assert made["scopes"] == ["memories:delete", "memories:read"]
    assert json.loads(out(archivist("keys", "create", "--json")))["scopes"] == ["memories:read", "memories:write"]


def test_a_read_only_key_is_made_by_its_own_word(archivist):
    assert keys.parse(out(archivist("keys", "create", "--read-only")).strip()).most == {Scope.READ}


def test_listed_keys_show_their_beginning_and_never_themselves(archivist):
    secret = out(archivist("keys", "create", "--name", "laptop")).strip()
    for listed in (out(archivist("keys", "list")), out(archivist("keys", "list", "--json"))):
        assert "laptop" in listed
        assert secret[:9] in listed
        assert secret[9:] not in listed


def test_a_revoked_key_is_listed_as_revoked(archivist):
    made = json.loads(out(archivist("keys", "create", "--json")))
    out(archivist("keys", "revoke", made["id"]))
    assert "revoked" in out(archivist("keys", "list"))
    again = archivist("keys", "revoke", made["id"])
    assert (again.returncode, again.stderr.count(b"\n")) == (1, 1)


def test_vaults_are_made_and_listed(archivist):
    out(archivist("vaults", "create", "garden"))
    out(archivist("vaults", "create", "café ☕", "--kind", "organization"))
    listed = json.loads(out(archivist("vaults", "list", "--json")))
    assert [(vault["name"], vault["kind"]) for vault in listed] == [("garden", "project"), ("café ☕", "organization")]
    twin = archivist("vaults", "create", "Garden")
    assert twin.returncode == 1
    assert b"already" in twin.stderr


@pytest.mark.parametrize(
    "words",
    [["nope"], ["keys", "create", "--scopes", "admin"], ["search"], ["keys", "revoke"], ["serve", "--port", "x"]],
)
def test_wrong_use_ends_with_two_and_says_what_is_right(archivist, words):
    done = archivist(*words, data=False)
    assert done.returncode == 2
    assert b"Usage:" in done.stderr or b"Error:" in done.stderr


@pytest.mark.parametrize("vault", ["nowhere", "../../etc/passwd", "x" * 5000])
def test_a_vault_that_there_is_not_ends_with_one_and_one_line(archivist, vault):
    out(archivist("keys", "create"))
    done = archivist("search", "x", "--vault", vault)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"vaults list" in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_export_that_fails_leaves_no_file_and_says_why(archivist, tmp_path):
    out(archivist("keys", "create"))
    missing, denied = tmp_path / "all.jsonl", tmp_path / "no" / "such" / "folder" / "all.jsonl"
    for done in (archivist("export", "--vault", "nowhere", "--output", str(missing)),
                 archivist("export", "--output", str(denied))):  # fmt: skip
        assert (done.returncode, done.stderr.count(b"\n")) == (1, 1), done.stderr.decode()
    assert not missing.exists()
    assert out(archivist("export", "--output", str(missing))) == ""
    assert missing.stat().st_mode & 0o777 == 0o600


def test_over_stdio_a_vault_that_there_is_not_is_told_at_every_call(archivist):
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "memory_status", "arguments": {}}}
    lines = "\n".join(json.dumps({**call, "id": number}) for number in (1, 2)).encode()
    done = archivist("stdio", "--vault", "nowhere", stdin=lines, ARCHIVIST_EMBEDDER="builtin")
    told = [json.loads(line)["error"]["message"] for line in done.stdout.splitlines()]
    assert (done.returncode, len(told)) == (0, 2), done.stderr.decode()
    assert all("vaults list" in message for message in told)


def test_every_command_is_in_the_menu(archivist):
    menu = out(archivist("--help", data=False))
    for command in ("serve", "stdio", "keys", "vaults", "search", "export", "import", "backup", "prove"):
        assert command in menu


def test_searching_prints_rows_for_people_and_json_for_machines(archivist):
    line = json.dumps(LINE, ensure_ascii=False).encode() + b"\n"
    assert "1 stored" in out(archivist("import", "-", stdin=line))
    assert "安娜" in out(archivist("search", "花生"))
    [row] = json.loads(out(archivist("search", "花生", "--json")))["results"]
    assert (row["text"], row["tier"]) == (LINE["text"], 1)


def test_text_in_any_language_survives_a_console_that_cannot_show_it(archivist):
    out(archivist("import", "-", stdin=json.dumps(LINE).encode()))
    done = archivist("search", "花生", PYTHONIOENCODING="cp1252", LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr.decode()


LINE = {
    "archivist": 1,
    "id": "0193b000-0000-7000-8000-000000000001",
    "tier": 1,
    "version": 1,
    "text": "安娜对花生过敏",
    "title": "安娜对花生过敏",
    "unique": True,
    "tags": [],
    "source_context": "",
    "importance": None,
    "created": "2026-11-30T12:00:00.000000Z",
    "updated": "2026-11-30T12:00:00.000000Z",
    "event": "2026-11-30T12:00:00.000000Z",
    "batch": "",
    "sources": [],
    "archived": False,
    "favorite": False,
    "priority": 50,
    "kind": "note",
    "level": "note",
    "category": "",
    "project": "",
    "summary": "",
    "notes": "",
    "language": "",
    "path": "",
    "codename": "",
    "aliases": [],
    "keywords": [],
}


@pytest.mark.parametrize(
    "words", [["search", "x"], ["keys", "list"], ["vaults", "list"], ["export"], ["backup", "copy"]]
)
def test_a_mistyped_folder_is_told_and_not_made(archivist, words):
    done = archivist(*words)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"holds no memories; check --data" in done.stderr
    assert not archivist.data.exists()
