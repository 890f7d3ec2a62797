"""Dates that callers write: ISO 8601 days and moments, their time zones, and the cursors that continue a cut page."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, available_timezones

from archivist.domain.errors import InvalidArgument
from archivist.domain.ids import MemoryId, is_uuid
from archivist.domain.times import EARLIEST, LATEST, iso

_MOMENT = re.compile(r"[0-9W-]{8,10}[Tt ][0-9:.,]{2,24} ?([Zz]|[+-][0-9:]{2,8})?")
"""What a moment is made of. Python's reader takes any letter before the time, and any number of digits at the end."""

_ZONED = re.compile(r"[Tt ].*([Zz]|[+-][0-9:]{2,8})$")
_NO_ZONES = frozenset({"localtime", "Factory"})
"""Of the names in a zone database, those that stand for no zone, or on every computer for another one."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a window. With `after`, the row of that id at that moment is already seen: go on behind it."""

    moment: datetime
    after: MemoryId | None = None


def start_of(field: str, text: str, zone: tzinfo = UTC) -> Bound:
    """The earliest moment of a window: a bare day begins with its first instant in `zone`.

    Raises:
        InvalidArgument: not ISO 8601 and not a cursor of ours.
    """
    return _bound(field, text, zone, ends=False)


def end_of(field: str, text: str, zone: tzinfo = UTC) -> Bound:
    """The moment at which a window ends, itself outside: a bare day is inside to its last microsecond.

    Raises:
        InvalidArgument: not ISO 8601 and not a cursor of ours.
    """
    return _bound(field, text, zone, ends=True)


def says_its_zone(text: str) -> bool:
    """Whether it means the same in every zone: a cursor, or a moment with Z or an offset."""
    return _ZONED.search(text.partition("#")[0].strip()) is not None


def cursor(moment: datetime, id: MemoryId) -> str:
    """What to pass as the next bound to continue behind this row."""
    return f"{iso(moment)}#{id}"


def written(bound: Bound) -> str:
    """The bound as callers may pass it again."""
    moment = min(bound.moment, LATEST)
    return iso(moment) if bound.after is None else cursor(moment, bound.after)


def checked_zone(name: str) -> str:
    """The zone as the IANA database spells it; empty for UTC.

    Raises:
        InvalidArgument: there is no zone of that name, or this computer has no database of zones.
    """
    wanted = name.strip().casefold()
    if wanted in ("", "utc"):
        return ""
    known = {one.casefold(): one for one in available_timezones() - _NO_ZONES}
    if not known:
        raise InvalidArgument("zone", "must be UTC: this computer has no time zones; install the Python package tzdata")
    if wanted not in known:
        raise InvalidArgument("zone", "must be an IANA time zone, such as Europe/Lisbon or America/Sao_Paulo, or UTC")
    return known[wanted]


def zone_named(name: str) -> tzinfo | None:
    """The zone of that name, UTC for an empty one; None if this computer does not know it."""
    try:
        return ZoneInfo(name) if name else UTC
    except (OSError, ValueError, LookupError):
        return None


def _bound(field: str, text: str, zone: tzinfo, *, ends: bool) -> Bound:
    before, mark, id = text.strip().partition("#")
    if mark and not (is_uuid(id) and says_its_zone(before)):
        raise InvalidArgument(field, "a cursor must be passed as the last answer gave it: a moment, # and an id")
    try:
        moment = _moment(before, zone, ends=ends)
    except (ValueError, OverflowError):
        rule = "must be an ISO 8601 day or moment, such as 2026-11-30 or 2026-11-30T18:00:00Z, or a cursor"
        raise InvalidArgument(field, rule) from None
    return Bound(moment, MemoryId(id) if mark else None)


def _moment(text: str, zone: tzinfo, *, ends: bool) -> datetime:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        if not _MOMENT.fullmatch(text):
            raise
        moment = datetime.fromisoformat(text)
        return _widest(moment.replace(tzinfo=zone), ends=ends) if moment.tzinfo is None else moment.astimezone(UTC)
    if not ends:
        return _begin(day, zone)
    return _begin(day + timedelta(days=1), zone) if day < LATEST.date() else LATEST


def _begin(day: date, zone: tzinfo) -> datetime:
    """Its first instant. Where clocks jump over midnight that is the jump; where midnight comes twice, the first."""
    try:
        return datetime.combine(day, time.min, zone).astimezone(UTC)
    except OverflowError:
        return EARLIEST  # the calendar's first day, which begins earlier east of Greenwich


def _widest(local: datetime, *, ends: bool) -> datetime:
    """Of a time that comes twice or never, as clocks are set, the reading that leaves nothing out of the window."""
    readings = [local.replace(fold=fold).astimezone(UTC) for fold in (0, 1)]
    return max(readings) if ends else min(readings)
