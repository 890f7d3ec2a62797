"""Signing in: password, second factor, sessions, and the slowing down of guesses."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from archivist.domain import secrets
from archivist.domain.access import ALL_SCOPES, Principal, require_person
from archivist.domain.audit import Entry, entry
from archivist.domain.errors import Conflict, NotFound, Unauthenticated, Unavailable
from archivist.domain.ids import CONTROL, UserId
from archivist.domain.sessions import Session, is_alive
from archivist.domain.users import User, is_too_long
from archivist.services import acts
from archivist.services.factors import Factors
from archivist.services.passwords import Passwords
from archivist.services.throttling import NEIGHBOURS, WINDOW, Throttling, network, subject
from archivist.storage import audit
from archivist.storage.database import Database, Write
from archivist.storage.people import sessions, users
from archivist.storage.stores import Stores

WRONG = "the name or the password is wrong"
AGENT_LENGTH = 200
_NOTED = timedelta(minutes=1)
"""A session says at most so often that it was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A browser before anybody is signed in: where it comes from, what it says it is, and its device secret if any."""

    address: str
    agent: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """A new session. `secret` and `device` go into cookies and are kept nowhere; `device` is empty if it was known."""

    secret: str
    session: Session
    device: str = ""


@dataclass(frozen=True, slots=True)
class _Counted:
    """What one try was counted under, as what: its account or browser, and as one of its network."""

    subject: str
    own: str
    around: str
    neighbour: str

    async def forgive(self, throttling: Throttling, control: Database) -> None:
        """It did not fail, so those before it are forgotten, too."""
        await throttling.forgive(control, self.subject)
        if self.neighbour:
            await throttling.take_back(control, self.around, self.neighbour)

    async def take_back(self, throttling: Throttling, control: Database) -> None:
        """It was not even looked at."""
        await throttling.take_back(control, self.subject, self.own)
        if self.neighbour:
            await throttling.take_back(control, self.around, self.neighbour)


@dataclass(frozen=True, slots=True)
class SignIn:
    """The use cases of the door. `now` and `new_id` are given, so that tests decide them."""

    stores: Stores
    passwords: Passwords
    factors: Factors
    throttling: Throttling
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def password(self, visitor: Visitor, name: str, password: str) -> Entered:
        """A session of whoever has this name and this password; half a one if a second factor is missing.

        Raises:
            Unauthenticated: nobody has; unknown, disabled and wrong are told alike, and take alike.
            RateLimited: too many failures; the password was not looked at.
            Unavailable: too many sign in at this moment.
        """
        control = await self.stores.control()
        if is_too_long(password):
            raise Unauthenticated(WRONG)
        user = await users.named(control, name)
        counted = await self._begin(control, visitor, name, user)
        right = await self._verified(control, counted, user, password)
        if user is None or not right or user.disabled is not None:
            await self._note_failure(control, user)
            raise Unauthenticated(WRONG)
        renewed = await self._renewed(user, password)
        try:
            entered = await self._enter(control, user, visitor, stage="half" if user.factor else "full", also=renewed)
        except Conflict:  # it was right when it was looked at
            await self._note_failure(control, user)
            raise Unauthenticated(WRONG) from None
        await counted.forgive(self.throttling, control)
        return entered

    async def second_factor(self, half: Session, visitor: Visitor, code: str) -> Entered:
        """The whole session, for a code of the second factor or a recovery code. Each works once.

        Raises:
            Unauthenticated: wrong, or used already.
            RateLimited: too many wrong ones.
        """
        control = await self.stores.control()
        user = await users.find(control, half.user)
        if user is None or user.disabled is not None or not is_alive(half, self.now()):
            raise Unauthenticated("begin again with name and password")
        guesses = subject("factor", user.id)
        await self.throttling.begin(control, guesses)
        try:
            spent = self.factors.spending(user, code)
            entered = await self._enter(
                control, user, visitor, stage="full", also=[spent, sessions.end(half.digest)], action="second factor"
            )
        except (NotFound, Conflict):
            await self._note_failure(control, user, "second factor")
            raise Unauthenticated("this code is wrong or was used already") from None
        await self.throttling.forgive(control, guesses)
        return entered

    async def outside(self, user: UserId, visitor: Visitor) -> Entered:
        """A session of a person whom an outside provider vouched for; their second factor here is still asked for.

        Raises:
            Unauthenticated: the account is disabled or gone.
        """
        return await self._vouched(user, visitor, "outside")

    async def by_link(self, user: UserId, visitor: Visitor) -> Entered:
        """A session of a person who has just set their password by a one-time link; a second factor is still asked for.

        Raises:
            Unauthenticated: the account is disabled or gone.
        """
        return await self._vouched(user, visitor, "sign in")

    async def session(self, secret: str) -> tuple[Session, Principal, User]:
        """The session behind a cookie, who it is, and their account. A half session is told by its stage.

        Raises:
            Unauthenticated: none, ended, too old, or its person is disabled.
        """
        if not secrets.is_a("session", secret):
            raise Unauthenticated("sign in first")
        control, now = await self.stores.control(), self.now()
        session = await sessions.find(control, secrets.digest(secret))
        if session is None or not is_alive(session, now):
            raise Unauthenticated("sign in first")
        user = await users.find(control, session.user)
        if user is None or user.disabled is not None:
            raise Unauthenticated("sign in first")
        if now - session.used >= _NOTED and session.stage == "full":
            with suppress(Unavailable):  # a full disk must not keep anybody from reading
                await control.apply([sessions.used(session.digest, now)])
                session = replace(session, used=now)
        return session, principal(user, session), user

    async def confirm(self, who: Principal, session: Session, visitor: Visitor, password: str, code: str) -> Entered:
        """A fresh session in place of this one, for the password once more, and the second factor if there is one.

        Raises:
            Unauthenticated: wrong.
            RateLimited: too many wrong ones.
        """
        require_person(who)
        control = await self.stores.control()
        user = await users.find(control, who.user)
        counted = await self._begin(control, visitor, user.name if user else "", user)
        if not await self._verified(control, counted, user, password) or user is None:
            await self._note_failure(control, user, "confirm")
            raise Unauthenticated("the password is wrong")
        guesses, also = subject("factor", user.id), [sessions.end(session.digest)]
        if user.factor:  # whoever guesses here guesses at the same factor as at the door
            await self.throttling.begin(control, guesses)
        try:
            if user.factor:
                also.append(self.factors.spending(user, code))
            entered = await self._enter(control, user, visitor, stage="full", also=also, action="confirm")
        except (NotFound, Conflict):
            await self._note_failure(control, user, "confirm")
            raise Unauthenticated("the code is wrong or was used already") from None
        await counted.forgive(self.throttling, control)
        await self.throttling.forgive(control, guesses)
        return entered

    async def sign_out(self, who: Principal, session: Session) -> None:
        """End this session."""
        require_person(who)
        await self._end(who, session, "sign out")

    async def renew(self, who: Principal, session: Session) -> Entered:
        """The same session under a new secret, now that its person's account opens otherwise; the old one is dead.

        Raises:
            NotFound: it has ended.
        """
        require_person(who)
        control, secret = await self.stores.control(), secrets.new("session")
        renewed = replace(session, id=self.new_id(), digest=secrets.digest(secret))
        act = entry(who, self.new_id(), self.now(), "sessions renew", target=renewed.id, vault=CONTROL)
        log = await acts.written(control, act, "session")
        try:
            await control.apply([*log, sessions.end(session.digest), sessions.insert(renewed)])
        except Conflict:
            raise NotFound("that session has ended already") from None
        return Entered(secret=secret, session=renewed)

    async def end_others(self, who: Principal) -> None:
        """End every session of this person but the one that asks."""
        require_person(who)
        control = await self.stores.control()
        act = entry(who, self.new_id(), self.now(), "sessions end others", target=who.user, vault=CONTROL)
        log = await acts.written(control, act, "session", op="delete")
        await control.apply([*log, sessions.end_all(who.user, who.credential_id)])

    async def end(self, who: Principal, id: str) -> None:
        """End another session of this person.

        Raises:
            NotFound: they have none of that id.
        """
        require_person(who)
        session = await sessions.with_id(await self.stores.control(), id)
        if session is None or session.user != who.user:
            raise NotFound("no session with that id")
        await self._end(who, session, "sessions end")

    async def list(self, who: Principal) -> Sequence[Session]:
        """The sessions of this person that are alive, the last used first."""
        require_person(who)
        found = await sessions.of_user(await self.stores.control(), who.user)
        now = self.now()
        return [session for session in found if session.stage == "full" and is_alive(session, now)]

    async def _vouched(self, id: UserId, visitor: Visitor, action: str) -> Entered:
        control = await self.stores.control()
        user = await users.find(control, id)
        if user is None or user.disabled is not None:
            raise Unauthenticated("this account cannot sign in; ask an administrator of this server")
        try:
            return await self._enter(control, user, visitor, stage="half" if user.factor else "full", action=action)
        except Conflict:
            raise Unauthenticated("this account was changed at this moment; sign in once more") from None

    async def _end(self, who: Principal, session: Session, action: str) -> None:
        control = await self.stores.control()
        act = entry(who, self.new_id(), self.now(), action, target=session.id, vault=CONTROL)
        log = await acts.written(control, act, "session", op="delete")
        try:
            await control.apply([*log, sessions.end(session.digest)])
        except Conflict:
            raise NotFound("that session has ended already") from None

    async def _begin(self, control: Database, visitor: Visitor, name: str, user: User | None) -> "_Counted":
        """Count one try. A browser that is known is counted apart, so that others cannot lock it out."""
        device = secrets.digest(visitor.device)
        account = user.id if user else subject("nobody", name)
        near = network(visitor.address)
        if user is not None and await users.knows_device(control, user.id, device):
            own, around, neighbour = subject("device", account, device), "", ""
        else:
            own, around = subject("account", account, near), subject("network", near)
            neighbour = await self.throttling.at_most(control, around, NEIGHBOURS, WINDOW)
        return _Counted(own, await self.throttling.begin(control, own), around, neighbour)

    async def _verified(self, control: Database, counted: "_Counted", user: User | None, password: str) -> bool:
        """Whether it is their password. Raises Unavailable: nobody has looked at it, so it has not failed either."""
        try:
            return await self.passwords.verify(user.password if user else "", password)
        except Unavailable:
            await counted.take_back(self.throttling, control)
            raise

    async def _enter(
        self,
        control: Database,
        user: User,
        visitor: Visitor,
        *,
        stage: str,
        also: Sequence[Write] = (),
        action: str = "sign in",
    ) -> Entered:
        """Raises Conflict: the account opens otherwise by now than when `user` was read, or what is in `also` does."""
        now, secret = self.now(), secrets.new("session")
        session = Session(
            id=self.new_id(),
            digest=secrets.digest(secret),
            user=user.id,
            stage="half" if stage == "half" else "full",
            agent="".join(letter for letter in visitor.agent if letter.isprintable())[:AGENT_LENGTH],
            created=now,
            used=now,
            fresh=now,
        )
        device, new_device = "", []
        if stage == "full" and not await users.knows_device(control, user.id, secrets.digest(visitor.device)):
            device = secrets.new("device")
            new_device = [users.insert_device(user.id, secrets.digest(device), now)]
        outcome = "half" if stage == "half" else "new device" if device else "done"
        act = entry(principal(user, session), self.new_id(), now, action, target=session.id, outcome=outcome)
        log = await acts.written(control, act, "session")
        await control.apply([*log, users.still(user), *also, sessions.insert(session), *new_device])
        return Entered(secret=secret, session=session, device=device)

    async def _note_failure(self, control: Database, user: User | None, action: str = "sign in") -> None:
        """A line in the trail alone: nothing has changed that others would have to look at anew."""
        act = Entry(
            id=self.new_id(),
            vault=CONTROL,
            at=self.now(),
            user=user.id if user else "",
            credential="session",
            credential_id="",
            action=action,
            outcome="refused",
        )
        await control.apply([audit.insert(act)])

    async def _renewed(self, user: User, password: str) -> Sequence[Write]:
        """The same password hashed as is asked for today, if that is more than when it was set."""
        if not self.passwords.is_outdated(user.password):
            return []
        return [users.set_password(user.id, await self.passwords.hash(password))]


def principal(user: User, session: Session) -> Principal:
    """A person in a browser. What they may do in a vault, their role there says."""
    whole = session.stage == "full"
    return Principal(
        user.id,
        CONTROL,
        ALL_SCOPES if whole else frozenset(),
        "session",
        session.id,
        administrator=user.administrator and whole,
    )
