"""The programs of other people that the tests drive: where they are, and how they are run."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

ROOT = Path(__file__).parents[2]
BIN = Path(__file__).parent / "node_modules" / ".bin"
ARCHIVIST = ROOT / ".venv" / "bin" / "archivist"
SECONDS = 120
"""No program may take longer, however busy the machine is."""


def installed(name: str) -> str:
    """The path of a client that package-lock.json pins; never one that the machine happens to have.

    Raises:
        AssertionError: it is missing.
    """
    path = BIN / name
    assert path.exists(), f"{path} is missing; `make test` installs it"
    return str(path)


def environment(home: Path, **more: str) -> dict[str, str]:
    """All that a program gets: nothing of the person who runs the tests, and Node 22 before any other."""
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1", **more}


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that has ended: its code, and what it said on standard output and on the other."""

    code: int
    said: str
    told: str


async def ended(command: Sequence[str], env: Mapping[str, str], cwd: Path | None = None) -> Ended:
    """The program, once it has ended, however that was."""
    with anyio.fail_after(SECONDS):
        done = await anyio.run_process(command, input=b"", env=env, cwd=cwd, check=False)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


async def run(command: Sequence[str], env: Mapping[str, str], cwd: Path | None = None, *, code: int = 0) -> str:
    """What the program prints on standard output, once it has ended with `code`.

    Raises:
        AssertionError: it ended otherwise; the message holds what it said.
    """
    done = await ended(command, env, cwd)
    assert done.code == code, f"{command[0]} ended with {done.code}\n{done.said}{done.told}"
    return done.said
