"""The second factor: codes by time (TOTP, RFC 6238) from an app of the person's, and recovery codes in its place."""

import hmac
import secrets as random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyotp

from archivist.domain.access import Principal, require_person
from archivist.domain.audit import entry
from archivist.domain.errors import Conflict, InvalidArgument, NotFound
from archivist.domain.ids import CONTROL
from archivist.domain.secrets import digest
from archivist.domain.users import User
from archivist.services import acts
from archivist.storage.database import Write
from archivist.storage.keyring import Keyring
from archivist.storage.people import sessions, users
from archivist.storage.stores import Stores

ISSUER = "Archivist"
STEP_SECONDS = 30
DRIFT = 1
"""Steps before and after the present one that are taken, for clocks that are not quite right."""

RECOVERY_CODES = 10
_PURPOSE = "second factor"
_OFFER = timedelta(minutes=15)
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A factor that is not in force yet. `uri` is for a QR code; `sealed` comes back with the first code."""

    secret: str
    uri: str
    sealed: str


@dataclass(frozen=True, slots=True)
class Factors:
    """The use cases of the second factor."""

    stores: Stores
    keyring: Keyring
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def offer(self, who: Principal, name: str) -> Offer:
        """A new secret, shown so that an app can take it up; nothing is stored yet."""
        require_person(who)
        secret = pyotp.random_base32()
        return Offer(secret=secret, uri=_uri(secret, name), sealed=self.keyring.seal(_PURPOSE, [who.user, secret]))

    async def offered(self, who: Principal, name: str, sealed: str) -> Offer:
        """The offer that was made before, to be shown again.

        Raises:
            NotFound: it is too old, or somebody else's.
        """
        require_person(who)
        secret = self._offered(who, sealed)
        return Offer(secret=secret, uri=_uri(secret, name), sealed=sealed)

    async def accept(self, who: Principal, sealed: str, code: str, *, keep: str) -> Sequence[str]:
        """Put the offered factor in force, for a first right code; the recovery codes, shown once.

        keep: the id of the session that goes on; all others of this person end.

        Raises:
            NotFound: the offer is too old, or somebody else's.
            InvalidArgument: the code is wrong.
        """
        require_person(who)
        secret = self._offered(who, sealed)
        step = self._step(secret, code)
        if step is None:
            raise InvalidArgument("code", "is not the one that the app shows now; check its clock")
        codes = _recovery_codes()
        kept = self.keyring.seal(_PURPOSE, [who.user, secret])
        await self._apply(
            who,
            "factor set",
            [
                users.set_factor(who.user, kept, step),
                *_in_place_of_all(who, codes),
                sessions.end_all(who.user, keep),
            ],
        )
        return codes

    async def renew_codes(self, who: Principal) -> Sequence[str]:
        """New recovery codes in place of all that were there, shown once.

        Raises:
            NotFound: there is no second factor that they could stand in for.
        """
        require_person(who)
        user = await users.find(await self.stores.control(), who.user)
        if user is None or not user.factor:
            raise NotFound("there is no second factor; set it up first")
        codes = _recovery_codes()
        await self._apply(who, "recovery codes", _in_place_of_all(who, codes))
        return codes

    async def codes_left(self, who: Principal) -> int:
        """How many recovery codes are not used up."""
        require_person(who)
        return await users.recovery_codes_left(await self.stores.control(), who.user)

    async def remove(self, who: Principal, *, keep: str = "") -> None:
        """No second factor any more; all sessions but the one with the id `keep` end."""
        require_person(who)
        gone = [users.set_factor(who.user, "", 0), users.drop_recovery_codes(who.user), users.drop_devices(who.user)]
        await self._apply(who, "factor removed", [*gone, sessions.end_all(who.user, keep)])

    def spending(self, user: User, code: str) -> Write:
        """What uses up a right code, of either kind; the write conflicts if it was used already.

        Raises:
            NotFound: it is neither.
        """
        bare = _bare(code)
        if not (bare.isascii() and bare.isdigit()):
            return users.use_recovery_code(user.id, digest(bare))
        _user, secret = self.keyring.open(_PURPOSE, user.factor)
        step = self._step(secret, bare)
        if step is None:
            raise NotFound("the code is wrong")
        return users.use_step(user.id, step)

    def _offered(self, who: Principal, sealed: str) -> str:
        user, secret = self.keyring.open(_PURPOSE, sealed, _OFFER)
        if user != who.user:
            raise NotFound("this page is too old; load it again")
        return str(secret)

    def _step(self, secret: str, code: str) -> int | None:
        """The time step that `code` belongs to."""
        present = int(self.now().timestamp()) // STEP_SECONDS
        made = pyotp.TOTP(secret)
        found = None
        for step in range(present - DRIFT, present + DRIFT + 1):
            if hmac.compare_digest(made.generate_otp(step).encode(), _bare(code).encode()):
                found = step
        return found

    async def _apply(self, who: Principal, action: str, writes: Sequence[Write]) -> None:
        control = await self.stores.control()
        act = entry(who, self.new_id(), self.now(), action, target=who.user, vault=CONTROL)
        try:
            await control.apply([*await acts.written(control, act, "user"), *writes])
        except Conflict:
            raise NotFound("this account is gone") from None


def _uri(secret: str, name: str) -> str:
    return pyotp.TOTP(secret).provisioning_uri(name=name, issuer_name=ISSUER)


def _recovery_codes() -> Sequence[str]:
    """Such as `abcde-fghjk`: 49 random bits; ten tries an hour guess one in no lifetime."""
    made = ["".join(random.choice(_LETTERS) for _ in range(10)) for _ in range(RECOVERY_CODES)]
    return [f"{letters[:5]}-{letters[5:]}" for letters in made]


def _in_place_of_all(who: Principal, codes: Sequence[str]) -> Sequence[Write]:
    digests = [digest(_bare(one)) for one in codes]
    return [users.drop_recovery_codes(who.user), users.insert_recovery_codes(who.user, digests)]


def _bare(code: str) -> str:
    return "".join(code.split()).replace("-", "").lower()
