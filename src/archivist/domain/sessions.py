"""Browser sessions: how long they live, and what a session may still do."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from archivist.domain.ids import UserId

IDLE = timedelta(hours=8)
TOTAL = timedelta(days=7)
FRESH = timedelta(minutes=10)
"""For so long after password or factor were shown, sensitive acts need no further proof."""

HALF = timedelta(minutes=10)
"""How long the second factor is waited for."""

DEVICE = timedelta(days=180)
Stage = Literal["half", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One browser of a person. half: the password was right, the second factor is still missing."""

    id: str
    digest: str
    user: UserId
    stage: Stage
    agent: str
    created: datetime
    used: datetime
    fresh: datetime


def is_alive(session: Session, now: datetime) -> bool:
    """Neither idle for too long nor too old in all."""
    if session.stage == "half":
        return now < session.created + HALF
    return now < session.used + IDLE and now < session.created + TOTAL


def is_fresh(session: Session, now: datetime) -> bool:
    """Whether the person has just shown who they are."""
    return session.stage == "full" and now < session.fresh + FRESH
