"""`/v1/keys`: a product's backend mints a key, and with it a vault, for each of its users, by an account key."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from archivist.app import App
from archivist.domain.access import Principal, Scope, ordered, parse_scopes
from archivist.domain.errors import InvalidArgument, NotFound, Unauthenticated
from archivist.domain.ids import VaultId, is_uuid
from archivist.domain.keys import Key
from archivist.domain.limits import FORM_BYTES
from archivist.domain.times import iso, iso_or_none
from archivist.domain.toolsets import TOOLSETS
from archivist.http import bodies, wire
from archivist.http.headers import Headers, Repeated
from archivist.http.site import Site
from archivist.rest.calling import HEADERS, Calls, Refusal, answered
from archivist.services.keys import READ_WRITE, Listed

PATH = "/v1/keys"
MODES: Mapping[str, frozenset[Scope]] = {
    "on": READ_WRITE,
    "read": frozenset({Scope.READ}),
    "write": frozenset({Scope.WRITE}),
}
"""What a key may do, in a word; `scopes` says the same in full."""

_FIELDS = ("name", "vault_ref", "mode", "scopes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The key that is asked for; None where nothing was said."""

    name: str | None
    vault: VaultId | None
    scopes: frozenset[Scope] | None


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

    @property
    def _calls(self) -> Calls:
        needs = "this needs an account key, as `Authorization: Bearer` and the key"
        return Calls(app=self.app, site=self.site, path=PATH, needs=needs, recognise=self._recognised)

    async def all(self, request: Request) -> Response:
        return await (self.mint(request) if request.method == "POST" else self.minted(request))

    async def mint(self, request: Request) -> Response:
        async def work(who: Principal) -> Response:
            wanted = _wanted(await _body(request))
            key, made = await self.app.keys.mint(who, name=wanted.name, vault=wanted.vault, scopes=wanted.scopes)
            return answered(201, {"key": made, **_view(key)})

        return await self._calls.answered(request, "keys mint", work)

    async def minted(self, request: Request) -> Response:
        async def work(who: Principal) -> Response:
            return answered(200, {"keys": [_listed(one) for one in await self.app.keys.minted(who)]})

        return await self._calls.answered(request, "keys minted", work)

    async def unmint(self, request: Request) -> Response:
        async def work(who: Principal) -> Response:
            await self.app.keys.unmint(who, request.path_params["id"])
            return Response(status_code=204, headers=HEADERS)

        return await self._calls.answered(request, "keys unmint", work)

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
