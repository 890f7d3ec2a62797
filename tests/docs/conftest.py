"""A newcomer's computer: an empty home, a folder with `.venv` in it, and the server as `make run` starts it."""

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.docs.pages import README, ROOT, blocks
from tests.fixtures_models import models as models

CLIENTS = ROOT / "tests" / "clients" / "node_modules"
SHOWN = "http://127.0.0.1:8765"
START_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Desk:
    """Where commands of the README are run. `folder` stands for the clone, `origin` for the address that is shown."""

    folder: Path
    environment: dict[str, str]
    origin: str
    greeting: str

    def text(self, shown: str) -> str:
        """What the README shows, with the address and the folder of this desk."""
        return shown.replace(SHOWN, self.origin).replace("/path/to/archivist", str(self.folder))

    def run(self, shown: str, *, home: Path | None = None) -> str:
        """Run lines of the README as a shell would; what they print, on both streams.

        Raises:
            AssertionError: a line failed; the message holds what it said.
        """
        environment = self.environment | ({"HOME": str(home)} if home else {})
        done = subprocess.run(
            ["sh", "-e", "-c", self.text(shown)],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Desk]:
    """The server runs; the key of the README is made and lies in the environment."""
    place = tmp_path_factory.mktemp("desk")
    folder, data, home = place / "clone", place / "data", place / "home"
    for new in (folder, data, home):
        new.mkdir(mode=0o700)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    (folder / "node_modules").symlink_to(CLIENTS)
    theirs = ("ARCHIVIST_", "ARGS", "MAKE")  # what a `make test` above us was told is not for the newcomer's `make run`
    environment = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    environment |= {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(CLIENTS / ".bin"), os.environ["PATH"]]),
        "ARCHIVIST_DATA": str(data),
        "ARCHIVIST_MODELS": str(models),
        "npm_config_offline": "true",
    }
    with _made_run(environment | {"ARCHIVIST_PORT": "0"}) as (greeting, address):
        found = Desk(folder, environment, address.removesuffix("/mcp"), greeting)
        key = next(block.text for block in blocks(README, "sh") if block.text.startswith("export MEMORY_KEY="))
        said = found.run(f'{key}\nprintf "<%s>" "$MEMORY_KEY"')
        yield replace(found, environment=environment | {"MEMORY_KEY": said.partition("<")[2].partition(">")[0]})


@contextmanager
def _made_run(environment: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The server as `make run` starts it: what it said until it was ready, and its MCP address."""
    made = subprocess.Popen(
        ["make", "run"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(made, lines))
    reader.start()
    said = ""
    try:
        while "MCP address: " not in said or "prove" not in said.partition("MCP address: ")[2]:
            line = lines.get(timeout=START_SECONDS)
            assert line, f"make run ended early:\n{said}"
            said += line
        yield said, said.partition("MCP address: ")[2].split()[0]
    finally:
        os.killpg(made.pid, signal.SIGTERM)
        reader.join(START_SECONDS)
        made.wait(START_SECONDS)
        if made.stdout:
            made.stdout.close()


def _read(process: "subprocess.Popen[str]", lines: "queue.SimpleQueue[str]") -> None:
    """Pass on every line, then an empty one; whoever starts the server need not read on."""
    for line in process.stdout or ():
        lines.put(line)
    lines.put("")
