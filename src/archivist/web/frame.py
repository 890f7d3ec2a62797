"""What every page of a signed-in person shares: who they are, the token of their forms, and the proof that is fresh."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from archivist.app import App
from archivist.domain.access import Principal
from archivist.domain.errors import ArchivistError, RateLimited, Unauthenticated
from archivist.domain.sessions import Session, is_fresh
from archivist.domain.users import User
from archivist.http.forms import Form, Malformed
from archivist.http.site import Site
from archivist.services.sign_in import Entered
from archivist.settings import Settings
from archivist.web import browser
from archivist.web.browser import Browser
from archivist.web.door import door, here, sentence
from archivist.web.rendering import page

HOME = "/app/connections"
"""Where somebody lands who has just signed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One request of a signed-in person. `form` is empty for a GET."""

    app: App
    site: Site
    settings: Settings
    request: Request
    at: Browser
    who: Principal
    user: User
    session: Session
    form: Form

    def page(self, name: str, status: int = 200, **context: Any) -> Response:
        """A page of theirs."""
        me = {"name": self.user.name, "administrator": self.user.administrator}
        return page(name, status, csrf=self.at.csrf, now=self.app.connections.now(), me=me, **context)

    def path(self, name: str) -> str:
        """A part of the address, such as an id."""
        return str(self.request.path_params[name])

    async def renewed(self, entered: Entered) -> "Visit":
        """The same request in the session that took the place of the old one."""
        session, who, user = await self.app.sign_in.session(entered.secret)
        at = replace(self.at, secret=entered.secret, session=session, who=who, user=user)
        return replace(self, at=at, who=who, user=user, session=session)


Handler = Callable[[Visit], Awaitable[Response]]
Welcome = Callable[[Request, Browser], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Frame:
    """Makes routes out of handlers."""

    app: App
    site: Site
    settings: Settings

    def route(
        self,
        path: str,
        handler: Handler,
        methods: Sequence[str] = ("GET",),
        *,
        proof: str | None = None,
        back: str = HOME,
    ) -> Route:
        """A page, or what a form of one posts to.

        proof: what waits, in words (`make this key`), if a post must come from somebody who has just shown who they
        are; else they are asked for their password first, and what they posted is carried on.
        back: where they go who would rather not.
        """

        async def answer(request: Request, at: Browser) -> Response:
            if not at.signed:
                return await door(self.app, self.site, self.settings, request, at)
            return await self._answered(request, at, handler, proof, back)

        return self.open(path, answer, methods)

    def act(self, path: str, handler: Handler, back: str, *, proof: str | None = None) -> Route:
        """What a form of the page at `back` posts to. Whoever only looks at its address is led to that page."""

        async def answer(visit: Visit) -> Response:
            if visit.request.method != "POST":
                return RedirectResponse(back, 303)
            return await handler(visit)

        return self.route(path, answer, ("GET", "POST"), proof=proof, back=back)

    def open(self, path: str, welcome: Welcome, methods: Sequence[str] = ("GET",)) -> Route:
        """A page for whoever comes, signed in or not; what is posted there it reads itself."""

        async def endpoint(request: Request) -> Response:
            at = await browser.browser(self.app, self.site, request)
            try:
                return await welcome(request, at)
            except browser.Forged:
                return self.error(at, 403, reason="stale")
            except Malformed as error:
                return self.error(at, error.status)
            except RateLimited as error:
                return self.error(at, 429, retry_after=error.retry_after)
            except ArchivistError as error:
                return self.error(at, error.status)

        return Route(path, endpoint, methods=list(methods))

    async def _answered(
        self, request: Request, at: Browser, handler: Handler, proof: str | None, back: str
    ) -> Response:
        form = await browser.posted(at, self.site, request) if request.method == "POST" else Form({})
        visit = self.visit(request, at, form)
        if request.method != "POST" or proof is None or is_fresh(visit.session, self.app.connections.now()):
            return await handler(visit)
        if not form.one("password"):
            return self._asked(visit, proof, back)
        try:
            entered = await self.app.sign_in.confirm(
                visit.who, visit.session, at.visitor, form.one("password"), form.one("code")
            )
        except (Unauthenticated, RateLimited) as error:
            return self._asked(visit, proof, back, error)
        renewed = await replace(visit, form=_carried(visit)).renewed(entered)
        try:
            done = await handler(renewed)
        except (ArchivistError, Malformed) as error:  # the old session is over: the new one must reach the browser
            done = self.error(renewed.at, error.status)
        return browser.enter(done, entered)

    def visit(self, request: Request, at: Browser, form: Form) -> Visit:
        """A request of somebody who is signed in.

        Raises:
            Unauthenticated: nobody is.
        """
        if not at.signed or at.who is None or at.user is None or at.session is None:
            raise Unauthenticated("sign in first")
        return Visit(
            app=self.app,
            site=self.site,
            settings=self.settings,
            request=request,
            at=at,
            who=at.who,
            user=at.user,
            session=at.session,
            form=form,
        )

    def _asked(self, visit: Visit, proof: str, back: str, error: ArchivistError | None = None) -> Response:
        """The page that asks for the password once more."""
        carried = [(name, value) for name, values in _carried(visit).fields.items() for value in values]
        return visit.page(
            "fresh",
            403 if error is None else error.status,
            action=here(visit.request),
            act=proof,
            carried=carried,
            needs_code=bool(visit.user.factor),
            cancel=back,
            errors={"password": sentence(error)} if error else {},
        )

    def error(self, at: Browser, status: int, *, reason: str | None = None, retry_after: int | None = None) -> Response:
        """The page that says what cannot be; `reason` is a key of the list of reasons."""
        headers = {"retry-after": str(retry_after)} if retry_after else {}
        if not at.signed or at.user is None:
            return page("error", status, headers=headers, me=None, reason=reason, retry_after=retry_after)
        me = {"name": at.user.name, "administrator": at.user.administrator}
        shared: dict[str, Any] = {"csrf": at.csrf, "now": self.app.connections.now()}
        return page("error", status, headers=headers, me=me, reason=reason, retry_after=retry_after, **shared)


def _carried(visit: Visit) -> Form:
    """What was posted, without the proof that comes with it: a code is part of that only if they have a factor."""
    proof = {"csrf", "password", "code"} if visit.user.factor else {"csrf", "password"}
    return Form({name: values for name, values in visit.form.fields.items() if name not in proof})
