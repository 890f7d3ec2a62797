"""What every address below `/v1` does alike: finding out who calls, counting it, and how answers and errors look.

Only headers carry the credential: cookies are not looked at, and pages of other origins cannot read an answer.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from archivist.app import App
from archivist.domain.access import Principal
from archivist.domain.errors import ArchivistError, InsufficientScope, Unauthenticated
from archivist.domain.ids import CONTROL, UserId
from archivist.domain.operations import SCOPES, permit
from archivist.domain.toolsets import PATHS
from archivist.http import challenges
from archivist.http.headers import Headers, Repeated
from archivist.http.site import Site

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

_NOBODY = Principal(UserId(""), CONTROL, frozenset(), "key", "")
"""Whoever came with a credential that is not valid."""


class Refusal(Exception):
    """Ends a request with an error that is none of the services'."""

    def __init__(self, status: int, text: str, challenge: str = "") -> None:
        super().__init__(text)
        self.status, self.challenge = status, challenge


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The requests to one family of addresses.

    path: what refusals of unknown callers are counted under. needs: what is told who brings no credential.
    recognise: the caller behind one; raises Unauthenticated.
    """

    app: App
    site: Site
    path: str
    needs: str
    recognise: Callable[[str], Awaitable[Principal]]

    async def answered(
        self, request: Request, operation: str, work: Callable[[Principal], Awaitable[Response]]
    ) -> Response:
        """One request. Each use is counted, and so is each refusal."""
        try:
            who = await self._caller(request)
        except Refusal as refusal:
            return refused(refusal.status, str(refusal), refusal.challenge)
        except ArchivistError as error:
            return refused(error.status, error.detail)
        try:
            permit(who, operation)
            answer = await work(who)
        except ArchivistError as error:
            self.app.counting.note(who, operation, error.code)
            return refused(error.status, error.detail, self._step_up(request, who, operation, error))
        except Refusal as refusal:
            return refused(refusal.status, str(refusal))
        self.app.counting.note(who, operation)
        return answer

    async def _caller(self, request: Request) -> Principal:
        """Whoever is behind the credential, of whatever kind it is: a valid one of another kind is told so."""
        url = self._metadata_url(request)
        try:
            credential = challenges.presented(Headers(request.scope["headers"]))
        except (challenges.Ambiguous, Repeated) as error:
            raise Refusal(400, str(error), challenges.ambiguous(url)) from None
        try:
            if not credential:
                raise Unauthenticated(self.needs)
            return await self.recognise(credential)
        except Unauthenticated as error:
            if credential is not None:
                self.app.counting.note(_NOBODY, self.path, error.code)
            challenge = challenges.unauthenticated(url, sent=credential is not None)
            raise Refusal(401, error.detail, challenge) from None

    def _step_up(self, request: Request, who: Principal, operation: str, error: ArchivistError) -> str:
        """What asks for the scope that is missing; nothing where no scope would help."""
        if not isinstance(error, InsufficientScope) or operation not in SCOPES:
            return ""
        return challenges.insufficient(self._metadata_url(request), who.scopes, [SCOPES[operation]])

    def _metadata_url(self, request: Request) -> str:
        return f"{self.site.address(request.headers['host'])}{challenges.metadata_path(PATHS['vault'])}"


def answered(status: int, value: Mapping[str, Any]) -> Response:
    """A JSON object that no cache keeps."""
    return JSONResponse(dict(value), status, HEADERS)


def refused(status: int, text: str, challenge: str = "") -> Response:
    """An error in the form of every address here."""
    more = {"WWW-Authenticate": challenge} if challenge else {}
    return JSONResponse({"error": {"code": status, "message": text}}, status, {**HEADERS, **more})
