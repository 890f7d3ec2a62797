"""Apps: registering themselves, known by a document, made by an administrator, blocked."""

import hmac
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from archivist.domain import secrets
from archivist.domain.access import Principal, require_administrator
from archivist.domain.audit import TARGET_LENGTH, Entry, entry
from archivist.domain.client_names import shown_name
from archivist.domain.clients import UNUSED, Client, Method, client_digest
from archivist.domain.documents import InvalidDocument, host_of, is_document_address
from archivist.domain.errors import Conflict, InsufficientScope, InvalidArgument, NotFound, RateLimited, Unavailable
from archivist.domain.ids import CONTROL
from archivist.domain.limits import WAITING_CLIENTS
from archivist.domain.redirects import acceptable
from archivist.domain.registrations import registration
from archivist.domain.rejections import Rejected, Unanswerable, Unheard
from archivist.fetching.cached import CachedDocuments
from archivist.fetching.documents import FetchFailed
from archivist.services import acts, endings
from archivist.services.throttling import Throttling, network, subject
from archivist.storage import grants
from archivist.storage.database import Database, Write
from archivist.storage.people import clients as stored
from archivist.storage.stores import Stores

HOURLY, DAILY = 10, 50
"""Registrations from one network."""

CROWDED = timedelta(hours=1)
"""When no more can wait, those go that waited so long: a flood shuts newcomers out for an hour, not for a day."""

TRIES = 5
GUESSES = 30
"""Secrets that nobody was given, shown for one app from one network, before none from there is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the operator decided about apps.

    schemes: of private apps, beside those with a dot. allowed, denied: hosts of documents; `allowed` empty is all.
    """

    registration: bool = True
    documents: bool = True
    schemes: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()

    def admits(self, client: Client) -> bool:
        """Whether this app may (still) be connected."""
        if client.kind != "document":
            return True
        return self.documents and self.admits_host(host_of(client.client_id))

    def admits_host(self, host: str) -> bool:
        """Whether documents of this host are taken. Operators may spell hosts as they like."""
        denied, allowed = ({one.lower() for one in hosts} for hosts in (self.denied, self.allowed))
        return host not in denied and (not allowed or host in allowed)


@dataclass(frozen=True, slots=True)
class Known:
    """An app that asks. dated: the day of the shipped copy of its document, if the real one could not be fetched."""

    client: Client
    dated: date | None = None


@dataclass(frozen=True, slots=True)
class Clients:
    """The use cases around apps. `host`: our own, which no document can be on."""

    stores: Stores
    documents: CachedDocuments
    throttling: Throttling
    policy: Policy
    host: str
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def register(self, metadata: Mapping[str, Any], address: str) -> Client:
        """A public client for what an app says about itself (RFC 7591). It has no rights until somebody allows it.

        Raises:
            Rejected: invalid_redirect_uri or invalid_client_metadata.
            RateLimited: too many from this network, or too many that nobody allowed.
        """
        said = registration(metadata, self.policy.schemes)
        control = await self.stores.control()
        await self._require_room(control, address)
        now = self.now()
        client_id = f"app-{secrets.new('client').partition('_')[2]}"
        client = Client(
            digest=client_digest(client_id),
            client_id=client_id,
            kind="registered",
            name=said.name,
            redirect_uris=said.redirect_uris,
            secret="",
            method="none",
            created=now,
        )
        act = _by_itself(client, self.new_id(), now, "clients register")
        await control.apply([*await acts.written(control, act, "client"), stored.insert(client)])
        return client

    async def known(self, client_id: str) -> Client | None:
        """The app of that id, if it was seen before; nothing is fetched."""
        return await stored.find(await self.stores.control(), client_digest(client_id))

    async def asking(self, who: Principal, client_id: str) -> Known:
        """The app that a signed-in person is asked about; its document is fetched if that is what it is known by.

        Raises:
            Unanswerable: unknown, blocked, or its document cannot be had; `reason` says which.
        """
        if who.credential != "session":
            raise InsufficientScope("only a person in a browser is asked about apps")
        if is_document_address(client_id):
            return await self._by_document(who, client_id)
        client = await self.known(client_id)
        if client is None or client.kind == "document":  # whose address would not do any more
            raise Unanswerable("unknown_client", "this app is not registered here (any more)")
        return Known(_open(client))

    async def authenticated(self, client_id: str, secret: str | None, method: Method) -> Client:
        """The app that calls the token or the revocation endpoint.

        One that is blocked is let in: it has nothing left here, and if it were unknown it would register anew.

        Raises:
            Rejected: invalid_client: unknown, or not authenticated in the one way that it registered.
        """
        client = await self.known(client_id)
        if client is None:
            raise Unheard("invalid_client", "client_id: this app is not registered here (any more); register it anew")
        if client.method != method:
            raise Rejected("invalid_client", f"this app authenticates by {client.method}")
        if client.kind == "confidential" and not hmac.compare_digest(client.secret, secrets.digest(secret or "")):
            raise Unheard("invalid_client", "client_secret: is wrong")
        return client

    async def require_calm(self, client_id: str, address: str) -> None:
        """Raises RateLimited: too many guesses were made for this app from this network; others are not held up."""
        control = await self.stores.control()
        await self.throttling.require_fewer(control, await self._guesses(client_id, address), GUESSES)

    async def guessed(self, client_id: str, address: str) -> None:
        """Count one more of them."""
        await self.throttling.count(await self.stores.control(), await self._guesses(client_id, address))

    async def _guesses(self, client_id: str, address: str) -> str:
        """All apps that nobody knows are one: nobody fills the disk by naming a new one each time."""
        client = await self.known(client_id)
        return subject("guess", client.digest if client else "", network(address))

    async def create(
        self, who: Principal, *, name: str, redirect_uris: Sequence[str], method: Method = "client_secret_basic"
    ) -> tuple[Client, str]:
        """A confidential client and its secret, which is kept nowhere.

        Raises:
            InvalidArgument: the name is empty, or a redirect target is not allowed.
        """
        require_administrator(who)
        shown = shown_name(name)
        if not shown:
            raise InvalidArgument("name", "must be 1..64 characters that can be shown")
        targets = acceptable(list(redirect_uris), self.policy.schemes)
        secret, now = secrets.new("client"), self.now()
        client_id = f"app-{self.new_id()}"
        client = Client(
            digest=client_digest(client_id),
            client_id=client_id,
            kind="confidential",
            name=shown,
            redirect_uris=targets,
            secret=secrets.digest(secret),
            method=method,
            created=now,
        )
        control = await self.stores.control()
        act = entry(who, self.new_id(), now, "clients create", target=client.digest, vault=CONTROL)
        await control.apply([*await acts.written(control, act, "client"), stored.insert(client)])
        return client, secret

    async def list(self, who: Principal) -> Sequence[Client]:
        """Every app that is known, oldest first."""
        require_administrator(who)
        return await stored.everything(await self.stores.control())

    async def set_blocked(self, who: Principal, client_id: str, *, blocked: bool) -> Client:
        """Whether an app may connect at all, for everybody here; blocking it ends its connections.

        Raises:
            NotFound: no app of that id is known.
            Unavailable: others end the same connections all the time; nothing was changed.
        """
        require_administrator(who)
        control = await self.stores.control()
        client = await self.known(client_id)
        if client is None:
            raise NotFound("no app with that id; `archivist clients list` shows them")
        now = self.now()
        action = "clients block" if blocked else "clients unblock"
        act = entry(who, self.new_id(), now, action, target=client.digest, vault=CONTROL)
        changed = stored.set_blocked(client.digest, now if blocked else None)
        for _ in range(TRIES):
            gone = await self._connections_end(control, client, now) if blocked else []
            try:
                await control.apply([*await acts.written(control, act, "client"), changed, *gone])
            except Conflict:
                continue  # one of them ended meanwhile
            while blocked and (late := await self._connections_end(control, client, now)):  # allowed just before it
                with suppress(Conflict):
                    await control.apply(late)
            return replace(client, blocked=now if blocked else None)
        raise Unavailable("others change the same at this moment; try again")

    async def _connections_end(self, control: Database, client: Client, now: datetime) -> Sequence[Write]:
        theirs = [grant for grant in await grants.alive(control) if client.is_named(grant.client)]
        return [write for grant in theirs for write in endings.ending(grant, now, "blocked")]

    async def _by_document(self, who: Principal, client_id: str) -> Known:
        host = host_of(client_id)
        if not self.policy.documents or not self.policy.admits_host(host) or host == self.host:
            raise Unanswerable("document_refused", "apps of this address may not be connected here")
        known = await self.known(client_id)
        if known is not None:
            _open(known)
        try:
            found = await self.documents.get(client_id, who.user)
        except FetchFailed as failure:
            raise Unanswerable(_told(failure), "what this app says about itself cannot be fetched") from None
        except InvalidDocument:
            raise Unanswerable("document_invalid", "what this app says about itself is not right") from None
        except RateLimited as limited:
            raise Unanswerable("too_often", limited.detail) from None
        client = Client(
            digest=client_digest(client_id),
            client_id=client_id,
            kind="document",
            name=found.document.name,
            redirect_uris=found.document.redirect_uris,
            secret="",
            method="none",
            created=known.created if known else self.now(),
            approved=known.approved if known else None,
        )
        await self._remember(client, known)
        return Known(client, found.dated)

    async def _remember(self, client: Client, known: Client | None) -> None:
        """What its document says now, so that the token endpoint needs to fetch nothing."""
        if known == client:
            return
        control = await self.stores.control()
        act = _by_itself(client, self.new_id(), self.now(), "clients document")
        write = stored.insert(client) if known is None else stored.update(client)
        try:
            await control.apply([*await acts.written(control, act, "client"), write])
        except Conflict:
            return  # another window of the same person was faster

    async def _require_room(self, control: Database, address: str) -> None:
        near = network(address)
        await self.throttling.at_most(control, subject("register", "hour", near), HOURLY, timedelta(hours=1))
        await self.throttling.at_most(control, subject("register", "day", near), DAILY, timedelta(days=1))
        for waited in (UNUSED, CROWDED):
            await control.apply([stored.clear(self.now() - waited)])
            if await stored.waiting(control) < WAITING_CLIENTS:
                return
        raise RateLimited("too many apps wait to be allowed; try again in an hour, or ask the operator", 3600)


def _told(failure: FetchFailed) -> str:
    """Nothing of what lies at the address: not whether somebody answered, how, or how soon."""
    return "document_refused" if failure.reason in ("address", "own") else "document_unreachable"


def _open(client: Client) -> Client:
    if client.blocked is not None:
        raise Unanswerable("client_blocked", "this app is blocked here by an administrator")
    return client


def _by_itself(client: Client, id: str, at: datetime, action: str) -> Entry:
    target = client.digest[:TARGET_LENGTH]
    return Entry(
        id=id, vault=CONTROL, at=at, user="", credential="client", credential_id=target, action=action, target=target
    )
