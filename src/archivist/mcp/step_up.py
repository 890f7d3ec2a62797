"""Asking an app for more rights: by status 403, or inside the result for hosts that look there (MCP authorization).

The action is never carried out. An app that asks again and again without having been allowed gets no further
challenge: it would only loop between us and its person.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from archivist.domain.access import Principal, Scope
from archivist.http.challenges import insufficient, missing
from archivist.mcp.rpc import Message

Mode = Literal["auto", "http", "result"]
TRIES, WINDOW = 5, timedelta(minutes=10)
REMEMBERED = 10_000
_HOSTS = ("chatgpt.com", "chat.openai.com", "openai.com")
_NAMES = ("openai", "chatgpt")
_INFO = "io.modelcontextprotocol/clientInfo"


@dataclass(frozen=True, slots=True)
class StepUp:
    """What a caller gets whose scopes do not suffice."""

    mode: Mode
    now: Callable[[], datetime]
    _asked: "OrderedDict[tuple[str, frozenset[Scope]], list[datetime]]" = field(default_factory=OrderedDict)

    def in_result(self, who: Principal, message: Message | None) -> bool:
        """Whether the challenge belongs into a tool's result: that is where some hosts look, and nowhere else."""
        if message is None or message.id is None or message.method != "tools/call" or who.credential != "oauth":
            return False
        if self.mode != "auto":
            return self.mode == "result"
        info = message.meta.get(_INFO)
        name = str(info.get("name", "")).casefold() if isinstance(info, dict) else ""
        host = who.app_host
        hosts = any(host == one or host.endswith(f".{one}") for one in _HOSTS)
        return hosts or any(one in name for one in _NAMES)

    def loops(self, who: Principal, needed: frozenset[Scope]) -> bool:
        """Whether the same caller has lacked the same scopes too often of late. Counts this time, too."""
        if who.credential != "oauth":
            return False  # a key cannot be asked for more in any case
        key, now = (who.credential_id, needed - who.scopes), self.now()
        times = [at for at in self._asked.pop(key, []) if now - WINDOW < at <= now]
        times.append(now)
        self._asked[key] = times[-TRIES - 1 :]
        if len(self._asked) > REMEMBERED:
            self._asked.popitem(last=False)
        return len(times) > TRIES


def result(url: str, who: Principal, needed: frozenset[Scope], *, challenge: bool) -> dict[str, Any]:
    """A tool's result that says what is missing; with the challenge if asking for it makes sense."""
    text = missing(needed - who.scopes)
    meta = {"_meta": {"mcp/www_authenticate": [insufficient(url, who.scopes, needed)]}} if challenge else {}
    return {"content": [{"type": "text", "text": text}], "isError": True, **meta}
