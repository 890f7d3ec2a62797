"""The `archivist` command as a person runs it: a process of its own, on a folder of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

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


@pytest.fixture
def archivist_with_model(archivist: Command, models: Path) -> Command:
    """With the built-in model, prepared already."""
    environment = {**archivist.environment, "ARCHIVIST_EMBEDDER": "builtin", "ARCHIVIST_MODELS": str(models)}
    return Command(archivist.data, environment)


Run = Callable[..., subprocess.CompletedProcess[bytes]]
