"""Accounts: the first one, those that an administrator makes, their passwords, and their end."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from archivist.domain import dates, secrets
from archivist.domain import users as rules
from archivist.domain.access import LOCAL_OWNER, Principal, require_administrator, require_person
from archivist.domain.audit import Entry, entry
from archivist.domain.errors import Conflict, InvalidArgument, NotFound, Unauthenticated
from archivist.domain.ids import CONTROL, UserId
from archivist.domain.links import GONE, NO_ONE, Kind, Link, new_link, usable
from archivist.domain.users import User
from archivist.domain.vaults import Vault
from archivist.services import acts, endings
from archivist.services.passwords import Passwords
from archivist.storage import vaults
from archivist.storage.database import Database, Write
from archivist.storage.people import links, sessions, users
from archivist.storage.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """A link that leads to an account: to the one of `user` if it was made for them, into `vault` if that is named.

    maker: who made it; "" is whoever runs the server.
    """

    link: Link
    user: User | None
    vault: Vault | None
    maker: str


@dataclass(frozen=True, slots=True)
class Accounts:
    """The use cases around accounts. `common`: passwords that everybody tries. `host`: of the public address."""

    stores: Stores
    passwords: Passwords
    common: Callable[[], Collection[str]]
    host: str
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def set_up_link(self, who: Principal) -> str | None:
        """The secret of a new set-up link, in place of all earlier ones; None once there is an account."""
        require_administrator(who)
        control = await self.stores.control()
        if await users.count(control):
            return None
        return await self._link(who, control, "set-up", also=[links.end_kind("set-up", self.now())])

    async def is_set_up(self, who: Principal) -> bool:
        """Whether anybody can sign in."""
        require_person(who)
        return await users.count(await self.stores.control()) > 0

    async def opened(self, link: str, kind: Kind) -> tuple[Link, User | None]:
        """A link that can be used now, and whom it is about if that is known.

        Raises:
            NotFound: unknown, used, expired, or of another kind: all alike.
        """
        control = await self.stores.control()
        found = usable(await links.find(control, secrets.digest(link)), kind, self.now())
        user = await users.find(control, found.user) if found.user else None
        if found.user and (user is None or user.disabled is not None):
            raise NotFound(GONE)
        return found, user

    async def invitation(self, link: str) -> Invitation:
        """What an invitation leads to.

        Raises:
            NotFound: as `opened`; also if its vault is gone, or its maker may not invite any more.
        """
        found, user = await self.opened(link, "invitation")
        control = await self.stores.control()
        await endings.joining(control, found, NO_ONE, self.now())
        vault = await vaults.find(control, found.into_vault) if found.into_vault else None
        if found.into_vault and vault is None:
            raise NotFound(GONE)
        maker = await users.find(control, found.maker)
        return Invitation(link=found, user=user, vault=vault, maker=maker.name if maker else "")

    async def set_up(self, link: str, name: str, password: str) -> User:
        """The first account: administrator, and owner of what is there. Of many at once, one is made.

        Raises:
            NotFound: the link is not valid (any more).
            InvalidArgument: name or password is outside its rules; the link stays valid.
        """
        control = await self.stores.control()
        found, _ = await self.opened(link, "set-up")
        user = await self._new(LOCAL_OWNER, name, password, administrator=True)
        act = _by(user.id, found.id, self.new_id(), self.now(), "set up")
        log = await acts.written(control, act, "user", id=user.id)
        try:
            await control.apply([*log, links.use(found.digest, self.now()), users.insert(user)])
        except Conflict:
            raise NotFound(GONE) from None
        return user

    async def create(self, who: Principal, name: str, *, administrator: bool = False) -> tuple[User, str]:
        """An account without a password, and the secret of the link by which its person sets one.

        Raises:
            Conflict: somebody has that name, however it is spelt.
        """
        require_administrator(who)
        control = await self.stores.control()
        now = self.now()
        first = not await users.count(control)
        user = User(
            id=LOCAL_OWNER if first else UserId(self.new_id()),
            name=rules.checked_name(name),
            password="",
            administrator=administrator or first,
            created=now,
        )
        act = entry(who, self.new_id(), now, "users create", target=user.id, vault=CONTROL)
        try:
            await control.apply([*await acts.written(control, act, "user"), users.insert(user)])
        except Conflict:
            raise _taken() from None
        return user, await self._link(who, control, "invitation", user=user.id)

    async def invite(self, who: Principal) -> str:
        """The secret of a link by which one person makes an account of their own."""
        require_administrator(who)
        return await self._link(who, await self.stores.control(), "invitation")

    async def join(self, link: str, name: str, password: str) -> User:
        """The account of somebody invited; of one that was made for them it sets the password.

        Raises:
            NotFound: the link is not valid (any more).
            Conflict: somebody has that name.
            InvalidArgument: name or password is outside its rules; the link stays valid.
        """
        control = await self.stores.control()
        found, known = await self.opened(link, "invitation")
        user_id = UserId(self.new_id())
        user = known or await self._new(user_id, name, password)
        now = self.now()
        if known is not None:
            hashed = await self._hashed(password, known.name)
            made = [users.set_password(known.id, hashed)]
        else:
            made = [users.insert(user)]
        act = _by(user.id, found.id, self.new_id(), now, "join")
        log = await acts.written(control, act, "user", id=user.id)
        membership = await endings.joining(control, found, user.id, now)
        try:
            await control.apply([*log, links.use(found.digest, now), *made, *membership])
        except Conflict:
            if await users.named(control, user.name) is not None and known is None:
                raise _taken() from None
            raise NotFound(GONE) from None
        return user

    async def accept(self, who: Principal, link: str) -> Link:
        """An invitation into a vault, taken up by somebody who has an account.

        Raises:
            NotFound: the link is not valid (any more), or leads into no vault.
            Conflict: they are in that vault already.
        """
        require_person(who)
        control = await self.stores.control()
        found, known = await self.opened(link, "invitation")
        if known is not None or not found.into_vault:
            raise NotFound("this link is for somebody else")
        now = self.now()
        act = entry(who, self.new_id(), now, "members join", target=who.user, vault=found.into_vault)
        log = await acts.written(control, act, "member")
        try:
            joining = await endings.joining(control, found, who.user, now)
            await control.apply([*log, links.use(found.digest, now), *joining])
        except Conflict:
            raise Conflict("you are in this vault already, or the link was used meanwhile") from None
        return found

    async def recovery_link(self, who: Principal, name: str) -> str:
        """The secret of a link by which somebody who lost their password sets a new one.

        Raises:
            NotFound: nobody has that name.
        """
        require_administrator(who)
        control = await self.stores.control()
        user = await self._named(control, name)
        return await self._link(who, control, "recovery", user=user.id, also=[links.end_of(user.id, self.now())])

    async def recover(self, link: str, password: str) -> User:
        """Set a new password. Every session ends; a second factor stays and is asked for as ever.

        Raises:
            NotFound: the link is not valid (any more).
            InvalidArgument: the password is outside its rules; the link stays valid.
        """
        control = await self.stores.control()
        found, user = await self.opened(link, "recovery")
        if user is None:
            raise NotFound(GONE)
        hashed = await self._hashed(password, user.name)
        now = self.now()
        act = _by(user.id, found.id, self.new_id(), now, "password recovered")
        changed = [links.use(found.digest, now), users.set_password(user.id, hashed), users.drop_devices(user.id)]
        log = await acts.written(control, act, "user", id=user.id)
        try:
            await control.apply([*log, *changed, sessions.end_all(user.id)])
        except Conflict:
            raise NotFound(GONE) from None
        return user

    async def change_password(self, who: Principal, old: str, new: str) -> None:
        """All other sessions of this person end.

        Raises:
            Unauthenticated: the old one is wrong.
            InvalidArgument: the new one is outside its rules.
        """
        require_person(who)
        control = await self.stores.control()
        user = await users.find(control, who.user)
        if user is None or rules.is_too_long(old) or not await self.passwords.verify(user.password, old):
            raise Unauthenticated("the present password is wrong")
        hashed = await self._hashed(new, user.name)
        act = entry(who, self.new_id(), self.now(), "password changed", target=user.id, vault=CONTROL)
        changed = [users.still(user), users.set_password(user.id, hashed), sessions.end_all(user.id, who.credential_id)]
        try:
            await control.apply([*await acts.written(control, act, "user"), *changed])
        except Conflict:  # a recovery, or another browser, was faster
            raise Unauthenticated("the present password is wrong") from None

    async def require_good(self, who: Principal, password: str) -> None:
        """Raises InvalidArgument: this cannot be the new password of the person who asks."""
        require_person(who)
        rules.checked_password(password, (await self.me(who)).name, self.host, self.common())

    async def rename(self, who: Principal, name: str) -> User:
        """Change one's own name, which one signs in with.

        Raises:
            InvalidArgument: it is outside its rules.
            Conflict: somebody else has that name, however it is spelt.
        """
        require_person(who)
        control = await self.stores.control()
        user = replace(await self.me(who), name=rules.checked_name(name))
        act = entry(who, self.new_id(), self.now(), "users rename", target=user.id, vault=CONTROL)
        try:
            await control.apply([*await acts.written(control, act, "user"), users.rename(user.id, user.name)])
        except Conflict:
            raise _taken() from None
        return user

    async def set_zone(self, who: Principal, name: str, zone: str) -> User:
        """Set where the days of somebody begin that are written without a time. Empty and UTC mean UTC.

        Raises:
            NotFound: nobody has that name.
            InvalidArgument: this computer knows no such zone.
        """
        require_administrator(who)
        control = await self.stores.control()
        user = replace(await self._named(control, name), zone=dates.checked_zone(zone))
        act = entry(who, self.new_id(), self.now(), "users zone", target=user.id, vault=CONTROL)
        await control.apply([*await acts.written(control, act, "user"), users.set_zone(user.id, user.zone)])
        return user

    async def list(self, who: Principal) -> Sequence[User]:
        """Everybody, oldest first."""
        require_administrator(who)
        return await users.everybody(await self.stores.control())

    async def named(self, who: Principal, name: str) -> User:
        """The account of that name.

        Raises:
            NotFound: nobody has it.
        """
        require_administrator(who)
        return await self._named(await self.stores.control(), name)

    async def me(self, who: Principal) -> User:
        """The account of the person who asks.

        Raises:
            NotFound: it is gone.
        """
        require_person(who)
        user = await users.find(await self.stores.control(), who.user)
        if user is None:
            raise NotFound("this account is gone")
        return user

    async def set_disabled(self, who: Principal, name: str, *, disabled: bool) -> User:
        """Whether somebody may sign in, and whether what they connected works. Links of theirs are over for good.

        Raises:
            NotFound: nobody has that name.
            InvalidArgument: it is the person who asks.
        """
        require_administrator(who)
        control = await self.stores.control()
        user = await self._named(control, name)
        if user.id == who.user and who.credential == "session" and disabled:
            raise InvalidArgument("name", "must be somebody else's; you would lock yourself out")
        now = self.now()
        action = "users disable" if disabled else "users enable"
        act = entry(who, self.new_id(), now, action, target=user.id, vault=CONTROL)
        over = [sessions.end_all(user.id), links.end_of(user.id, now), links.end_made(user.id, now)]
        gone = over if disabled else []
        changed = users.set_disabled(user.id, now if disabled else None)
        await control.apply([*await acts.written(control, act, "user"), changed, *gone])
        return replace(user, disabled=now if disabled else None)

    async def drop_factor(self, who: Principal, name: str) -> None:
        """Take the second factor away from somebody who lost it; their sessions end.

        Raises:
            NotFound: nobody has that name.
        """
        require_administrator(who)
        control = await self.stores.control()
        user = await self._named(control, name)
        act = entry(who, self.new_id(), self.now(), "factor removed", target=user.id, vault=CONTROL)
        gone = [users.set_factor(user.id, "", 0), users.drop_recovery_codes(user.id), sessions.end_all(user.id)]
        await control.apply([*await acts.written(control, act, "user"), *gone])

    async def _named(self, control: Database, name: str) -> User:
        user = await users.named(control, name)
        if user is None:
            raise NotFound("nobody has that name; `archivist users list` shows who there is")
        return user

    async def _new(self, id: UserId, name: str, password: str, *, administrator: bool = False) -> User:
        name = rules.checked_name(name)
        hashed = await self._hashed(password, name)
        return User(id=id, name=name, password=hashed, administrator=administrator, created=self.now())

    async def _hashed(self, password: str, name: str) -> str:
        return await self.passwords.hash(rules.checked_password(password, name, self.host, self.common()))

    async def _link(
        self, who: Principal, control: Database, kind: Kind, *, user: UserId = NO_ONE, also: Sequence[Write] = ()
    ) -> str:
        now = self.now()
        secret, link = new_link(kind, id=self.new_id(), maker=who.user, now=now, user=user)
        act = entry(who, self.new_id(), now, f"{kind} link", target=link.id, vault=CONTROL)
        await control.apply([*await acts.written(control, act, "link"), *also, links.insert(link)])
        return secret


def _taken() -> Conflict:
    return Conflict("name: somebody has this name, or one that looks like it; choose another one")


def _by(user: UserId, link: str, id: str, at: datetime, action: str) -> Entry:
    """What the holder of a link did."""
    return Entry(
        id=id, vault=CONTROL, at=at, user=user, credential="link", credential_id=link, action=action, target=user
    )
