"""Tokens: codes become tokens, refresh tokens rotate, and every request is looked up (RFC 6749, RFC 7009).

All answers are opaque and kept as digests alone. A repeated refresh gets the same pair again without that pair being
kept: see `domain.secrets.derived`.
"""

import json
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from archivist.domain import grants as rules
from archivist.domain import secrets
from archivist.domain.access import Scope
from archivist.domain.audit import TARGET_LENGTH, Entry
from archivist.domain.authorizations import asked_scopes, proves
from archivist.domain.clients import Client
from archivist.domain.errors import Conflict, Unavailable
from archivist.domain.grants import ACCESS, FAILURES, GRACE, AuthorizationCode, Reason, Token
from archivist.domain.rejections import Rejected, Unheard
from archivist.domain.sessions import is_alive
from archivist.domain.toolsets import Toolset, toolset_of
from archivist.services import acts, endings
from archivist.services.clients import Policy
from archivist.storage import codes, grants
from archivist.storage import tokens as stored
from archivist.storage.database import Database, Write
from archivist.storage.people import sessions
from archivist.storage.stores import Stores
from archivist.storage.tokens import Standing

SPENT = "code: is not valid, was used, or has expired; connect once more"
STALE = "refresh_token: is not valid, was used, or has expired; connect once more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The answer of the token endpoint. `expires_in` is in seconds."""

    access: str
    refresh: str
    expires_in: int
    scopes: frozenset[Scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refresh:
    """A refresh that may be answered. shown: the token itself; asked: a digest of the words that came with it."""

    shown: str
    client: Client
    standing: Standing
    scopes: frozenset[Scope]
    asked: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """The use cases of the token and the revocation endpoint. `origins`: those that mean this server."""

    stores: Stores
    policy: Policy
    origins: Collection[str]
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def exchange(
        self, client: Client, *, code: str, verifier: str, redirect_uri: str, resources: Sequence[str]
    ) -> Pair:
        """The first tokens of a connection, for a code that is used once.

        Raises:
            Rejected: invalid_grant or invalid_target. A second use that is right in every way ends what the first
                one gave; a wrong one ends nothing, but three of them spend the code.
        """
        control = await self.stores.control()
        found = await codes.by_digest(control, secrets.digest(code)) if secrets.is_a("code", code) else None
        if found is None:
            raise Unheard("invalid_grant", SPENT)
        right = client.is_named(found.client) and found.redirect_uri == redirect_uri
        if not right or not proves(verifier, found.challenge):
            await self._count_failure(control, found)
            raise Rejected("invalid_grant", SPENT)
        if found.spent is not None:
            await self._end_family(control, found, client, "code reused")
            raise Rejected("invalid_grant", SPENT)
        self._require_toolset(resources, found.toolset)
        now = self.now()
        session = await sessions.with_id(control, found.session)
        alive = session is not None and is_alive(session, now)
        standing = await stored.standing(control, found.vault, found.grant)
        open_still = now < found.expires and found.failures < FAILURES and self.policy.admits(client)
        if not open_still or not alive or standing is None:
            raise Rejected("invalid_grant", SPENT)
        return await self._first_pair(control, found, client, standing, now)

    async def refresh(self, client: Client, *, token: str, scope: str, resources: Sequence[str]) -> Pair:
        """The next pair of tokens; the one shown is spent.

        Shown again within the grace, by the same app with the same words, and before its successor was used, it gets
        the same pair. At any other time the connection ends: the token is in the wrong hands, too.

        Raises:
            Rejected: invalid_grant, invalid_scope or invalid_target.
        """
        control = await self.stores.control()
        found = await stored.by_digest(control, secrets.digest(token)) if secrets.is_a("refresh", token) else None
        if found is None or found.kind != "refresh":
            raise Unheard("invalid_grant", STALE)
        now = self.now()
        if not client.is_named(found.client) or found.ended is not None:
            raise Rejected("invalid_grant", STALE)
        if found.spent is not None and not _is_in_time(found, now):
            await self._end_connection(control, found, client, "token reused", reason="reused")
            raise Rejected("invalid_grant", STALE)
        if now >= found.expires:
            raise Rejected("invalid_grant", STALE)
        self._require_toolset(resources, found.toolset)
        scopes = asked_scopes(scope) or found.scopes
        if not scopes <= found.scopes:
            raise Rejected("invalid_scope", "scope: must be within what was allowed; ask for more by connecting anew")
        standing = await stored.standing(control, found.vault, found.grant)
        if standing is None or not self.policy.admits(client):
            raise Rejected("invalid_grant", STALE)
        asked = secrets.digest(json.dumps(sorted(scopes)))
        refresh = _Refresh(shown=token, client=client, standing=standing, scopes=scopes, asked=asked)
        if found.spent is None:
            try:
                return await self._next_pair(control, found, refresh)
            except Conflict:  # another process of the same app was faster, or it has ended meanwhile
                found = await stored.by_digest(control, found.digest) or found
        return await self._same_pair(control, found, refresh)

    async def revoke(self, client: Client, token: str) -> None:
        """End what a token belongs to (RFC 7009); what is unknown, or another app's, is left alone.

        That is its family, and with the last family of a connection the connection.
        """
        control = await self.stores.control()
        if not (secrets.is_a("refresh", token) or secrets.is_a("access", token)):
            return
        found = await stored.by_digest(control, secrets.digest(token))
        if found is None or not client.is_named(found.client) or found.ended is not None:
            return
        if await stored.other_families(control, found.vault, found.grant, found.family, self.now()):
            await self._end_family(control, found, client, "token revoked", outcome="done")
        else:
            await self._end_connection(control, found, client, "token revoked", reason="signed_off", outcome="done")

    async def _first_pair(
        self, control: Database, code: AuthorizationCode, client: Client, standing: Standing, now: datetime
    ) -> Pair:
        access, refresh = secrets.new("access"), secrets.new("refresh")
        tokens = [
            rules.access_token(code, secrets.digest(access), code.scopes, now),
            rules.refresh_token(code, secrets.digest(refresh), now),
        ]
        act = self._act(code, client, standing, "tokens issued")
        log = await acts.written(control, act, "token")
        spending = [codes.spend(code.vault, code.digest, now), grants.still(code.vault, code.grant)]
        try:
            await control.apply([*log, *spending, *(stored.insert(token) for token in tokens)])
        except Conflict:  # of many at once, another one succeeded: this one is a second use; or the connection ended
            found = await codes.by_digest(control, code.digest)
            if found is not None and found.spent is not None:
                await self._end_family(control, code, client, "code reused")
            raise Rejected("invalid_grant", SPENT) from None
        return _pair(access, refresh, tokens[0], standing.allows(code.scopes), now)

    async def _next_pair(self, control: Database, found: Token, refresh: _Refresh) -> Pair:
        now, salt = self.now(), secrets.digest(secrets.new("transaction"))
        new_access = secrets.derived("access", refresh.shown, salt)
        new_refresh = secrets.derived("refresh", refresh.shown, salt)
        tokens = [
            rules.access_token(found, secrets.digest(new_access), refresh.scopes, now),
            rules.refresh_token(found, secrets.digest(new_refresh), now),
        ]
        spent = replace(found, spent=now, salt=salt, request=refresh.asked, successor=tokens[1].digest)
        log = await acts.written(control, self._act(found, None, refresh.standing, "tokens refreshed"), "token")
        await control.apply([*log, stored.spend(spent), *(stored.insert(token) for token in tokens)])
        return _pair(new_access, new_refresh, tokens[0], refresh.standing.allows(refresh.scopes), now)

    async def _same_pair(self, control: Database, found: Token, refresh: _Refresh) -> Pair:
        """What the first one got who showed this token; anything else is reuse, and ends the connection."""
        if found.spent is None and found.ended is None:  # nobody was faster: something else got in between
            raise Unavailable("this could not be done now; try again")
        now = self.now()
        successor = await stored.by_digest(control, found.successor) if found.successor else None
        untouched = successor is not None and successor.spent is None and successor.ended is None
        if found.ended is not None or not _is_in_time(found, now) or not untouched or found.request != refresh.asked:
            if found.ended is None:
                await self._end_connection(control, found, refresh.client, "token reused", reason="reused")
            raise Rejected("invalid_grant", STALE)
        same_access = secrets.derived("access", refresh.shown, found.salt)
        same_refresh = secrets.derived("refresh", refresh.shown, found.salt)
        token = await stored.by_digest(control, secrets.digest(same_access))
        if token is None or token.ended is not None:
            raise Rejected("invalid_grant", STALE)
        return _pair(same_access, same_refresh, token, refresh.standing.allows(token.scopes), now)

    async def _end_family(
        self, control: Database, of: AuthorizationCode | Token, client: Client, action: str, *, outcome: str = "ended"
    ) -> None:
        """The tokens of a family, and every access token of the connection."""
        now = self.now()
        act = self._act(of, client, None, action, outcome=outcome)
        ended = [stored.end_family(of.vault, of.grant, of.family, now), stored.end_access(of.vault, of.grant, now)]
        await control.apply([*await acts.written(control, act, "token", op="delete"), *ended])

    async def _end_connection(
        self, control: Database, of: Token, client: Client, action: str, *, reason: Reason, outcome: str = "ended"
    ) -> None:
        """The whole connection; whoever is behind it has to be asked anew."""
        grant, now = await grants.find(control, of.vault, of.grant), self.now()
        if grant is None or grant.ended is not None:
            return
        act = self._act(of, client, None, action, outcome=outcome)
        log = await acts.written(control, act, "grant", op="delete", id=grant.id)
        with suppress(Conflict):  # somebody else ended it at the same moment
            await control.apply([*log, *endings.ending(grant, now, reason)])

    async def _count_failure(self, control: Database, code: AuthorizationCode) -> None:
        writes: list[Write] = [codes.fail(code.vault, code.digest)]
        if code.spent is None and code.failures + 1 >= FAILURES:
            writes.append(codes.spend(code.vault, code.digest, self.now()))
        try:
            await control.apply(writes)
        except Conflict:
            return  # it was spent meanwhile

    def _require_toolset(self, resources: Sequence[str], toolset: Toolset) -> None:
        if resources and toolset_of(resources, self.origins) != toolset:
            raise Rejected("invalid_target", "resource: must be the one that was allowed")

    def _act(
        self,
        of: AuthorizationCode | Token,
        client: Client | None,
        standing: Standing | None,
        action: str,
        *,
        outcome: str = "done",
    ) -> Entry:
        return Entry(
            id=self.new_id(),
            vault=of.vault,
            at=self.now(),
            user=standing.user if standing else "",
            credential="oauth",
            credential_id=of.grant,
            action=action,
            target=of.family if client is None else client.digest[:TARGET_LENGTH],
            outcome=outcome,
        )


def _is_in_time(found: Token, now: datetime) -> bool:
    """Whether a spent token can still be shown once more. One from a future that the clock came back from cannot."""
    return found.spent is not None and found.spent <= now + GRACE and now < found.spent + GRACE


def _pair(access: str, refresh: str, token: Token, scopes: frozenset[Scope], now: datetime) -> Pair:
    left = max(0, int((token.expires - now).total_seconds()))
    return Pair(access=access, refresh=refresh, expires_in=min(left, int(ACCESS.total_seconds())), scopes=scopes)
