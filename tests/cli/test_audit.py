"""`archivist audit`: the trail of the server and of a vault, page by page."""

import json

from tests.cli.test_commands import out
from tests.cli.test_mistakes import line


def test_the_trail_of_the_server_says_who_did_what_newest_first(typed):
    out(typed("users", "create", "Ana"))
    out(typed("users", "disable", "Ana"))
    heading, *rows = out(typed("audit")).splitlines()
    assert heading.split() == ["WHEN", "(UTC)", "WHO", "BY", "DID", "TO", "TIMES", "OUTCOME"]
    assert ["users disable" in rows[0], "invitation link" in rows[1], "users create" in rows[2]] == [True] * 3
    assert all(" Ana " in row and " cli " in row for row in rows)


def test_the_trail_of_a_vault_holds_what_was_done_to_it_and_nothing_of_another(typed):
    out(typed("vaults", "create", "garden"))
    out(typed("vaults", "create", "shed"))
    made = json.loads(out(typed("keys", "create", "--vault", "garden", "--json")))
    acts = json.loads(out(typed("audit", "--vault", "garden", "--json")))["entries"]
    assert [(act["action"], act["target"]) for act in acts] == [("keys create", made["id"])]
    assert json.loads(out(typed("audit", "--vault", "shed", "--json")))["entries"] == []
    assert "vaults list" in line(typed("audit", "--vault", "nowhere"))


def test_a_long_trail_is_read_in_pages_without_a_gap(typed):
    ids = [json.loads(out(typed("keys", "create", "--json")))["id"] for _ in range(5)]
    before, read = [], []
    while True:
        page = json.loads(out(typed("audit", "--vault", "personal", "--limit", "2", "--json", *before)))
        read += [act["target"] for act in page["entries"] if act["action"] == "keys create"]
        if page["older"] is None:
            break
        before = ["--before", page["older"]]
    assert read == ids[::-1]
    said = typed("audit", "--vault", "personal", "--limit", "1")
    assert b"--before" in said.stderr
    assert "before: must be" in line(typed("audit", "--before", "x"))


def test_reading_the_trail_is_noted_in_it(typed):
    out(typed("users", "create", "Ana"))
    out(typed("audit"))
    assert "audit read" in out(typed("audit"))
