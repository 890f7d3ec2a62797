"""`archivist forget`: what goes is shown before it goes, and nothing goes unasked."""

import asyncio
import json
import os
import pty
import subprocess
import sys

import pytest

from archivist.domain.access import Principal
from tests.builders import an_id
from tests.cli.conftest import SECONDS, Command, Typed
from tests.cli.inside import inside
from tests.reflecting import kept, three_tiers

pytestmark = pytest.mark.anyio


async def planted(typed: Command | Typed) -> None:
    """The three tiers, in the personal vault."""
    async with inside(typed) as app:
        await three_tiers(app, await app.local())


@pytest.fixture
async def tiers(typed: Typed) -> None:
    await planted(typed)


async def here(typed: Command | Typed) -> list[str]:
    async with inside(typed) as app:
        return sorted(memory.id for memory in await app.memories.recent(await app.local(), 99))


async def test_a_memory_goes_and_the_reflections_that_stay_are_named(typed, tiers):
    done = typed("forget", an_id(1), "--yes")
    shown = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    goes, stays = shown.split("These were built on them and stay")
    assert "walrus fact 1" in goes
    assert all(text in stays for text in (an_id(11), "walrus event 11", an_id(21), "walrus principle"))
    assert "1 memory is deleted." in shown
    assert f"{an_id(11)}, {an_id(21)}" in done.stderr.decode()
    assert await here(typed) == [an_id(n) for n in (2, 3, 4, 11, 12, 21)]


async def test_with_derived_all_that_was_built_on_it_goes_along(typed, tiers):
    done = typed("forget", an_id(1).upper(), "--derived", "--yes")
    assert done.returncode == 0, done.stderr.decode()
    assert all(text in done.stdout.decode() for text in ("walrus fact 1", "walrus event 11", "walrus principle"))
    assert "3 memories are deleted." in done.stdout.decode()
    assert await here(typed) == [an_id(n) for n in (2, 3, 4, 12)]


@pytest.mark.parametrize("derived", [[], ["--derived"]])
async def test_machines_get_json_and_nothing_else(typed, tiers, derived):
    done = typed("forget", an_id(1), an_id(9), *derived, "--yes", "--json")
    told = json.loads(done.stdout)
    gone = [an_id(21), an_id(11), an_id(1)] if derived else [an_id(1)]
    assert told == {
        "deleted_ids": gone,
        "reflections_kept": [] if derived else [an_id(11), an_id(21)],
        "state": "erased",
        "primary_cleared": True,
        "mirror_cleared": True,
        "mirror": "cleared",
    }


@pytest.mark.parametrize(
    "words",
    [[an_id(1)], [an_id(1), "--derived"], [an_id(1), "--json"], [], ["x", "--yes"], ["receipt-1", "--yes"]],
)
async def test_unasked_or_without_an_id_nothing_goes(typed, tiers, words):
    done = typed("forget", *words)
    assert done.returncode == 2
    assert b"Usage:" in done.stderr
    assert len(await here(typed)) == 7


async def test_an_id_that_is_not_here_ends_with_one_and_one_line(typed, tiers):
    done = typed("forget", an_id(99), "--yes")
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)


async def test_a_deleted_memory_still_leads_to_what_was_built_on_it(typed, tiers):
    typed("forget", an_id(1), "--yes")
    again = typed("forget", an_id(1), "--yes")
    assert (again.returncode, b"--derived" in again.stderr) == (1, True)
    assert typed("forget", an_id(1), "--derived", "--yes").returncode == 0
    assert await here(typed) == [an_id(n) for n in (2, 3, 4, 12)]


async def test_only_the_named_vault_is_touched(typed, tiers):
    typed("vaults", "create", "garden")
    async with inside(typed) as app:
        garden: Principal = await app.local("garden")
        await kept(app, garden, 1, "theirs")
    assert typed("forget", an_id(1), "--vault", "garden", "--yes").returncode == 0
    assert an_id(1) in await here(typed)


async def test_stored_text_cannot_break_out_of_its_line(typed):
    async with inside(typed) as app:
        await kept(app, await app.local(), 1, "first\nsecond \u202e third")
    done = typed("forget", an_id(1), "--yes").stdout.decode()
    assert "first\\u000asecond \\u202e third" in done


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 6), ("n\n", 1, 7)])
def test_on_a_terminal_a_person_is_asked(archivist, answer, code, left):
    asyncio.run(planted(archivist))
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "archivist", "forget", an_id(1), "--data", str(archivist.data)]
    with subprocess.Popen(
        words, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=archivist.environment
    ) as process:
        os.write(ours, answer.encode())
        out, err = process.communicate(timeout=SECONDS)
    os.close(ours)
    os.close(theirs)
    assert (process.returncode, b"walrus fact 1" in out) == (code, True), err.decode()
    assert b"Delete 1 memory for good?" in err
    assert len(asyncio.run(here(archivist))) == left
