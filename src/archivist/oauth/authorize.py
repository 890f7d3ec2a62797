"""The authorization endpoint (RFC 6749 §3.1, §4.1; RFC 7636; RFC 8707; RFC 9207): a person decides about an app.

A GET changes nothing but leaves a question behind; the decision is a posted form of the same browser.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from archivist.app import App
from archivist.domain.access import Principal, Scope
from archivist.domain.authorizations import Parameters, addressed
from archivist.domain.clients import Client
from archivist.domain.documents import host_of, is_document_address
from archivist.domain.errors import ArchivistError, InvalidArgument, NotFound
from archivist.domain.ids import VaultId
from archivist.domain.redirects import target, with_parameters
from archivist.domain.rejections import Code, Rejected, Unanswerable
from archivist.http import forms
from archivist.http.forms import Form, Malformed
from archivist.http.site import Site
from archivist.oauth import consent
from archivist.services.authorizations import Decided, Pending, require_own
from archivist.settings import Settings
from archivist.web import browser
from archivist.web.browser import Browser
from archivist.web.door import door
from archivist.web.rendering import page

_UNKEPT = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
_SAID: Mapping[Code, str] = {"invalid_scope": "scope", "invalid_target": "resource"}
"""What a page calls an error that it tells the person instead of the app."""


@dataclass(frozen=True, slots=True)
class Authorize:
    """The endpoint over its services."""

    app: App
    site: Site
    settings: Settings

    async def __call__(self, request: Request) -> Response:
        """Answers one request with a page, or sends the browser to the app. Nothing of it is kept anywhere."""
        answer = await self._answered(request)
        for name, value in _UNKEPT.items():
            answer.headers.setdefault(name, value)
        return answer

    async def _answered(self, request: Request) -> Response:
        at = await browser.browser(self.app, self.site, request)
        try:
            query = request.scope["query_string"].decode("latin-1")
            parameters = forms.fields_of(query, errors="surrogateescape")  # `state` may be any bytes
            if not at.signed or at.who is None:
                waiting = await self._waiting(parameters)
                return await door(self.app, self.site, self.settings, request, at, waiting=waiting)
            if request.method == "POST":
                return await self._decided(request, at, at.who)
            return await self._asked(at, at.who, parameters)
        except Malformed:
            return _unanswerable("request")
        except Unanswerable as error:
            return _unanswerable(error.reason)
        except browser.Forged:
            return page("error", 403, me=None, reason="stale", retry_after=None)

    async def _waiting(self, parameters: Parameters) -> str | None:
        """The name of the app, before anybody is signed in: what is known to be wrong by now is told at once."""
        to, policy = addressed(parameters), self.app.clients.policy
        client = await self.app.clients.known(to.client_id)
        if client is not None and client.blocked is not None:
            raise Unanswerable("client_blocked", "this app is blocked here by an administrator")
        if is_document_address(to.client_id):  # its document says where it returns to, and is fetched later
            if not policy.documents or not policy.admits_host(host_of(to.client_id)):
                raise Unanswerable("document_refused", "apps of this address may not be connected here")
            return client.name if client else None
        if client is None:
            raise Unanswerable("unknown_client", "this app is not registered here (any more)")
        require_own(client, to.redirect_uri, policy.schemes)
        return client.name or None

    async def _asked(self, at: Browser, who: Principal, parameters: Parameters) -> Response:
        try:
            pending = await self.app.authorizations.begin(who, parameters)
        except Rejected as error:
            client, to, _dated = await self.app.authorizations.addressee(who, parameters)
            if not _is_safe(client, to.redirect_uri):
                return _unanswerable(_SAID.get(error.error, "request"))
            told = {"error": error.error, "error_description": error.detail}
            return self._sent(to.redirect_uri, to.state, told)
        return await self._page(at, who, pending)

    async def _decided(self, request: Request, at: Browser, who: Principal) -> Response:
        form = await browser.posted(at, self.site, request)
        secret, decision = form.one("transaction"), form.one("decision")
        try:
            if decision == "allow":
                return self._returned(await self._allowed(who, secret, form))
            if decision == "another-account" and at.session is not None:
                await self.app.sign_in.sign_out(who, at.session)
                return browser.leave(RedirectResponse(_same(request), 303))
            return self._returned(await self.app.authorizations.deny(who, secret))
        except InvalidArgument as error:
            pending = await self.app.authorizations.again(who, secret)
            return await self._page(at, who, pending, error=error, form=form)
        except NotFound:
            return _unanswerable("transaction")
        except ArchivistError as error:
            return page("error", error.status, me=None, reason=None, retry_after=None)

    async def _allowed(self, who: Principal, secret: str, form: Form) -> Decided:
        scopes = frozenset(scope for scope in Scope if scope.value in form.all("scope"))
        vault = form.one("vault")
        if vault == "new":
            await self.app.authorizations.require_ready(who, secret, scopes)
            try:
                made = await self.app.vaults.create(who, form.one("new_vault"), "project")
            except ArchivistError as error:
                raise InvalidArgument("new_vault", error.detail.removeprefix("name: ")) from None
            vault = made.id
        return await self.app.authorizations.allow(who, secret, VaultId(vault), scopes)

    async def _page(
        self,
        at: Browser,
        who: Principal,
        pending: Pending,
        *,
        error: InvalidArgument | None = None,
        form: Form | None = None,
    ) -> Response:
        context = await consent.context(self.app, who, pending, form)
        errors = {} if error is None else {error.field: consent.mistake(error, form)}
        name = at.user.name if at.user else ""
        return page("consent", 400 if error else 200, csrf=at.csrf, me={"name": name}, errors=errors, **context)

    def _returned(self, decided: Decided) -> Response:
        request, client = decided.request, decided.client
        if "error" in decided.parameters and not _is_safe(client, request.redirect_uri):
            shown = consent.client_of(client, request)
            address = with_parameters(request.redirect_uri, self._answer(decided.parameters, request.state))
            return page("denied", client=shown, address=address)
        return self._sent(request.redirect_uri, request.state, decided.parameters)

    def _sent(self, redirect_uri: str, state: str, parameters: Mapping[str, str]) -> Response:
        address = with_parameters(redirect_uri, self._answer(parameters, state))
        response = Response(status_code=303)
        response.headers["location"] = address  # as it is: what the app registered is not to be spelled anew
        return response

    def _answer(self, parameters: Mapping[str, str], state: str) -> dict[str, str]:
        return {**parameters, **({"state": state} if state else {}), "iss": self.site.issuer}


def _is_safe(client: Client, redirect_uri: str) -> bool:
    """Whether an error may be sent there by itself: to a program on this computer, or to an app that we know."""
    return client.kind == "confidential" or target(redirect_uri).kind == "loopback"


def _same(request: Request) -> str:
    return f"{request.scope['path']}?{request.scope['query_string'].decode('latin-1')}"


def _unanswerable(reason: str) -> Response:
    return page("authorization-error", 400, reason=reason)
