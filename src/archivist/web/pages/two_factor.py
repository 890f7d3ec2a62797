"""`/app/two-factor` and `/app/recovery-codes`: a code from the phone beside the password, and what stands in for it."""

import io
from collections.abc import Mapping, Sequence

import segno
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from archivist.domain.errors import InvalidArgument, NotFound
from archivist.services.factors import Offer
from archivist.web import browser, words
from archivist.web.frame import Frame, Visit
from archivist.web.pages.account import ACCOUNT

TWO_FACTOR, RECOVERY_CODES = "/app/two-factor", "/app/recovery-codes"


def two_factor_routes(frame: Frame) -> list[Route]:
    """Setting it up, turning it off, and new recovery codes. Each leaves the browser with a new session."""
    return [
        frame.route(TWO_FACTOR, _two_factor, ("GET", "POST"), proof="set up the second step", back=ACCOUNT),
        frame.act(f"{TWO_FACTOR}/off", _off, ACCOUNT, proof="turn the second step off"),
        frame.act(RECOVERY_CODES, _new_codes, ACCOUNT, proof="make new recovery codes"),
    ]


async def _two_factor(visit: Visit) -> Response:
    if visit.user.factor:
        return RedirectResponse(ACCOUNT, 303)
    if visit.request.method != "POST":
        return await _offered(visit)
    return await _accepted(visit, visit.form.one("offer"), visit.form.one("code"))


async def _accepted(visit: Visit, sealed: str, code: str) -> Response:
    factors = visit.app.factors
    try:
        offer = await factors.offered(visit.who, visit.user.name, sealed)
        codes = await factors.accept(visit.who, sealed, code, keep=visit.session.id)
    except InvalidArgument:
        return _shown(visit, offer, 400, {"code": words.MISTAKES["code"]})
    except NotFound:
        return await _offered(visit, 400, {"form": words.MISTAKES["stale"]})
    return await _codes(visit, codes)


async def _off(visit: Visit) -> Response:
    await visit.app.factors.remove(visit.who, keep=visit.session.id)
    entered = await visit.app.sign_in.renew(visit.who, visit.session)
    return browser.enter(RedirectResponse(ACCOUNT, 303), entered)


async def _new_codes(visit: Visit) -> Response:
    return await _codes(visit, await visit.app.factors.renew_codes(visit.who))


async def _codes(visit: Visit, codes: Sequence[str]) -> Response:
    entered = await visit.app.sign_in.renew(visit.who, visit.session)
    renewed = await visit.renewed(entered)
    return browser.enter(renewed.page("app/recovery-codes", codes=codes, next=ACCOUNT), entered)


async def _offered(visit: Visit, status: int = 200, errors: Mapping[str, str] | None = None) -> Response:
    return _shown(visit, await visit.app.factors.offer(visit.who, visit.user.name), status, errors or {})


def _shown(visit: Visit, offer: Offer, status: int, errors: Mapping[str, str]) -> Response:
    return visit.page(
        "app/two-factor",
        status,
        qr=_qr(offer.uri),
        secret=offer.secret,
        account=visit.user.name,
        values={"offer": offer.sealed},
        errors=errors,
    )


def _qr(text: str) -> Markup:
    """The code as an `<svg>` that brings no style of its own, which the page would not allow."""
    drawn = io.BytesIO()
    segno.make(text, micro=False).save(drawn, kind="svg", xmldecl=False, svgns=True, omitsize=True, border=0)
    return Markup(drawn.getvalue().decode())  # noqa: S704 — made here, of lines and numbers
