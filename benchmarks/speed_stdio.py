"""What a local client waits and pays for when it starts `archivist stdio`, and what the environment takes on disk."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import servers
from benchmarks.report import Row

_STARTS = 5
_MOST = {"discover cpu s": 1.5, "search cpu s": 3.0, "before MB": 120.0, "after MB": 260.0}
_MOST_DISK = 420.0
_TOOLS_OF_THE_ENVIRONMENT = ("pip",)


def rows(data: Path, root: Path, cache: Path) -> list[Row]:
    """Medians of a few starts in `data`, whose personal vault holds something; the model is prepared."""
    starts = [_start(data, cache) for _ in range(_STARTS)]
    values = {name: median(start[name] for start in starts) for name in starts[0]}
    environment, model = environment_megabytes(root, cache), megabytes(cache / "models")
    disk = {"environment MB": environment, "model MB": model}
    return [
        Row("stdio", values, most=_MOST, digits=2),
        Row("installed", disk, most={"environment MB": _MOST_DISK}),
    ]


def _start(data: Path, cache: Path) -> dict[str, float]:
    command = [*servers.ARCHIVIST, "stdio", "--data", str(data)]
    with (
        (data / "stdio.log").open("wb") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=servers.environment(cache)
        ) as process,
    ):
        ask = _asking(process)
        ask(servers.request("server/discover", {}, 1))
        discover, before = servers.processor_seconds(process.pid), servers.resident_megabytes(process.pid)
        found = ask(servers.tool_call("search_memories", {"query": "what did we talk about last week?"}, 2))
        search, after = servers.processor_seconds(process.pid), servers.resident_megabytes(process.pid)
        if not found["structuredContent"]["results"] or "note" in found["structuredContent"]:
            raise RuntimeError("nothing was found, or without the model")
        process.stdin.close()
    return {"discover cpu s": discover, "search cpu s": search, "before MB": before, "after MB": after}


def _asking(process: "subprocess.Popen[bytes]") -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def ask(message: Mapping[str, Any]) -> dict[str, Any]:
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())["result"]
        return answer

    return ask


def environment_megabytes(root: Path, cache: Path) -> float:
    """A fresh environment with only what runs need; made once for each version of its requirements."""
    requirements = root / "requirements" / "run.txt"
    version = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    environment, done = cache / "bench" / f"environment-{version}", cache / "bench" / f"environment-{version}.done"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
        install = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--require-hashes"]
        subprocess.run([*install, "-r", str(requirements)], check=True)
        done.touch()
    return megabytes(environment) - sum(
        megabytes(found) for name in _TOOLS_OF_THE_ENVIRONMENT for found in environment.rglob(f"site-packages/{name}*")
    )


def megabytes(path: Path) -> float:
    """What a folder takes, links not followed."""
    files = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return sum(file.lstat().st_size for file in files) / 1e6
