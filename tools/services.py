"""Runs a command with PostgreSQL and MariaDB within reach: `services.py COMMAND…`. Its exit code is the command's.

The command finds their addresses in TEST_POSTGRES and TEST_MARIADB. A server that answers there, or on its usual port
of this machine without a password, is used as it is. What is missing is started in a temporary folder on a free port
of the loopback, installed first if need be, and ended with the command: by its process id, never by name.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pymysql

from setup import Stopped, apt_install

START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Service:
    """A database server that tests need.

    variable: names its address for the tests. url: takes a port. packages: Debian's. account: runs it if we are root.
    find: the folder of its programs, or None. answers: whether one on that port lets us in. prepare and serve: the
    commands that make its data folder and run it, given programs, folder and port. stop: the signal that ends it.
    """

    variable: str
    url: str
    port: int
    packages: Sequence[str]
    account: str
    stop: signal.Signals
    find: Callable[[], Path | None]
    answers: Callable[[int], bool]
    prepare: Callable[[Path, Path], Sequence[str]]
    serve: Callable[[Path, Path, int], Sequence[str]]


def main(command: Sequence[str]) -> int:
    """Run `command` beside the servers."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack:
        for service in (POSTGRESQL, MARIADB):
            if not os.environ.get(service.variable):
                os.environ[service.variable] = stack.enter_context(reachable(service))
        return subprocess.run(command, check=False).returncode


@contextmanager
def reachable(service: Service) -> Iterator[str]:
    """The address of a server that answers while the context is open."""
    if service.answers(service.port):
        yield service.url.format(port=service.port)
        return
    if service.find() is None:
        apt_install(*service.packages)
    if service.answers(service.port):  # Debian starts some servers when they are installed
        yield service.url.format(port=service.port)
        return
    programs = service.find()
    if programs is None:
        raise Stopped(f"{service.packages[0]} is installed, but its programs were not found")
    with _own(service, programs) as port:
        yield service.url.format(port=port)


@contextmanager
def _own(service: Service, programs: Path) -> Iterator[int]:
    """A server of our own in a temporary folder; the port that it answers on."""
    account = service.account if os.geteuid() == 0 else None  # these servers refuse to run as root
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="archivist-") as name, Path(name, "log").open("w+") as log:
        folder = Path(name)
        if account:
            shutil.chown(folder, account)
        prepare, serve = service.prepare(programs, folder), service.serve(programs, folder, port)
        subprocess.run(prepare, stdout=log, stderr=log, cwd="/", user=account, group=account, check=False)
        server = subprocess.Popen(serve, stdout=log, stderr=log, cwd="/", user=account, group=account)
        try:
            if not _answers_in_time(service, port, server):
                log.seek(0)
                raise Stopped(f"{service.packages[0]} did not start:\n{log.read()}")
            yield port
        finally:
            server.send_signal(service.stop)
            server.wait()


def _answers_in_time(service: Service, port: int, server: "subprocess.Popen[bytes]") -> bool:
    """Whether the server answers within START_SECONDS, while it lives."""
    patience = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < patience:
        if service.answers(port):
            return True
        time.sleep(0.1)
    return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _folder_of(program: str, *places: Path) -> Path | None:
    """Where `program` is: the newest of `places` that has it, else wherever the path finds it."""
    for place in reversed(places):
        if (place / program).exists():
            return place
    found = shutil.which(program)
    return Path(found).resolve().parent if found else None


def _postgresql_answers(port: int) -> bool:
    try:
        with psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=postgres", connect_timeout=2):
            return True
    except psycopg.Error:
        return False


def _mariadb_answers(port: int) -> bool:
    try:
        with pymysql.connect(host="127.0.0.1", port=port, user="root", connect_timeout=2):
            return True
    except pymysql.Error:
        return False


POSTGRESQL = Service(
    variable="TEST_POSTGRES",
    url="postgresql+psycopg://postgres@127.0.0.1:{port}/postgres",
    port=5432,
    packages=["postgresql"],
    account="postgres",
    stop=signal.SIGINT,  # its "fast" stop: clients are cut off
    find=lambda: _folder_of("initdb", *sorted(Path("/usr/lib/postgresql").glob("*/bin"))),
    answers=_postgresql_answers,
    prepare=lambda programs, folder: [
        str(programs / "initdb"), "--no-sync", "--auth=trust", "--username=postgres", f"--pgdata={folder}/data",
    ],
    serve=lambda programs, folder, port: [
        str(programs / "postgres"), "-D", f"{folder}/data", "-p", str(port), "-h", "127.0.0.1", "-k", str(folder),
    ],
)  # fmt: skip
MARIADB = Service(
    variable="TEST_MARIADB",
    url="mysql+pymysql://root@127.0.0.1:{port}/test",
    port=3306,
    packages=["mariadb-server"],
    account="mysql",
    stop=signal.SIGTERM,
    find=lambda: _folder_of("mariadbd", Path("/usr/sbin")),
    answers=_mariadb_answers,
    prepare=lambda _programs, folder: [
        "mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", f"--datadir={folder}/data",
    ],
    serve=lambda programs, folder, port: [
        str(programs / "mariadbd"), "--no-defaults", f"--datadir={folder}/data", f"--socket={folder}/socket",
        f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={folder}/pid",
    ],
)  # fmt: skip

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stopped as stopped:
        sys.exit(f"services: {stopped}")
