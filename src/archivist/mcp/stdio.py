"""The same registry over standard input and output: one JSON message a line, both eras, many requests at once.

Every message is read by its own revision; a handshake only settles what later messages without one speak. Standard
output carries nothing but protocol, whatever a dependency prints.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from typing import TYPE_CHECKING, Any

import anyio
from anyio import from_thread, lowlevel, to_thread
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from archivist.domain.access import Principal, Scope
from archivist.domain.errors import ArchivistError
from archivist.domain.limits import BODY_BYTES
from archivist.http import wire
from archivist.mcp import dispatch, era, rpc, vault
from archivist.mcp.call import Call
from archivist.mcp.lines import Lines
from archivist.mcp.registry import Registry
from archivist.mcp.rpc import BATCH, Id, Message, Rejection

if TYPE_CHECKING:  # only a type: the services must not be loaded before the catalogue is answered
    from archivist.app import App

_CHUNK = 65_536
"""Bytes read at once, at most."""
_CANCELLED = "notifications/cancelled"
_BREAKS = tuple((letter.encode(), rb"\u%04x" % ord(letter)) for letter in "\x85\u2028\u2029")


@contextmanager
def protocol_streams() -> Iterator[tuple[FileIO, FileIO]]:
    """Standard input and output as bytes, for the protocol alone.

    Meanwhile file descriptor 1 is standard error: a stray print, even from C code, cannot break a message. Descriptor
    0 is empty, so that no child process eats one.
    """
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    for stream in (incoming, outgoing):
        os.set_blocking(stream, True)  # some programs hand over their own ends, which do not wait
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    with FileIO(incoming, "r") as source, FileIO(outgoing, "w") as sink:
        try:
            yield source, sink
        finally:
            os.dup2(source.fileno(), 0)
            os.dup2(sink.fileno(), 1)


async def serve(
    build: Callable[[], App], local: Callable[[App], Awaitable[Principal]], source: FileIO, sink: FileIO
) -> None:
    """Serve the vault tools on the protocol's streams until the input ends.

    The catalogue is answered before there are services; they are built and started after the first answer, or when
    a request touches memories, and closed at the end.

    build: the services; called once, in another thread. local: who asks, once the data is open.
    """
    opening = Opening(build, local)
    try:
        await converse(vault.registry(), opening, source, sink)
    finally:
        await opening.close()


class Opening:
    """The services, made ready once, and who asks of them: with the rights that they have at each request."""

    def __init__(self, build: Callable[[], App], local: Callable[[App], Awaitable[Principal]]) -> None:
        self._build, self._local = build, local
        self._app: App | None = None
        self._who: Principal | None = None
        self._opening = anyio.Lock()

    async def __call__(self) -> Call:
        """Raises an ArchivistError, each time, while the data cannot be opened."""
        async with self._opening:
            if self._app is None:
                self._app = await to_thread.run_sync(self._build)
            if self._who is None:
                who = await self._local(self._app)  # first: it can fail, and an app is started only once
                await self._app.start()
                self._who = who
        return Call(self._app, await self._app.entering.again(self._who))

    async def close(self) -> None:
        """Let go of what was opened."""
        if self._app is not None:
            await self._app.close()


async def converse(registry: Registry, opened: Callable[[], Awaitable[Any]], source: FileIO, sink: FileIO) -> None:
    """Answer what comes from `source` until it ends, then what is still under way, and return.

    opened: what handlers get as their lifespan context; awaited once after the first answer, and for requests that
        touch memories.
    """
    await Conversation(registry, opened, source, sink).run()


class Conversation:
    """One client on the other end of a pipe."""

    def __init__(self, registry: Registry, opened: Callable[[], Awaitable[Any]], source: FileIO, sink: FileIO) -> None:
        self._registry, self._opened, self._source, self._sink = registry, opened, source, sink
        self._negotiated = era.LATEST_LEGACY
        self._running: dict[Id, anyio.CancelScope | None] = {}
        self._writing = anyio.Lock()
        self._answered, self._early = anyio.Event(), anyio.CancelScope()
        self._listened_to = anyio.CancelScope()

    async def run(self) -> None:
        with self._listened_to:
            await self._converse()

    async def _converse(self) -> None:
        lines = Lines(BODY_BYTES)
        async with self._chunks() as chunks, anyio.create_task_group() as tasks:
            tasks.start_soon(self._open_early)
            async for chunk in chunks:
                for line in lines.feed(chunk):
                    await self._take(line, tasks)
            for line in lines.end():
                await self._take(line, tasks)
            if not self._answered.is_set():
                self._early.cancel()

    async def _open_early(self) -> None:
        """Open the data while the client reads the catalogue; what is wrong is told when it is needed."""
        with self._early:
            await self._answered.wait()
        if self._answered.is_set():
            with suppress(ArchivistError):
                await self._opened()

    def _chunks(self) -> MemoryObjectReceiveStream[bytes]:
        """What comes in. It is read on a daemon thread, which a signal can leave behind while it waits for input."""
        send, receive = anyio.create_memory_object_stream[bytes](0)
        loop = lowlevel.current_token()
        threading.Thread(target=_pump, args=(self._source, send, loop), daemon=True, name="stdin").start()
        return receive

    async def _take(self, line: bytes, tasks: TaskGroup) -> None:
        value: Any = None
        try:
            value = _decoded(line)
            if isinstance(value, list):
                self._require_batching(value)
                tasks.start_soon(self._batch, value)
            else:
                self._begin(*self._understood(value), tasks)
        except Rejection as rejection:
            await self._write(rpc.refusal(rpc.id_of(value), rejection))

    def _begin(self, message: Message, version: str, tasks: TaskGroup) -> None:
        if message.id is None:
            self._notified(message)
            return
        if message.method == "initialize" and version != era.MODERN:
            self._negotiated = era.negotiated(message)
        stoppable = self._registry.needs(message) in (None, Scope.READ)
        self._running[message.id] = anyio.CancelScope() if stoppable else None
        tasks.start_soon(self._request, message.id, message, version)

    def _require_batching(self, values: list[Any]) -> None:
        if not era.may_batch(self._negotiated):
            raise Rejection(rpc.INVALID_REQUEST, "arrays of messages exist in revision 2025-03-26 only")
        if not 1 <= len(values) <= BATCH:
            raise Rejection(rpc.INVALID_REQUEST, f"an array of messages must hold 1..{BATCH}")

    def _understood(self, value: Any) -> tuple[Message, str]:
        message = rpc.parse(value)
        if message.id is not None and message.id in self._running:
            raise Rejection(rpc.INVALID_REQUEST, "id: a request of this id is still under way")
        return message, era.over_stdio(message, self._negotiated)

    def _notified(self, message: Message) -> None:
        """Cancels a request that only reads. One that changes something is finished: half of it must not happen."""
        id = rpc.id_of({"id": (message.params or {}).get("requestId")})
        scope = self._running.get(id) if message.method == _CANCELLED and id is not None else None
        if scope is not None:
            scope.cancel()

    async def _request(self, id: Id, message: Message, version: str) -> None:
        scope = self._running[id] or anyio.CancelScope()
        answered = None
        with scope:
            answered = await self._answer(message, version)
        del self._running[id]
        if answered is not None:  # cancelled requests get no answer
            await self._write(answered)

    async def _answer(self, message: Message, version: str) -> dict[str, Any]:
        try:
            state = await self._opened() if self._registry.needs(message) is not None else None
        except ArchivistError as exc:
            return rpc.error(message.id, rpc.INTERNAL_ERROR, exc.detail)
        answer = await dispatch.answer(self._registry, state, message, version, self._write, reference="stdio")
        return answer.body

    async def _batch(self, values: list[Any]) -> None:
        answers = [answer for value in values if (answer := await self._member(value)) is not None]
        if answers:
            await self._write(answers)

    async def _member(self, value: Any) -> dict[str, Any] | None:
        try:
            message, version = self._understood(value)
            if message.method == "initialize" or version == era.MODERN:
                raise Rejection(rpc.INVALID_REQUEST, "this message must not stand in an array")
        except Rejection as rejection:
            return rpc.refusal(rpc.id_of(value), rejection)
        return None if message.id is None else await self._answer(message, version)

    async def _write(self, message: Any) -> None:
        line = _one_line(wire.write(message)) + b"\n"
        async with self._writing:
            try:
                await to_thread.run_sync(self._put, line)
            except BrokenPipeError:  # the client is gone, even if its other end is still open
                self._listened_to.cancel()
        self._answered.set()

    def _put(self, line: bytes) -> None:
        unsent = memoryview(line)
        while unsent:
            unsent = unsent[self._sink.write(unsent) or 0 :]


def _one_line(message: bytes) -> bytes:
    """`message` without the characters at which some readers of lines break them, though JSON lets them stand."""
    for raw, escaped in _BREAKS:
        message = message.replace(raw, escaped)
    return message


def _pump(source: FileIO, send: MemoryObjectSendStream[bytes], loop: lowlevel.EventLoopToken) -> None:
    with suppress(RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody listens any more
        while chunk := source.read(_CHUNK):
            from_thread.run(send.send, chunk, token=loop)
        from_thread.run(send.aclose, token=loop)


def _decoded(line: bytes) -> Any:
    if len(line) > BODY_BYTES:
        raise Rejection(rpc.PARSE_ERROR, f"a message must be at most {BODY_BYTES} bytes")
    try:
        return wire.read(line)
    except wire.Malformed as exc:
        raise Rejection(rpc.PARSE_ERROR, str(exc)) from None
