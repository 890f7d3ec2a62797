"""JSON-RPC 2.0 as MCP uses it: what a message is, and how a refusal is spelled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from archivist.http.wire import lone_surrogate

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
"""Only in the revisions before 2026-07-28."""
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

BATCH = 50
"""Messages in one array at most."""

Id = str | int


class Rejection(Exception):
    """A message that is not carried out. `status` is what HTTP answers; `data` goes into the error object."""

    def __init__(self, code: int, message: str, *, data: Any = None, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.data, self.status = code, message, data, status


@dataclass(frozen=True, slots=True)
class Message:
    """One request, or a notification if `id` is None."""

    id: Id | None
    method: str
    params: dict[str, Any] | None

    @property
    def meta(self) -> Mapping[str, Any]:
        """`params._meta`; empty if there is none or it is not an object."""
        meta = self.params.get("_meta") if self.params else None
        return meta if isinstance(meta, dict) else {}


def id_of(value: Any) -> Id | None:
    """The id that an error about `value` can carry: its own if it has a valid one."""
    id = value.get("id") if isinstance(value, dict) else None
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def name_of(message: Message) -> str:
    """The tool, prompt or resource that a request names; empty if it names none."""
    params = message.params or {}
    name = params.get("uri" if message.method == "resources/read" else "name")
    return name if isinstance(name, str) else ""


def parse(value: Any) -> Message:
    """The message that a decoded JSON value is.

    Raises:
        Rejection: not one request or notification. Answers are refused too: this server asks nothing.
    """
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0" or not isinstance(value.get("method"), str):
        raise Rejection(INVALID_REQUEST, "the body must be one JSON-RPC 2.0 request or notification")
    id, params = id_of(value), value.get("params")
    if "id" in value and id is None:
        raise Rejection(INVALID_REQUEST, "id: must be a string or an integer")
    if params is not None and not isinstance(params, dict):
        raise Rejection(INVALID_PARAMS, "params: must be an object")
    if lone_surrogate([id, value["method"]]):  # an argument that is broken so is named by its tool
        raise Rejection(INVALID_REQUEST, "id and method: must be valid Unicode")
    return Message(id, value["method"], params)


def result(id: Id | None, value: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to request `id`."""
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(id: Id | None, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """The error for request `id`; without an id if the request could not be read."""
    body: dict[str, Any] = {"jsonrpc": "2.0"}
    if id is not None:
        body["id"] = id
    body["error"] = {"code": code, "message": message} if data is None else {
        "code": code, "message": message, "data": data
    }  # fmt: skip
    return body


def refusal(id: Id | None, rejection: Rejection) -> dict[str, Any]:
    """The error body of a rejection."""
    return error(id, rejection.code, rejection.message, rejection.data)
