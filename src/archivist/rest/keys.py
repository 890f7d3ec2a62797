"""`/v1/keys`: a product's backend mints a key, and with it a vault, for each of its users, by an account key.

Only headers carry the credential: cookies are not looked at, and pages of other origins cannot read an answer.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from archivist.app import App
from archivist.domain.access import Principal, Scope, ordered, parse_scopes
from archivist.domain.errors import ArchivistError, InvalidArgument, NotFound, Unauthenticated
from archivist.domain.ids import CONTROL, UserId, VaultId, is_uuid
from archivist.domain.keys import Key
from archivist.domain.limits import FORM_BYTES
from archivist.domain.operations import permit
from archivist.domain.times import iso, iso_or_none
from archivist.domain.toolsets import PATHS, TOOLSETS
from archivist.http import bodies, challenges, wire
from archivist.http.headers import Headers, Repeated
from archivist.http.site import Site
from archivist.services.keys import READ_WRITE, Listed

PATH = "/v1/keys"
MODES: Mapping[str, frozenset[Scope]] = {
    "on": READ_WRITE,
    "read": frozenset({Scope.READ}),
    "write": frozenset({Scope.WRITE}),
}
"""What a key may do, in a word; `scopes` says the same in full."""

_FIELDS = ("name", "vault_ref", "mode", "scopes")
_NOBODY = Principal(UserId(""), CONTROL, frozenset(), "key", "")
"""Whoever came with a credential that is not valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The key that is asked for; None where nothing was said."""

    name: str | None
    vault: VaultId | None
    scopes: frozenset[Scope] | None


class Refusal(Exception):
    """Ends a request with an error that is none of the services'."""

    def __init__(self, status: int, text: str, challenge: str = "") -> None:
        super().__init__(text)
        self.status, self.challenge = status, challenge


def key_routes(app: App, site: Site) -> list[Route]:
    """The routes."""
    served = _Keys(app, site)
    return [
        Route(PATH, served.all, methods=["GET", "POST"]),
        Route(f"{PATH}/{{id}}", served.unmint, methods=["DELETE"]),
    ]


@dataclass(frozen=True, slots=True)
class _Keys:
    app: App
    site: Site

    async def all(self, request: Request) -> Response:
        return await (self.mint(request) if request.method == "POST" else self.minted(request))

    async def mint(self, request: Request) -> Response:
        async def work(who: Principal) -> Response:
            wanted = _wanted(await _body(request))
            key, made = await self.app.keys.mint(who, name=wanted.name, vault=wanted.vault, scopes=wanted.scopes)
            return _answer(201, {"key": made, **_view(key)})

        return await self._answered(request, "keys mint", work)

    async def minted(self, request: Request) -> Response:
        async def work(who: Principal) -> Response:
            return _answer(200, {"keys": [_listed(one) for one in await self.app.keys.minted(who)]})

        return await self._answered(request, "keys minted", work)

    async def unmint(self, request: Request) -> Response:
        async def work(who: Principal) -> Response:
            await self.app.keys.unmint(who, request.path_params["id"])
            return Response(status_code=204, headers=_HEADERS)

        return await self._answered(request, "keys unmint", work)

    async def _answered(
        self, request: Request, operation: str, work: Callable[[Principal], Awaitable[Response]]
    ) -> Response:
        """One request by an account key. Each use is counted, and so is each refusal."""
        try:
            who = await self._caller(request)
        except Refusal as refusal:
            return _refused(refusal.status, str(refusal), refusal.challenge)
        except ArchivistError as error:
            return _refused(error.status, error.detail)
        try:
            permit(who, operation)
            answer = await work(who)
        except ArchivistError as error:
            self.app.counting.note(who, operation, error.code)
            return _refused(error.status, error.detail)
        except Refusal as refusal:
            return _refused(refusal.status, str(refusal))
        self.app.counting.note(who, operation)
        return answer

    async def _caller(self, request: Request) -> Principal:
        """Whoever is behind the credential, of whatever kind it is: a valid one of another kind is told so."""
        url = f"{self.site.address(request.headers['host'])}{challenges.metadata_path(PATHS['vault'])}"
        try:
            credential = challenges.presented(Headers(request.scope["headers"]))
        except (challenges.Ambiguous, Repeated) as error:
            raise Refusal(400, str(error), challenges.ambiguous(url)) from None
        try:
            if not credential:
                raise Unauthenticated("this needs an account key, as `Authorization: Bearer` and the key")
            return await self._recognised(credential)
        except Unauthenticated as error:
            if credential is not None:
                self.app.counting.note(_NOBODY, PATH, error.code)
            challenge = challenges.unauthenticated(url, sent=credential is not None)
            raise Refusal(401, error.detail, challenge) from None

    async def _recognised(self, credential: str) -> Principal:
        try:
            return await self.app.entering.account(credential)
        except Unauthenticated as error:
            unknown = error
        for toolset in TOOLSETS:
            with suppress(Unauthenticated):
                return await self.app.entering.authenticate(credential, toolset)
        raise unknown


async def _body(request: Request) -> Any:
    headers = Headers(request.scope["headers"])
    try:
        said = bodies.is_json(headers.get(b"content-type"))
        body = await bodies.read(request.receive, headers.get(b"content-length"), FORM_BYTES)
    except Repeated as error:
        raise Refusal(400, str(error)) from None
    except bodies.TooLarge as error:
        raise Refusal(413, str(error)) from None
    except bodies.Gone:
        raise Refusal(400, "the request broke off") from None
    if not said:
        raise Refusal(415, "Content-Type must be application/json")
    try:
        return wire.read(body)
    except wire.Malformed as error:
        raise Refusal(400, str(error)) from None


def _wanted(value: Any) -> Wanted:
    """Raises InvalidArgument: a member is unknown or outside its range. NotFound: what is named is no vault."""
    if not isinstance(value, dict) or not value.keys() <= set(_FIELDS):
        raise InvalidArgument("body", f"must be an object with no other members than {', '.join(_FIELDS)}")
    for field in ("name", "vault_ref", "mode"):
        if not isinstance(value.get(field), str | None):
            raise InvalidArgument(field, "must be a string")
    vault = value.get("vault_ref")
    if vault is not None and not is_uuid(vault):
        raise NotFound("vault_ref: there is no such vault")
    return Wanted(name=value.get("name"), vault=None if vault is None else VaultId(vault), scopes=_scopes(value))


def _scopes(value: Mapping[str, Any]) -> frozenset[Scope] | None:
    mode, scopes = value.get("mode"), value.get("scopes")
    if mode is not None and scopes is not None:
        raise InvalidArgument("mode", "must not stand beside scopes, which says the same in full")
    if mode is not None:
        if mode not in MODES:
            raise InvalidArgument("mode", f"must be one of {', '.join(MODES)}")
        return MODES[mode]
    if scopes is None:
        return None
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise InvalidArgument("scopes", "must be an array of strings")
    return parse_scopes(",".join(scopes))


def _view(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "created_at": iso(key.created),
        "vault_ref": key.vault,
        "scopes": [scope.value for scope in ordered(key.scopes)],
    }


def _listed(one: Listed) -> dict[str, Any]:
    """Never the key itself, which is kept nowhere."""
    key = one.key
    return {
        **_view(key),
        "start": key.start,
        "expires_at": iso_or_none(key.expires),
        "revoked_at": iso_or_none(key.revoked),
        "last_used_at": iso(one.seen.last) if one.seen else None,
    }


_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def _answer(status: int, value: Mapping[str, Any]) -> Response:
    return JSONResponse(dict(value), status, _HEADERS)


def _refused(status: int, text: str, challenge: str = "") -> Response:
    more = {"WWW-Authenticate": challenge} if challenge else {}
    return JSONResponse({"error": {"code": status, "message": text}}, status, {**_HEADERS, **more})
