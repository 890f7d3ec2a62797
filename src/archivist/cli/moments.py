"""Moments and spans as people write them on the command line."""

import re
from datetime import datetime, timedelta

import click

from archivist.domain.dates import end_of, start_of
from archivist.domain.errors import InvalidArgument
from archivist.domain.times import utc_now

_SPAN = re.compile(r"([0-9]{1,5})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Span(click.ParamType[timedelta]):
    """`90d`, `24h`, `30m`: a number and one of s, m, h, d, w."""

    name = "span"

    def convert(self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        match = _SPAN.fullmatch(value)
        if match is None:
            self.fail("must be a number and one of s, m, h, d, w, such as 24h", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


class Moment(click.ParamType[datetime]):
    """An ISO 8601 day or moment. ends: a bare day means the end of it, not its beginning.

    ahead: a span is also taken, and counted from now on.
    """

    name = "moment"

    def __init__(self, *, ends: bool = False, ahead: bool = False) -> None:
        self.ends, self.ahead = ends, ahead

    def convert(self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        if self.ahead and _SPAN.fullmatch(value):
            return utc_now() + Span().convert(value, param, ctx)
        try:
            bound = end_of("it", value) if self.ends else start_of("it", value)
        except InvalidArgument:
            bound = None
        if bound is None or bound.after is not None:
            also = "a span such as 90d, or " if self.ahead else ""
            self.fail(f"must be {also}an ISO 8601 day or moment, such as 2026-11-30 or 2026-11-30T18:00Z", param, ctx)
        return bound.moment
