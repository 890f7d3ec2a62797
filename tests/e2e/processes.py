"""The installed command, as people run it: servers on free ports, commands that end, and what each of them says."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.waiting import SECONDS

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("archivist")
READY = re.compile(r"MCP address: (https?://\S+)/mcp")


@dataclass(frozen=True, slots=True)
class Place:
    """A data folder and the environment that commands on it are run in, without any setting of the caller's."""

    data: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("ARCHIVIST_")}
        return plain | {"ARCHIVIST_DATA": str(self.data)} | dict(self.settings)

    def run(self, *words: str | Path) -> "subprocess.CompletedProcess[str]":
        """A command to its end, whatever the end is."""
        return subprocess.run(
            [COMMAND, *words],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def said(self, *words: str | Path) -> str:
        """What a command that works prints on stdout."""
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def key(self, scopes: str = "read,write,delete", *more: str) -> str:
        return self.said("keys", "create", "--scopes", scopes, *more).strip()

    def start(self, *words: str | Path, pipes: bool = False) -> "Started":
        """A command that goes on by itself; stderr is read along. With `pipes` stdin and stdout are the caller's."""
        others = subprocess.PIPE if pipes else subprocess.DEVNULL
        command = [COMMAND, *words]
        return Started(
            subprocess.Popen(
                command, env=self.environment(), stdin=others, stdout=others, stderr=subprocess.PIPE, text=True
            )
        )

    @contextmanager
    def serving(self, *words: str | Path) -> "Iterator[Server]":
        """A server that is ready. It is killed at the end if it still runs."""
        started = self.start("serve", "--port", "0", *words)
        try:
            yield Server(started, started.line(READY)[1])
        finally:
            started.kill()


@dataclass(frozen=True, slots=True)
class Started:
    """A running command."""

    process: "subprocess.Popen[str]"
    _lines: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)
    heard: list[str] = field(default_factory=list)
    _reader: list[threading.Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        reader = threading.Thread(target=self._read, name=f"stderr of {self.process.pid}")
        self._reader.append(reader)
        reader.start()

    def line(self, pattern: "re.Pattern[str]") -> "re.Match[str]":
        """The next line on stderr that matches."""
        while line := self._lines.get(timeout=SECONDS):
            self.heard.append(line)
            if found := pattern.search(line):
                return found
        raise AssertionError(f"ended without saying {pattern.pattern}:\n{''.join(self.heard)}")

    def everything(self) -> str:
        """All that it said on stderr, once it has ended."""
        self.wait()
        while not self._lines.empty():
            self.heard.append(self._lines.get())
        return "".join(self.heard)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit code; of a signal that ended it, its negative number."""
        code = self.process.wait(SECONDS)
        for reader in self._reader:
            reader.join(SECONDS)
        return code

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put("")


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers at `origin`."""

    started: Started
    origin: str

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to end; its exit code."""
        self.started.signal(number)
        return self.started.wait()
