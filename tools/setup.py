"""Sets up what a target of the Makefile needs, and nothing twice: `setup.py run | dev | test | lock`.

A step is done again only if the content that it was made from has changed. Standard library only: it runs before
anything is installed.
"""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
CACHE = ROOT / ".cache"
PYTHON = VENV / "bin" / "python"
CLIENTS = ROOT / "tests" / "clients"
OLDEST = (3, 11)


class Stopped(Exception):
    """Set-up cannot go on. The text says what is wrong and how to mend it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to have. It is made when `stamp` does not hold the digest of `inputs`.

    inputs: text that decides how it is made. says: a line for the person who waits.
    """

    stamp: Path
    inputs: Sequence[str]
    says: str
    make: Callable[[], None]

    def ensure(self) -> None:
        """Make it unless it is there; the stamp is written last, so that a broken attempt is made again."""
        digest = hashlib.sha256(json.dumps([str(ROOT), *self.inputs]).encode()).hexdigest()
        if self.stamp.exists() and self.stamp.read_text() == digest:
            return
        print(f"set-up: {self.says}", file=sys.stderr, flush=True)
        self.make()
        self.stamp.parent.mkdir(parents=True, exist_ok=True)
        self.stamp.write_text(digest)


@dataclass(frozen=True, slots=True)
class Program:
    """A program of Debian's package of the same name. It belongs to the machine, so it is looked for each time."""

    name: str

    def ensure(self) -> None:
        """Install it unless it is there."""
        if shutil.which(self.name) is None:
            apt_install(self.name)


def main(wanted: str) -> None:
    """Bring about everything that the target needs, one set-up at a time."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ensure_venv()
        for step in STEPS[wanted]():
            step.ensure()


def ensure_venv() -> None:
    """A virtual environment that belongs to this folder; one that was moved or copied here is made anew."""
    activate = VENV / "bin" / "activate"
    if PYTHON.exists() and activate.exists() and str(VENV) in activate.read_text():
        return
    if sys.version_info < OLDEST:
        raise Stopped(f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed; this is {platform.python_version()}")
    print("set-up: making .venv", file=sys.stderr, flush=True)
    try:
        run(sys.executable, "-m", "venv", "--clear", str(VENV))
    except Stopped:
        raise Stopped("could not make .venv; on Debian and Ubuntu: apt-get install python3-venv") from None


def run_steps() -> list[Step | Program]:
    """What the server needs."""
    return [_packages("run", "the server's packages (about 400 MB, a minute or two)"), _project()]


def dev_steps() -> list[Step | Program]:
    """What `make check` needs: no service, no Node."""
    return [_packages("dev", "the packages of the server and of its tests (about 750 MB, a minute or two)"), _project()]


def test_steps() -> list[Step | Program]:
    """What the whole suite needs."""
    return [*dev_steps(), Program("chromium"), _clients()]


def lock_steps() -> list[Step | Program]:
    """What `make lock` needs."""
    return [_packages("lock", "the resolver")]


STEPS = {"run": run_steps, "dev": dev_steps, "test": test_steps, "lock": lock_steps}


def _packages(name: str, says: str) -> Step:
    """The pinned and hashed packages of requirements/NAME.txt, in .venv."""
    pins = ROOT / "requirements" / f"{name}.txt"
    return Step(VENV / "stamps" / name, [pins.read_text()], says, lambda: pip_install("-r", str(pins)))


def _project() -> Step:
    """The package itself, editable, built by the pinned back end that lies in .venv already."""
    pins = ROOT / "requirements" / "build.txt"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    parts = [json.dumps(project[name], sort_keys=True) for name in ("build-system", "project")]

    def make() -> None:
        pip_install("-r", str(pins))
        run(
            str(PYTHON), "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", str(ROOT)
        )

    return Step(VENV / "stamps" / "project", [*parts, pins.read_text()], "the command .venv/bin/archivist", make)


def pip_install(*options: str) -> None:
    """Install into .venv exactly what is pinned: every file is checked against its hash, nothing else is resolved."""
    run(str(PYTHON), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", *options)


def _clients() -> Step:
    """The npm packages that the tests drive, Node 22 among them; any npm can install them."""
    pins = (CLIENTS / "package-lock.json").read_text()
    return Step(CLIENTS / "node_modules" / ".stamp", [pins], "Node 22 and the clients that the tests drive", npm_ci)


def npm_ci() -> None:
    """Install exactly what the lock file of tests/clients names."""
    if shutil.which("npm") is None:
        apt_install("npm")
    run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=CLIENTS)


def apt_install(*packages: str) -> None:
    """Install Debian packages.

    Raises:
        Stopped: this is not Debian, or not root; the text names the command to run.
    """
    command = f"apt-get install {' '.join(packages)}"
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise Stopped(f"{', '.join(packages)} must be installed first; on Debian and Ubuntu, as root: {command}")
    print(f"set-up: {command}", file=sys.stderr, flush=True)
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run("apt-get", "update", "-qq", environment=quiet)
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages, environment=quiet)


def run(*command: str, cwd: Path = ROOT, environment: dict[str, str] | None = None) -> None:
    """Run a command that talks only if it fails.

    Raises:
        Stopped: it failed; what it said is passed on.
    """
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | (environment or {}), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Stopped(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Stopped as stopped:
        sys.exit(f"set-up: {stopped}")
