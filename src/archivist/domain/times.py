"""Moments. Inside: aware datetimes in UTC. Stored: microseconds since the epoch. Outside: ISO 8601."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


def utc_now() -> datetime:
    """The clock that services are given in production."""
    return datetime.now(UTC)


def micros(moment: datetime) -> int:
    """Microseconds since the epoch, exactly; negative before 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    """The inverse of `micros`."""
    return EPOCH + timedelta(microseconds=microseconds)


def iso(moment: datetime) -> str:
    """`2026-11-30T12:00:00.000000Z`: always UTC, always six digits, so that text order is time order."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def iso_or_none(moment: datetime | None) -> str | None:
    """The same, where there may be none."""
    return None if moment is None else iso(moment)
