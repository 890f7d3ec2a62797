"""`/app/people`: who may sign in to this server, and which apps nobody may connect. For administrators."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from archivist.domain.clients import Client
from archivist.domain.documents import host_of
from archivist.domain.errors import NotFound
from archivist.domain.links import LIFE, Kind
from archivist.domain.redirects import target
from archivist.domain.users import User
from archivist.services.connections import Which
from archivist.services.people import Blocked, Person
from archivist.web import words
from archivist.web.frame import Frame, Visit
from archivist.web.links import address

PEOPLE = "/app/people"
_OPERATOR = "whoever runs this server"


def people_routes(frame: Frame) -> list[Route]:
    """The page, and what its forms post to."""
    one = f"{PEOPLE}/{{person}}"
    return [
        frame.route(PEOPLE, _people),
        frame.act(f"{PEOPLE}/invitations", _invite, PEOPLE, proof="invite somebody"),
        frame.act(f"{PEOPLE}/blocked", _block, PEOPLE, proof="block this app"),
        frame.act(f"{PEOPLE}/blocked/remove", _unblock, PEOPLE, proof="unblock this app"),
        frame.act(f"{one}/disable", _to_one(_disable), PEOPLE, proof="switch this account off"),
        frame.act(f"{one}/enable", _to_one(_enable), PEOPLE, proof="switch this account on"),
        frame.act(f"{one}/end", _to_one(_end), PEOPLE, proof="end all that this person has"),
        frame.act(f"{one}/factor", _to_one(_drop_factor), PEOPLE, proof="take this person's second step away"),
        frame.act(f"{one}/recovery", _recovery, PEOPLE, proof="make a recovery link"),
    ]


async def _people(visit: Visit, status: int = 200, *, link: Mapping[str, Any] | None = None, **more: Any) -> Response:
    people = [_person(one, visit.user) for one in await visit.app.people.list(visit.who)]
    blocked = [_blocked(one) for one in await visit.app.people.blocked(visit.who)]
    return visit.page("app/people", status, people=people, blocked=blocked, link=link, **more)


async def _invite(visit: Visit) -> Response:
    secret = await visit.app.accounts.invite(visit.who)
    return await _people(visit, link=_made(visit, "invitation", secret))


async def _recovery(visit: Visit) -> Response:
    name = (await _meant(visit)).name
    secret = await visit.app.accounts.recovery_link(visit.who, name)
    return await _people(visit, link=_made(visit, "recovery", secret, name))


def _to_one(act: Callable[[Visit, User], Awaitable[object]]) -> Callable[[Visit], Awaitable[Response]]:
    """An act on the person in the address, after which the list shows what has changed."""

    async def done(visit: Visit) -> Response:
        await act(visit, await _meant(visit))
        return RedirectResponse(PEOPLE, 303)

    return done


async def _disable(visit: Visit, user: User) -> None:
    await visit.app.accounts.set_disabled(visit.who, user.name, disabled=True)


async def _enable(visit: Visit, user: User) -> None:
    await visit.app.accounts.set_disabled(visit.who, user.name, disabled=False)


async def _end(visit: Visit, user: User) -> None:
    await visit.app.connections.end_all(visit.who, Which(user=user.id))


async def _drop_factor(visit: Visit, user: User) -> None:
    await visit.app.accounts.drop_factor(visit.who, user.name)


async def _block(visit: Visit) -> Response:
    named = visit.form.one("app").strip()
    meant = [one for one in await visit.app.clients.list(visit.who) if _is_meant(one, named)]
    if not meant:
        wrong = "app_unknown" if named else "app"
        return await _people(visit, 404, errors={"app": words.MISTAKES[wrong]}, values={"app": named})
    for client in meant:
        await visit.app.clients.set_blocked(visit.who, client.client_id, blocked=True)
    return RedirectResponse(PEOPLE, 303)


async def _unblock(visit: Visit) -> Response:
    await visit.app.clients.set_blocked(visit.who, visit.form.one("app"), blocked=False)
    return RedirectResponse(PEOPLE, 303)


def _is_meant(client: Client, named: str) -> bool:
    """By its id, which may be an address, or by a host: of that address, or one that its answers go to."""
    if client.client_id == named:
        return True
    return named.lower() in _hosts(client)


def _hosts(client: Client) -> Sequence[str]:
    own = [host_of(client.client_id)] if client.kind == "document" else []
    reached = [target(uri) for uri in client.redirect_uris]
    return [*own, *(one.host for one in reached if one.kind == "web")]


async def _meant(visit: Visit) -> User:
    """The person in the address."""
    for user in await visit.app.accounts.list(visit.who):
        if user.id == visit.path("person"):
            return user
    raise NotFound("nobody of that id is here")


def _made(visit: Visit, purpose: Kind, secret: str, name: str = "") -> Mapping[str, Any]:
    return {
        "url": address(visit.settings, purpose, secret),
        "purpose": purpose,
        "name": name,
        "role": None,
        "expires": visit.app.connections.now() + LIFE[purpose],
    }


def _person(person: Person, me: User) -> Mapping[str, Any]:
    user = person.user
    return {
        "id": user.id,
        "name": user.name,
        "administrator": user.administrator,
        "disabled": user.disabled is not None,
        "two_factor": bool(user.factor),
        "me": user.id == me.id,
        "created": user.created,
        "last_used": person.last_here,
        "connection_count": person.connections,
        "key_count": person.keys,
    }


def _blocked(blocked: Blocked) -> Mapping[str, Any]:
    return {
        "app": blocked.client.client_id,
        "name": blocked.client.name,
        "by": blocked.by or _OPERATOR,
        "since": blocked.since,
    }
