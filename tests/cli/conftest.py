"""The `archivist` command as a person runs it: a process of its own, on a folder of its own."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from archivist.cli import options
from archivist.cli.main import main
from tests.fixtures_models import models as models

SECONDS = 120


@dataclass(frozen=True, slots=True)
class Command:
    """Runs `archivist` with arguments; `environment` is all that it sees of ARCHIVIST_ names."""

    data: Path
    environment: dict[str, str]

    def __call__(self, *arguments: str, data: bool = True, **given: str | bytes) -> subprocess.CompletedProcess[bytes]:
        words = [sys.executable, "-m", "archivist", *arguments, *(["--data", str(self.data)] if data else [])]
        stdin = given.pop("stdin", b"")
        return subprocess.run(
            words, input=stdin, capture_output=True, env={**self.environment, **given}, timeout=SECONDS, check=False
        )

    @contextmanager
    def serving(self, *arguments: str) -> Iterator[str]:
        """A server on this folder; gives its origin."""
        words = [sys.executable, "-m", "archivist", "serve", "--port", "0", "--data", str(self.data), *arguments]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=self.environment)
        try:
            for line in process.stderr or ():
                if b"MCP address: " in line:
                    yield line.decode().partition("MCP address: ")[2].strip().removesuffix("/mcp")
                    break
        finally:
            process.terminate()
            process.communicate(timeout=SECONDS)


@pytest.fixture
def archivist(tmp_path: Path) -> Command:
    """Without a model: quick, and enough for all but searching by meaning."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ARCHIVIST_", "PYTHON"))}
    return Command(tmp_path / "data", {**clean, "ARCHIVIST_EMBEDDER": "none"})


@dataclass(frozen=True, slots=True)
class Typed:
    """The same command within this process, which spares a second at each call: for what does not concern processes.

    It runs in a thread, for a test may have an event loop of its own. It reads nothing from stdin.
    """

    data: Path

    def __call__(self, *arguments: str, data: bool = True, **given: str) -> subprocess.CompletedProcess[bytes]:
        words = ["archivist", *arguments, *(["--data", str(self.data)] if data else [])]
        environment = {name: None for name in os.environ if name.startswith("ARCHIVIST_")}
        done: list[subprocess.CompletedProcess[bytes]] = []

        def run() -> None:
            with CliRunner().isolation(env={**environment, "ARCHIVIST_EMBEDDER": "none", **given}) as (out, err, _):
                code: str | int | None = 0
                before, sys.argv = sys.argv, words
                try:
                    main()
                except SystemExit as ended:
                    code = ended.code
                finally:
                    sys.argv = before
                done.append(subprocess.CompletedProcess(words, int(code or 0), out.getvalue(), err.getvalue()))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(SECONDS)
        return done[0]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Without a model, and without a log of its own: that of this process stays."""
    monkeypatch.setattr(options, "configure", lambda _level: None)
    return Typed(tmp_path / "data")


@pytest.fixture
def archivist_with_model(archivist: Command, models: Path) -> Command:
    """With the built-in model, prepared already."""
    environment = {**archivist.environment, "ARCHIVIST_EMBEDDER": "builtin", "ARCHIVIST_MODELS": str(models)}
    return Command(archivist.data, environment)


Run = Callable[..., subprocess.CompletedProcess[bytes]]
