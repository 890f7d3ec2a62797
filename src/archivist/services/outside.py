"""Signing in through an outside provider: begun and finished in one browser, for accounts that were linked before.

What is under way travels in a sealed cookie: the state and the nonce that must come back, the proof for the code, and
which browser began. People are known by issuer and subject; a mail address proves nothing.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from archivist.domain.access import Principal, require_person
from archivist.domain.audit import entry
from archivist.domain.authorizations import s256
from archivist.domain.errors import Conflict, NotFound, Unauthenticated, Unavailable
from archivist.domain.ids import CONTROL, UserId
from archivist.fetching.provider import Outsider, Provider
from archivist.services import acts
from archivist.storage.keyring import Keyring
from archivist.storage.people import users
from archivist.storage.stores import Stores

_PURPOSE = "outside"
_LIFE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Where the browser goes, and what its cookie holds meanwhile."""

    address: str
    sealed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """Who came back, and where in our pages they wanted to go."""

    outsider: Outsider
    path: str


@dataclass(frozen=True, slots=True)
class Outside:
    """The use cases of outside sign-in. `provider` is None if there is none; `origin` is our own."""

    stores: Stores
    provider: Provider | None
    keyring: Keyring
    origin: str
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def sign_in_origin(self) -> str | None:
        """Where the provider's sign-in page is; None if there is no provider, or it cannot be reached now."""
        return await self.provider.origin() if self.provider else None

    async def leave(self, who: Principal | None, browser: str, path: str) -> Leaving:
        """Begin. browser: what tells this browser from all others; path: where to go afterwards, on this server.

        Raises:
            Unavailable: there is no provider, or it does not answer.
        """
        provider = self._provider()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        address = await provider.address(
            redirect_uri=self._returns_to, state=state, nonce=nonce, challenge=s256(verifier)
        )
        user = who.user if who else ""
        held = [state, nonce, verifier, browser, path, user]
        return Leaving(address=address, sealed=self.keyring.seal(_PURPOSE, held))

    async def returned(self, who: Principal | None, browser: str, sealed: str, state: str, code: str) -> Returned:
        """Finish, in the browser that began, for the same person.

        Raises:
            Unauthenticated: another browser, another state, too late, or the provider vouches for nobody.
            Unavailable: the provider does not answer.
        """
        provider = self._provider()
        try:
            held = self.keyring.open(_PURPOSE, sealed, _LIFE)
        except NotFound:
            raise Unauthenticated("this sign-in was begun elsewhere or too long ago; begin again") from None
        begun, nonce, verifier, theirs, path, user = held
        same = hmac.compare_digest(begun.encode(), state.encode()) and hmac.compare_digest(theirs, browser)
        if not same or not code or user != (who.user if who else ""):
            raise Unauthenticated("this sign-in was begun elsewhere or too long ago; begin again")
        outsider = await provider.outsider(code=code, verifier=verifier, nonce=nonce, redirect_uri=self._returns_to)
        return Returned(outsider=outsider, path=path)

    async def known(self, outsider: Outsider) -> UserId:
        """The account that this outsider was linked to.

        Raises:
            Unauthenticated: none.
        """
        found = await users.by_identity(await self.stores.control(), _digest(outsider))
        if found is None:
            raise Unauthenticated("no account here is linked to that one; sign in with your password and link it first")
        return found

    async def linked(self, who: Principal) -> bool:
        """Whether the account of this person is linked to the provider."""
        require_person(who)
        found = await users.identities_of(await self.stores.control(), who.user)
        return any(issuer == self._issuer for _digest, issuer in found)

    async def link(self, who: Principal, outsider: Outsider) -> None:
        """From now on this outsider signs in as this person.

        Raises:
            Conflict: somebody else is linked to that account there.
        """
        require_person(who)
        control, now = await self.stores.control(), self.now()
        act = entry(who, self.new_id(), now, "outside linked", target=who.user, vault=CONTROL)
        write = users.insert_identity(who.user, _digest(outsider), outsider.issuer, now)
        try:
            await control.apply([*await acts.written(control, act, "user"), write])
        except Conflict:
            raise Conflict("that account is linked already") from None

    async def unlink(self, who: Principal) -> None:
        """Undo it.

        Raises:
            NotFound: it was not linked.
        """
        require_person(who)
        control = await self.stores.control()
        found = await users.identities_of(control, who.user)
        theirs = [digest for digest, issuer in found if issuer == self._issuer]
        if not theirs:
            raise NotFound("this account is not linked")
        act = entry(who, self.new_id(), self.now(), "outside unlinked", target=who.user, vault=CONTROL)
        gone = [users.drop_identity(who.user, digest) for digest in theirs]
        await control.apply([*await acts.written(control, act, "user"), *gone])

    @property
    def _returns_to(self) -> str:
        """The address that the provider sends browsers back to; to be registered there."""
        return f"{self.origin}/sign-in/outside/callback"

    @property
    def _issuer(self) -> str:
        return self.provider.issuer if self.provider else ""

    def _provider(self) -> Provider:
        if self.provider is None:
            raise Unavailable("there is no outside provider here; sign in with your password")
        return self.provider


def _digest(outsider: Outsider) -> str:
    """Issuer and subject as one: the length keeps the two apart."""
    text = f"{len(outsider.issuer)}:{outsider.issuer}{outsider.subject}"
    return hashlib.sha256(text.encode()).hexdigest()
