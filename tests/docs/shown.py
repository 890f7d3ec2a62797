"""Compares what a page shows with what happens. Pages shorten: `…` stands for whatever was left out.

In JSON an object may leave out names, `"…"` in a list stands for any number of items, and `…` inside a string for any
characters. `…` and the last four digits of an id stand for that id: which it is is learned where it is shown first.
"""

import re
from collections.abc import Mapping
from typing import Any

LEFT_OUT = "…"
GAP = re.compile(r"\s*…\s*")
ID = re.compile("…[0-9a-f]{4}")
Ids = dict[str, str]
"""The ids that short ones stand for."""


def is_shown(shown: str, printed: str) -> bool:
    """Whether a command printed that. Blanks at the ends of lines do not count."""
    lines = [line.rstrip() for line in printed.strip().splitlines()]
    return _matches(shown.strip(), "\n".join(lines))


def learned(shown: Any, real: Any, ids: Ids) -> Ids | None:
    """`ids` and those that are learned from this, or None if it is not what is shown."""
    if isinstance(shown, str) and isinstance(real, str):
        if ID.fullmatch(shown):
            return {**ids, shown: real} if ids.get(shown, real) == real else None
        return ids if _matches(shown, real) else None
    if isinstance(shown, Mapping) and isinstance(real, Mapping):
        return _object(shown, real, ids)
    if isinstance(shown, list) and isinstance(real, list):
        return _list(shown, real, ids)
    return ids if shown == real and type(shown) is type(real) else None


def filled_in(shown: Any, ids: Ids) -> Any:
    """What is shown, with whole ids."""
    if isinstance(shown, str):
        return ids[shown] if ID.fullmatch(shown) else shown
    if isinstance(shown, Mapping):
        return {name: filled_in(value, ids) for name, value in shown.items()}
    return [filled_in(value, ids) for value in shown] if isinstance(shown, list) else shown


def _matches(shown: str, real: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in GAP.split(shown))
    return re.fullmatch(pattern, real, re.DOTALL) is not None


def _object(shown: Mapping[str, Any], real: Mapping[str, Any], ids: Ids) -> Ids | None:
    found: Ids | None = ids
    for name, value in shown.items():
        if found is None or name not in real:
            return None
        found = learned(value, real[name], found)
    return found


def _list(shown: list[Any], real: list[Any], ids: Ids) -> Ids | None:
    if not shown:
        return ids if not real else None
    if shown[0] == LEFT_OUT:
        rests = (_list(shown[1:], real[start:], ids) for start in range(len(real) + 1))
        return next((found for found in rests if found is not None), None)
    found = learned(shown[0], real[0], ids) if real else None
    return None if found is None else _list(shown[1:], real[1:], found)
