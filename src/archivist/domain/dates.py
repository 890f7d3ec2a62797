"""Dates that callers write: ISO 8601 days and moments, and the cursors that continue a cut page."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from archivist.domain.errors import InvalidArgument
from archivist.domain.ids import MemoryId, is_uuid
from archivist.domain.times import LATEST, iso

_MOMENT = re.compile(r"[0-9W-]{8,10}[Tt ][0-9:.,]{2,24} ?([Zz]|[+-][0-9:]{2,8})?")
"""What a moment is made of. Python's reader takes any letter before the time, and any number of digits at the end."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a window. With `after`, the row of that id at that moment is already seen: go on behind it."""

    moment: datetime
    after: MemoryId | None = None


def start_of(field: str, text: str) -> Bound:
    """The earliest moment of a window: a bare day begins at its midnight, UTC.

    Raises:
        InvalidArgument: not ISO 8601 and not a cursor of ours.
    """
    return _bound(field, text, whole_day=False)


def end_of(field: str, text: str) -> Bound:
    """The moment at which a window ends, itself outside: a bare day is inside to its last microsecond.

    Raises:
        InvalidArgument: not ISO 8601 and not a cursor of ours.
    """
    return _bound(field, text, whole_day=True)


def cursor(moment: datetime, id: MemoryId) -> str:
    """What to pass as the next bound to continue behind this row."""
    return f"{iso(moment)}#{id}"


def _bound(field: str, text: str, *, whole_day: bool) -> Bound:
    written, mark, id = text.strip().partition("#")
    if mark and not is_uuid(id):
        raise InvalidArgument(field, "the part behind # must be the id that the last answer gave")
    try:
        moment = _moment(written, whole_day=whole_day)
    except (ValueError, OverflowError):
        rule = "must be an ISO 8601 day or moment, such as 2026-11-30 or 2026-11-30T18:00:00Z, or a cursor"
        raise InvalidArgument(field, rule) from None
    return Bound(moment, MemoryId(id) if mark else None)


def _moment(written: str, *, whole_day: bool) -> datetime:
    try:
        day = date.fromisoformat(written)
    except ValueError:
        if not _MOMENT.fullmatch(written):
            raise
        moment = datetime.fromisoformat(written)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    midnight = datetime.combine(day, datetime.min.time(), UTC)
    if not whole_day:
        return midnight
    return midnight + timedelta(days=1) if day < LATEST.date() else LATEST
