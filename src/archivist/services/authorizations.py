"""Asking a person to allow an app: what it asks for is kept here while they decide, and what they decide is granted."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from archivist.domain import authorizations as rules
from archivist.domain import secrets
from archivist.domain.access import Principal, Scope
from archivist.domain.audit import entry
from archivist.domain.authorizations import Addressed, Parameters, Request
from archivist.domain.clients import Client
from archivist.domain.errors import Conflict, InsufficientScope, InvalidArgument, NotFound, Unavailable
from archivist.domain.grants import CODE, INERT, RESUMED, TRANSACTION, AuthorizationCode, Grant
from archivist.domain.ids import CONTROL, VaultId
from archivist.domain.redirects import target, verdict
from archivist.domain.rejections import Unanswerable
from archivist.domain.roles import CAPS, Role
from archivist.domain.times import EPOCH
from archivist.domain.vaults import Vault
from archivist.services import acts
from archivist.services.clients import Clients
from archivist.services.entering import role_now
from archivist.storage import codes, grants, members, uses
from archivist.storage import vaults as stored_vaults
from archivist.storage.database import Database, Write
from archivist.storage.people import clients as stored_clients
from archivist.storage.people import transactions
from archivist.storage.people.transactions import Transaction
from archivist.storage.stores import Stores

TRIES = 20
QUESTIONS = 32
"""That one browser has open at once; for one more, the oldest is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A vault that can be chosen: what the person's role allows there, and what this app holds there already."""

    vault: Vault
    role: Role
    held: frozenset[Scope]
    ticked: frozenset[Scope]
    last_used: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What the consent page shows. `secret` names the transaction and is in no database.

    choices: the one to preselect first. connected: the vault of a connection that this app has, for a step-up.
    changed: what is different since this person allowed it last: `name`, `addresses`.
    """

    secret: str
    request: Request
    client: Client
    dated: date | None
    choices: Sequence[Choice]
    connected: VaultId | None
    changed: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What one person is asked, once: by which app, for what; `digest` names its row."""

    digest: str
    request: Request
    client: Client
    dated: date | None
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """Where the browser goes: to the app's target, with these parameters."""

    request: Request
    client: Client
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Authorizations:
    """The use cases of the authorization endpoint. `origins`: those that mean this server in a `resource`."""

    stores: Stores
    clients: Clients
    origins: Collection[str]
    resource_required: bool
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def addressee(self, who: Principal, parameters: Parameters) -> tuple[Client, Addressed, date | None]:
        """The app and its target, checked before anything else is.

        Raises:
            Unanswerable: the answer must not leave this server.
        """
        _require_browser(who)
        to = rules.addressed(parameters)
        known = await self.clients.asking(who, to.client_id)
        require_own(known.client, to.redirect_uri, self.clients.policy.schemes)
        return known.client, to, known.dated

    async def begin(self, who: Principal, parameters: Parameters) -> Pending:
        """Keep what an app asks for, until its person decides.

        Raises:
            Unanswerable: see `addressee`.
            Rejected: an error of the RFC, which may go to the target.
        """
        client, to, dated = await self.addressee(who, parameters)
        request = rules.read(parameters, to, self.origins, resource_required=self.resource_required)
        control, now, secret = await self.stores.control(), self.now(), secrets.new("transaction")
        digest = secrets.digest(secret)
        question = _Question(digest=digest, request=request, client=client, dated=dated, created=now)
        transaction = Transaction(
            digest=digest,
            session=who.credential_id,
            client=client.digest,
            request=_dumped(request, client, dated),
            created=now,
            expires=now + TRANSACTION,
        )
        waiting = await transactions.of_session(control, who.credential_id)
        forgotten = [transactions.drop(one) for one in waiting[QUESTIONS - 1 :]]
        await control.apply([transactions.insert(transaction), *forgotten])
        return await self._pending(control, who, secret, question)

    async def again(self, who: Principal, secret: str) -> Pending:
        """The same question once more, as after a choice that cannot be.

        Raises:
            NotFound: it was decided, is too old, or belongs to another browser: all alike.
        """
        _require_browser(who)
        control = await self.stores.control()
        return await self._pending(control, who, secret, await self._open(control, who, secret))

    async def require_ready(self, who: Principal, secret: str, scopes: frozenset[Scope]) -> None:
        """Raises what `allow` would raise, whatever the vault."""
        _require_browser(who)
        question = await self._open(await self.stores.control(), who, secret)
        self._require_considered(question, scopes)

    async def allow(self, who: Principal, secret: str, vault: VaultId, scopes: frozenset[Scope]) -> Decided:
        """Connect the app to one vault, with the scopes ticked: the code for it. Nothing is half granted.

        A connection that this person gave the same app there keeps its id.

        Raises:
            NotFound: the question is decided, too old or another browser's; or there is no such vault for them.
            InvalidArgument: nothing is ticked, or more than the person's role allows, or it came too early to be read.
            Unavailable: too much changes at this moment; the question is still open.
        """
        _require_browser(who)
        control = await self.stores.control()
        for _ in range(TRIES):
            batch, decided = await self._granting(control, who, secret, vault, scopes)
            try:
                await control.apply(batch)
            except Conflict:
                continue  # something was changed since: whether all of it still holds is looked up anew
            return decided
        raise Unavailable("too much changes at this moment; try again")

    async def _granting(
        self, control: Database, who: Principal, secret: str, vault: VaultId, scopes: frozenset[Scope]
    ) -> tuple[Sequence[Write], Decided]:
        """What allows it, if nothing at all is changed before it is written: app, role and connection are as found."""
        head = await acts.head(control)
        question = await self._open(control, who, secret)
        now = self.now()
        self._require_considered(question, scopes)
        role = await role_now(control, vault, who.user)
        if role is None:
            raise NotFound("vault: there is no such vault")
        if not scopes <= CAPS[role]:
            raise InvalidArgument("scope", f"as {role} of this vault you cannot allow all of these")
        held = await _held(control, who, question, vault, now)
        grant = _grant(question, held, who, vault, scopes=scopes, now=now, id=self.new_id())
        code = secrets.new("code")
        made = _code(question, grant, who, secrets.digest(code), family=self.new_id(), now=now)
        act = entry(who, self.new_id(), now, "consent given", target=grant.id, vault=vault)
        batch: list[Write] = [
            *acts.written_from(head, act, "grant"),
            transactions.finish(question.digest),
            stored_clients.approve(question.client.digest, now),
            grants.insert(grant) if held is None else grants.renew(grant),
            codes.insert(made),
        ]
        return batch, Decided(request=question.request, client=question.client, parameters={"code": code})

    async def deny(self, who: Principal, secret: str) -> Decided:
        """The person does not want it.

        Raises:
            NotFound: see `again`.
        """
        _require_browser(who)
        control = await self.stores.control()
        question = await self._open(control, who, secret)
        client = question.client
        act = entry(who, self.new_id(), self.now(), "consent refused", target=client.digest, vault=CONTROL)
        log = await acts.written(control, act, "client")
        try:
            await control.apply([*log, transactions.finish(question.digest)])
        except Conflict:
            raise NotFound("this question was decided already; connect the app once more") from None
        denied = {"error": "access_denied", "error_description": "the person did not allow it"}
        return Decided(request=question.request, client=client, parameters=denied)

    def _require_considered(self, question: _Question, scopes: frozenset[Scope]) -> None:
        if self.now() < question.created + INERT:
            raise InvalidArgument("form", "was sent before it could be read; look at it and decide")
        if not scopes:
            raise InvalidArgument("scope", "tick at least one, or choose not to allow")

    async def _open(self, control: Database, who: Principal, secret: str) -> _Question:
        named = secrets.is_a("transaction", secret)
        found = await transactions.find(control, secrets.digest(secret)) if named else None
        if found is None or found.session != who.credential_id or self.now() >= found.expires:
            raise NotFound("this question is too old, or another browser's; connect the app once more")
        client = await stored_clients.find(control, found.client)
        if client is None or client.blocked is not None or not self.clients.policy.admits(client):
            raise NotFound("this app is not registered here (any more); connect it once more")
        request, shown, dated = _loaded(found.request, client)
        return _Question(digest=found.digest, request=request, client=shown, dated=dated, created=found.created)

    async def _pending(self, control: Database, who: Principal, secret: str, question: _Question) -> Pending:
        client, request = question.client, question.request
        theirs = [
            grant
            for grant in await grants.resumable(control, who.user, self.now() - RESUMED)
            if client.is_named(grant.client) and grant.toolset == request.toolset
        ]
        changed = _changes(theirs[0], client) if theirs else ()
        first = theirs[0].vault if theirs and not changed else None
        held = {} if changed else {grant.vault: grant.scopes for grant in theirs}
        roles = {member.vault: member.role for member in await members.of_user(control, who.user)}
        choices = [
            Choice(
                vault=vault,
                role=roles[vault.id],
                held=held.get(vault.id, frozenset()),
                ticked=rules.ticked_at_first(request.asked, held.get(vault.id, frozenset()), CAPS[roles[vault.id]]),
                last_used=await uses.last_in(control, vault.id),
            )
            for vault in await stored_vaults.of_member(control, who.user)
            if vault.id in roles
        ]
        choices.sort(key=lambda one: _nearness(one, first, who), reverse=True)
        return Pending(
            secret=secret,
            request=request,
            client=client,
            dated=question.dated,
            choices=choices,
            connected=first,
            changed=changed,
        )


def require_own(client: Client, redirect_uri: str, schemes: frozenset[str]) -> None:
    """Raises Unanswerable: not a target of the app, or one that may not be used any more; `schemes` as registered."""
    if not client.returns_to(redirect_uri) or verdict(redirect_uri, schemes) != "allowed":
        raise Unanswerable("redirect_uri", "redirect_uri: is not one that this app has registered and may use")


def _nearness(choice: Choice, first: VaultId | None, who: Principal) -> tuple[bool, bool, datetime]:
    """What is offered first: where the app is connected, then the person's own vaults, each by its last use."""
    return choice.vault.id == first, choice.vault.owner == who.user, choice.last_used or EPOCH


def _require_browser(who: Principal) -> None:
    if who.credential != "session":
        raise InsufficientScope("only a person in a browser can decide this")


async def _held(control: Database, who: Principal, question: _Question, vault: VaultId, now: datetime) -> Grant | None:
    """The connection that this person gave the same app on the same tool set, in this vault."""
    wanted = question.request.toolset, vault
    for grant in await grants.resumable(control, who.user, now - RESUMED):
        if question.client.is_named(grant.client) and (grant.toolset, grant.vault) == wanted:
            return grant
    return None


def _grant(
    question: _Question,
    held: Grant | None,
    who: Principal,
    vault: VaultId,
    *,
    scopes: frozenset[Scope],
    now: datetime,
    id: str,
) -> Grant:
    """The connection as it is allowed now; one that is there keeps its id."""
    to, client = target(question.request.redirect_uri), question.client
    return Grant(
        vault=vault,
        id=held.id if held else id,
        user=who.user,
        client=client.digest,
        client_name=client.name,
        host=to.host or f"{to.scheme}:",
        shown=client.shown,
        toolset=question.request.toolset,
        scopes=scopes,
        created=held.created if held else now,
        approved=now,
    )


def _code(
    question: _Question, grant: Grant, who: Principal, digest: str, *, family: str, now: datetime
) -> AuthorizationCode:
    """A code that is good for exactly what was allowed, to exactly whom."""
    return AuthorizationCode(
        vault=grant.vault,
        digest=digest,
        grant=grant.id,
        family=family,
        client=grant.client,
        redirect_uri=question.request.redirect_uri,
        challenge=question.request.challenge,
        toolset=grant.toolset,
        scopes=grant.scopes,
        session=who.credential_id,
        created=now,
        expires=now + CODE,
    )


def _changes(before: Grant, client: Client) -> Sequence[str]:
    """What of an app is not as it was when it was allowed."""
    name = ("name",) if before.client_name != client.name else ()
    addresses = ("addresses",) if before.shown != replace(client, name=before.client_name).shown else ()
    return (*name, *addresses)


def _dumped(request: Request, client: Client, dated: date | None) -> str:
    fields = {name: getattr(request, name) for name in ("client_id", "redirect_uri", "state", "challenge", "toolset")}
    shown = {"name": client.name, "redirect_uris": client.redirect_uris}
    day = dated.isoformat() if dated else None
    return json.dumps({**fields, "asked": sorted(request.asked), "shown": shown, "dated": day})


def _loaded(text: str, client: Client) -> tuple[Request, Client, date | None]:
    """What was asked, and the app as it was then: what is decided about is what was shown."""
    fields = json.loads(text)
    dated, shown = fields.pop("dated"), fields.pop("shown")
    asked = frozenset(Scope(word) for word in fields.pop("asked"))
    client = replace(client, name=shown["name"], redirect_uris=tuple(shown["redirect_uris"]))
    return Request(**fields, asked=asked), client, date.fromisoformat(dated) if dated else None
