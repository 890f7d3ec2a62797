"""One-time links: for the first account, for people who are invited, for those who lost their way in."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from archivist.domain import secrets
from archivist.domain.errors import NotFound
from archivist.domain.ids import UserId, VaultId
from archivist.domain.roles import Role

Kind = Literal["set-up", "invitation", "recovery"]
LIFE: dict[Kind, timedelta] = {
    "set-up": timedelta(minutes=60),
    "invitation": timedelta(hours=72),
    "recovery": timedelta(minutes=30),
}
NO_ONE, NOWHERE = UserId(""), VaultId("")
GONE = "this link was used already or has expired; ask for a new one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """user: whom a recovery is for. maker: who made it. vault and role: where an invitation leads; "" is nowhere."""

    id: str
    digest: str
    kind: Kind
    user: UserId
    maker: UserId
    into_vault: VaultId
    role: Role | Literal[""]
    created: datetime
    expires: datetime
    used: datetime | None = None


def new_link(
    kind: Kind,
    *,
    id: str,
    maker: UserId,
    now: datetime,
    user: UserId = NO_ONE,
    into_vault: VaultId = NOWHERE,
    role: Role | Literal[""] = "",
) -> tuple[str, Link]:
    """A new link and its secret, which is kept nowhere."""
    secret = secrets.new("link")
    link = Link(
        id=id,
        digest=secrets.digest(secret),
        kind=kind,
        user=user,
        maker=maker,
        into_vault=into_vault,
        role=role,
        created=now,
        expires=now + LIFE[kind],
    )
    return secret, link


def usable(link: Link | None, kind: Kind, now: datetime) -> Link:
    """The link, if it can be used now.

    Raises:
        NotFound: there is none, it is of another kind, used, or expired; all of these are told alike.
    """
    if link is None or link.kind != kind or link.used is not None or now >= link.expires:
        raise NotFound(GONE)
    return link
