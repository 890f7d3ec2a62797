"""The HTTP entry of `/mcp`: everything that stands between the socket and the registry, in a fixed order.

Origin and CORS, body limit, credential, method, form, JSON, revision, mirrored headers, scope of what is named; only
then is anything carried out. It keeps nothing between requests and issues no session id.
"""

import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette import types as asgi

from archivist.domain.access import Principal, Scope
from archivist.domain.errors import ArchivistError, Unauthenticated
from archivist.domain.ids import CONTROL, UserId
from archivist.domain.limits import BODY_BYTES
from archivist.domain.times import utc_now
from archivist.http import bodies, challenges, cors, wire
from archivist.http.headers import Headers, Repeated
from archivist.http.site import Site
from archivist.mcp import accepts, dispatch, era, rpc, step_up
from archivist.mcp.hangup import unless_gone
from archivist.mcp.registry import Registry
from archivist.mcp.replies import Channel, Reply
from archivist.mcp.rpc import Message, Rejection
from archivist.mcp.step_up import StepUp
from archivist.telemetry.logging import logger, unexpected

METHODS = "POST, OPTIONS"
NOBODY = Principal(UserId(""), CONTROL, frozenset(), "key", "")
"""Whoever came with a credential that is not valid."""

_log = logger("archivist.access")
_NO_STORE = (b"cache-control", b"no-store")


@dataclass(frozen=True, slots=True)
class Access:
    """What is told about a request once it is answered: never what it carried.

    rpc: the JSON-RPC method if it is one that the registry serves; target: the tool or resource, if there is such.
    """

    reference: str
    method: str
    status: int
    rpc: str
    target: str
    credential: str
    milliseconds: float


class Refusal(Exception):
    """Ends a request with a plain HTTP error."""

    def __init__(self, status: int, text: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
        super().__init__(text)
        self.reply = Reply(status, rpc.error(None, status, text), headers or [])


@dataclass(frozen=True, slots=True)
class Entry:
    """An ASGI application for one path.

    authenticate: the principal of a credential, or Unauthenticated.
    state: what handlers get as their lifespan context, for a principal.
    path: where this is served. note: told of each use of a credential, and of each refusal.
    """

    registry: Registry
    site: Site
    authenticate: Callable[[str], Awaitable[Principal]]
    state: Callable[[Principal], Any]
    log: Callable[[Access], None] | None = None
    path: str = "/mcp"
    step_up: StepUp = field(default_factory=lambda: StepUp("auto", utc_now))
    note: Callable[[Principal, str, str], None] = lambda _who, _operation, _outcome: None

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        """Answers one request; raises nothing."""
        exchange = Exchange(self, scope, receive, send)
        await exchange.run()
        (self.log or log_line)(exchange.access())


class Exchange:
    """One HTTP request on its way through the entry."""

    def __init__(self, entry: Entry, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        self.entry, self.receive, self.method = entry, receive, scope["method"]
        self.headers = Headers(scope["headers"])
        self.reference = secrets.token_hex(8)
        self.started = time.perf_counter()
        self.rpc = self.target = self.credential = ""
        fixed = [cors.VARY, _NO_STORE, (b"x-request-id", self.reference.encode())]
        self.channel = Channel(send, fixed, without_body=self.method == "HEAD")

    async def run(self) -> None:
        try:
            reply = await self._reply()
        except Refusal as refusal:
            reply = refusal.reply
        except Repeated as exc:
            reply = Refusal(400, str(exc)).reply
        except bodies.Gone:
            return
        except Exception as exc:
            unexpected(exc, self.reference)
            reply = Refusal(500, f"internal error; the server's log has it as {self.reference}").reply
        if reply is not None:
            await self.channel.finish(reply)

    def access(self) -> Access:
        """What the log is told."""
        spent = (time.perf_counter() - self.started) * 1000
        names = (self.rpc, self.target, self.credential)
        return Access(self.reference, self.method, self.channel.status, *names, spent)

    async def _reply(self) -> Reply | None:
        preflight = self._check_origin()
        if preflight is not None:
            return preflight
        try:
            body = await bodies.read(self.receive, self.headers.get(b"content-length"), BODY_BYTES)
        except bodies.TooLarge as exc:
            raise Refusal(413, str(exc), [(b"connection", b"close")]) from None
        who = await self._authenticated()
        self._check_form()
        return await self._carry_out(body, who)

    def _check_origin(self) -> Reply | None:
        """Refuses foreign pages, prepares CORS for listed ones; the reply is the one to an OPTIONS request."""
        origin = self.headers.get(b"origin")
        if origin is not None:
            if not self.entry.site.admits(origin, self.headers.get(b"host") or ""):
                raise Refusal(403, "pages of this origin may not call this server; its owner can list the origin")
            self.channel.add(cors.readable_by(origin))
        if self.method == "OPTIONS":
            return Reply(204, None, [(b"allow", METHODS.encode()), *(cors.preflight(METHODS) if origin else [])])
        return None

    async def _authenticated(self) -> Principal:
        url = self._metadata_url()
        try:
            credential = challenges.presented(self.headers)
        except (challenges.Ambiguous, Repeated) as exc:
            raise Refusal(400, str(exc), _challenge(challenges.ambiguous(url))) from None
        try:
            if not credential:
                raise Unauthenticated("this server needs a key, or that you sign in")
            who = await self.entry.authenticate(credential)
        except Unauthenticated as exc:
            challenge = challenges.unauthenticated(url, sent=credential is not None)
            if credential is not None:
                self.entry.note(NOBODY, self.entry.path, exc.code)
            raise Refusal(401, exc.detail, _challenge(challenge)) from None
        except ArchivistError as exc:
            raise Refusal(exc.status, exc.detail) from None
        self.credential = who.credential_id
        return who

    def _check_form(self) -> None:
        if self.method != "POST":
            raise Refusal(405, "only POST is served here", [(b"allow", METHODS.encode())])
        if not bodies.is_json(self.headers.get(b"content-type")):
            raise Refusal(415, "Content-Type must be application/json")
        json, events = accepts.forms(self.headers.get(b"accept"))
        if not json and not events:
            raise Refusal(406, "Accept must allow application/json or text/event-stream")
        self.channel.accepts_events, self.channel.events_only = events, not json

    async def _carry_out(self, body: bytes, who: Principal) -> Reply | None:
        value: Any = None
        try:
            value = _decoded(body)
            if isinstance(value, list):
                return await self._batch(value, who)
            message = rpc.parse(value)
            version = era.over_http(message, self.headers)
            self._check_scopes([message], who)
            if message.id is None:
                return Reply(202)
            return await self._answered(message, version, who)
        except Rejection as rejection:
            return Reply(rejection.status, rpc.refusal(rpc.id_of(value), rejection))
        except Repeated as exc:
            return Reply(400, rpc.error(rpc.id_of(value), rpc.HEADER_MISMATCH, str(exc)))

    def _check_scopes(self, messages: list[Message], who: Principal) -> None:
        """Nothing of a request is carried out unless the caller holds what all of it needs."""
        needed = set()
        for message in messages:
            need = self.entry.registry.needs(message)
            if need is not None:
                needed.add(need)
                self.target = rpc.name_of(message)
            self.rpc = message.method if self.entry.registry.serves(message.method) else ""
        outcome = "done" if needed <= who.scopes else "insufficient_scope"
        if self.target or self.rpc:
            self.entry.note(who, self.target or self.rpc, outcome)
        if outcome != "done":
            raise self._insufficient(messages, who, frozenset(needed))

    def _insufficient(self, messages: list[Message], who: Principal, needed: frozenset[Scope]) -> Refusal:
        """The answer that asks for more rights, in the form that this caller understands."""
        one = messages[0] if len(messages) == 1 else None
        url, loops = self._metadata_url(), self.entry.step_up.loops(who, needed)
        text = challenges.missing(needed - who.scopes)
        if one is not None and self.entry.step_up.in_result(who, one):
            refusal = Refusal(200, text)
            body = rpc.result(one.id, step_up.result(url, who, needed, challenge=not loops))
        else:
            challenge = [] if loops else _challenge(challenges.insufficient(url, who.scopes, needed))
            refusal = Refusal(403, text, challenge)
            body = rpc.error(one.id if one else None, 403, text)
        refusal.reply.body.clear()
        refusal.reply.body.update(body)
        return refusal

    def _metadata_url(self) -> str:
        return f"{self.entry.site.address(self.headers.get(b'host') or '')}{challenges.metadata_path(self.entry.path)}"

    async def _answered(self, message: Message, version: str, who: Principal) -> Reply | None:
        """The reply to one request; None if the client hung up and what it asked for was only to be read."""
        work = self._answer(message, version, who)
        if version == era.MODERN and self.entry.registry.needs(message) == Scope.READ:
            found = await unless_gone(self.receive, work)
            return None if found is None else Reply(found.status, found.body)
        done = await work
        return Reply(done.status, done.body)

    def _answer(self, message: Message, version: str, who: Principal) -> Awaitable[dispatch.Answer]:
        state = self.entry.state(who)
        return dispatch.answer(
            self.entry.registry, state, message, version, self.channel.notify, reference=self.reference
        )

    async def _batch(self, values: list[Any], who: Principal) -> Reply:
        if not era.may_batch(self.headers.get(b"mcp-protocol-version")):
            raise Rejection(rpc.INVALID_REQUEST, "arrays of messages exist in revision 2025-03-26 only")
        if not 1 <= len(values) <= rpc.BATCH:
            raise Rejection(rpc.INVALID_REQUEST, f"an array of messages must hold 1..{rpc.BATCH}")
        read = [_member(value) for value in values]
        self._check_scopes([one for one in read if isinstance(one, Message)], who)
        answers = [await self._member_answer(one, value, who) for one, value in zip(read, values, strict=True)]
        bodies = [answer for answer in answers if answer is not None]
        return Reply(200, bodies) if bodies else Reply(202)

    async def _member_answer(self, read: Message | Rejection, value: Any, who: Principal) -> Any:
        if isinstance(read, Rejection):
            return rpc.refusal(rpc.id_of(value), read)
        if read.id is None:
            return None
        return (await self._answer(read, era.BATCHING, who)).body


def log_line(access: Access) -> None:
    """The default log: one line a request."""
    _log.info(
        "answered",
        reference=access.reference,
        method=access.method,
        status=access.status,
        rpc=access.rpc,
        target=access.target,
        credential=access.credential,
        milliseconds=round(access.milliseconds, 1),
    )


def _challenge(text: str) -> list[tuple[bytes, bytes]]:
    return [(b"www-authenticate", text.encode("latin-1"))]


def _decoded(body: bytes) -> Any:
    try:
        return wire.read(body)
    except wire.Malformed as exc:
        raise Rejection(rpc.PARSE_ERROR, str(exc)) from None


def _member(value: Any) -> Message | Rejection:
    """One element of a batch, or why it is none."""
    try:
        message = rpc.parse(value)
    except Rejection as rejection:
        return rejection
    if message.method == "initialize" or era.VERSION_KEY in message.meta:
        return Rejection(rpc.INVALID_REQUEST, "this message must not stand in an array")
    return message
