"""`archivist secrets`: the server's own secrets are exchanged, and people notice nothing; a backup takes them along."""

import json
from dataclasses import replace

import pytest

from archivist.app import OWNER
from tests.builders import Clock
from tests.cli.inside import PASSWORD, given_a_factor, inside
from tests.cli.test_commands import out
from tests.cli.test_mistakes import line
from tests.people import VISITOR, arrived

pytestmark = pytest.mark.anyio


async def test_rotating_and_striking_say_what_they_did_and_stand_in_the_trail(typed):
    out(typed("users", "create", "Ana"))
    assert "still opens" in out(typed("secrets", "rotate"))
    assert "Only the newest" in out(typed("secrets", "strike"))
    acts = [act["action"] for act in json.loads(out(typed("audit", "--json")))["entries"]]
    assert acts[:2] == ["secrets strike", "secrets rotate"]


async def test_with_one_secret_nothing_is_struck_off_and_the_way_to_another_is_told(typed):
    out(typed("users", "create", "Ana"))
    assert "secrets rotate" in line(typed("secrets", "strike"))


async def test_second_factors_go_along_with_the_commands_while_a_server_runs(typed):
    clock = Clock()
    async with inside(typed, clock) as app:
        ana = await arrived(app, "Ana")
        shows = await given_a_factor(app, ana)
        for command in ("rotate", "strike"):
            done = json.loads(out(typed("secrets", command, "--json")))
            assert done == {"resealed": 1, "lost": []}
            clock.move(seconds=60)
            half = await app.sign_in.outside(ana.user, VISITOR)
            whole = await app.sign_in.second_factor(half.session, VISITOR, shows.at(clock()))
            assert whole.session.stage == "full"


async def test_a_second_factor_that_no_secret_opens_is_named_and_stops_nothing(typed):
    clock = Clock()
    async with inside(typed, clock) as app:
        await given_a_factor(app, await arrived(app, "Ana"))
        (typed.data / "server.key").unlink()
        done = typed("secrets", "rotate")
        assert b"Ana can be opened by no secret" in done.stderr
        assert done.returncode == 0


async def test_second_factors_work_on_in_a_copy_that_a_backup_made(typed, tmp_path):
    clock = Clock()
    async with inside(typed, clock) as app:
        ana = await arrived(app, "Ana")
        link = await app.accounts.recovery_link(OWNER, "Ana")
        await app.accounts.recover(link, PASSWORD)
        shows = await given_a_factor(app, ana)
    assert out(typed("backup", str(tmp_path / "copy"))) == f"2 files copied to {tmp_path / 'copy'}.\n"
    key = tmp_path / "copy" / "server.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.read_bytes() == (typed.data / "server.key").read_bytes()
    clock.move(seconds=60)
    async with inside(replace(typed, data=tmp_path / "copy"), clock) as app:
        half = await app.sign_in.password(VISITOR, "Ana", PASSWORD)
        assert half.session.stage == "half"
        assert (await app.sign_in.second_factor(half.session, VISITOR, shows.at(clock()))).session.stage == "full"
