"""Numbers and times as the pages write them."""

from datetime import UTC, datetime, timedelta

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

NEVER, NOW = "never", "just now"
_STEPS = (
    (timedelta(minutes=1), timedelta(hours=1), "minute"),
    (timedelta(hours=1), timedelta(days=1), "hour"),
    (timedelta(days=1), timedelta(days=61), "day"),
    (timedelta(days=30), timedelta(days=730), "month"),
    (timedelta(days=365), timedelta.max, "year"),
)
"""A unit, the span up to which it is used, and its word."""


def count(number: int) -> str:
    """`1,234`."""
    return f"{number:,}"


def plural(number: int, one: str, many: str) -> str:
    """`1 memory`, `1,234 memories`."""
    return f"{count(number)} {one if number == 1 else many}"


def distance(moment: datetime, now: datetime) -> str:
    """`3 days ago`, `in 2 hours`, `just now`: whole units, rounded down."""
    span = abs(now - moment)
    for unit, until, word in _STEPS:
        if unit <= span < until:
            words = plural(span // unit, word, f"{word}s")
            return f"{words} ago" if moment < now else f"in {words}"
    return NOW


def exact(moment: datetime) -> str:
    """`30 November 2026, 12:05 UTC`."""
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def day(moment: datetime) -> str:
    """`30 November 2026`."""
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y}"


@pass_context
def ago(context: Context, moment: datetime | None) -> str:
    """How long before or after the page's `now`; the exact time stands in the markup and shows on hover."""
    if moment is None:
        return NEVER
    stamp = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
    text = distance(moment, context["now"])
    return Markup('<time datetime="{}" title="{}">{}</time>').format(stamp, exact(moment), text)


def grouped(secret: str) -> str:
    """A secret to type, in groups of four."""
    return " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))
