"""From one message to its answer, through the SDK's registry: the same for HTTP and stdio, for both eras."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext
from pydantic import ValidationError

from archivist.mcp.era import MODERN
from archivist.mcp.registry import Registry
from archivist.mcp.rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    Id,
    Message,
    error,
    result,
)
from archivist.telemetry.logging import unexpected

Emit = Callable[[dict[str, Any]], Awaitable[None]]
"""Sends one notification to the client on the way to the answer."""

_MEMBERS = frozenset({"name", "arguments", "uri", "cursor", "_meta", "protocolVersion", "capabilities", "clientInfo"})
_STATUS = {INVALID_PARAMS: 400, INVALID_REQUEST: 400, METHOD_NOT_FOUND: 404, -32021: 400}


@dataclass(slots=True)
class Exchange:
    """What the SDK calls a dispatch context: one request, and the way back for its notifications.

    Nothing can be asked of the client: that needs a back channel, which a stateless server has not.
    """

    request_id: Id | None
    emit: Emit
    progress_token: str | int | None
    transport: TransportContext
    message_metadata: MessageMetadata = None
    can_send_request: bool = False

    @property
    def cancel_requested(self) -> anyio.Event:
        """Never set: whoever stops a request cancels the task that carries it out."""
        return anyio.Event()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,  # noqa: ARG002 - the SDK's protocol fixes the signature
        opts: CallOptions | None = None,  # noqa: ARG002 - the same
    ) -> dict[str, Any]:
        """Raises NoBackChannelError, always."""
        raise NoBackChannelError(method)

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,  # noqa: ARG002 - the SDK's protocol fixes the signature
    ) -> None:
        """Send a notification that belongs to this request."""
        message = {"jsonrpc": "2.0", "method": method}
        await self.emit(message if params is None else {**message, "params": dict(params)})

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the client asked for it by a token."""
        if self.progress_token is not None:
            given = {"progressToken": self.progress_token, "progress": progress, "total": total, "message": message}
            present = {name: value for name, value in given.items() if value is not None}
            await self.notify("notifications/progress", present)


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON-RPC answer, and the status that HTTP gives it."""

    body: dict[str, Any]
    status: int = 200


async def answer(
    registry: Registry, state: Any, message: Message, version: str, emit: Emit, *, reference: str
) -> Answer:
    """The answer to a request. `state` reaches the handlers as their lifespan context.

    reference: what the log knows this request by.

    Raises nothing: what a handler did not mean to raise is logged, without its text, and answered as an internal
    error.
    """
    exchange = Exchange(message.id, emit, _token(message.meta.get("progressToken")), _TRANSPORT)
    connection = Connection(exchange, protocol_version=version)  # who the client says it is decides nothing here
    connection.initialized.set()
    try:
        runner = ServerRunner(registry.server, connection, state)
        value = await runner.on_request(exchange, message.method, message.params)
    except MCPError as exc:
        return _error(message, version, exc.error.code, exc.error.message, exc.error.data)
    except ValidationError as exc:
        return _error(message, version, INVALID_PARAMS, f"{_place(exc)}: not what {message.method} takes")
    except Exception as exc:
        unexpected(exc, reference)
        return _error(message, version, INTERNAL_ERROR, f"internal error; the server's log has it as {reference}")
    return Answer(result(message.id, value))


def _error(message: Message, version: str, code: int, text: str, data: Any = None) -> Answer:
    modern = version == MODERN
    if not modern and message.method == "resources/read" and isinstance(data, dict) and "uri" in data:
        code = RESOURCE_NOT_FOUND
    if code == METHOD_NOT_FOUND or data == "":
        data = None
    return Answer(error(message.id, code, text, data), _STATUS.get(code, 200) if modern else 200)


def _place(invalid: ValidationError) -> str:
    """`params.arguments`: the member of the parameters that is wrong or missing. What is inside it goes unnamed."""
    place = invalid.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
    return next((f"params.{part}" for part in place if part in _MEMBERS), "params")


def _token(value: Any) -> str | int | None:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


_TRANSPORT = TransportContext(kind="archivist", can_send_request=False)
