"""Metadata documents that ship with this server, for where the real ones cannot be fetched.

A server behind a firewall could connect no app that is known by its document; and some sites turn away requests from
data centres. They are used only if the fetch fails, and a page that relies on one says so and names its date.
"""

from dataclasses import dataclass
from datetime import date
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Fallback:
    """A document as its owner published it. dated: the day it was last compared with the published one."""

    body: bytes
    dated: date


_SHIPPED = {
    "https://claude.ai/oauth/claude-code-client-metadata": ("claude-code.json", date(2026, 9, 16)),
    "https://chatgpt.com/oauth/codex/client.json": ("codex.json", date(2026, 9, 16)),
}


def fallback(address: str) -> Fallback | None:
    """The shipped document of `address`, compared as it is spelled; None if there is none."""
    if address not in _SHIPPED:
        return None
    name, dated = _SHIPPED[address]
    return Fallback((files("archivist.fetching") / name).read_bytes(), dated)
