"""How often something may be done within a time, counted for each key."""

from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import datetime, timedelta

KEYS = 10_000
"""Keys that are remembered; the one that has been quiet longest is forgotten for a new one."""


class Budget:
    """At most `most` acts in any `span` for each key. Lives in one process and takes bounded memory."""

    def __init__(self, most: int, span: timedelta, now: Callable[[], datetime], keys: int = KEYS) -> None:
        self._most, self._span, self._now, self._keys = most, span, now, keys
        self._acts: OrderedDict[str, deque[datetime]] = OrderedDict()

    def wait(self, key: str) -> timedelta:
        """How long until one more is allowed: nothing if it is now. Nothing is used up."""
        acts, now = self._acts.get(key, ()), self._now()
        recent = [at for at in acts if now - at < self._span]
        return max(recent[0] + self._span - now, timedelta(0)) if len(recent) == self._most else timedelta(0)

    def spend(self, key: str) -> None:
        """Uses up one."""
        acts = self._acts.setdefault(key, deque(maxlen=self._most))
        acts.append(self._now())
        self._acts.move_to_end(key)
        if len(self._acts) > self._keys:
            self._acts.popitem(last=False)
