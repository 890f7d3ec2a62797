"""Counting what connections and keys do: in memory at first, so that no request waits for it, then in the database.

What was counted and not yet written is lost with the process, at most a second of it. Refusals are counted the same
way, for whoever asks a thousand times must not fill the disk; each kind of them also leaves a line in the trail.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from archivist.domain.access import Principal
from archivist.domain.audit import Entry
from archivist.domain.ids import UserId, VaultId
from archivist.domain.uses import Use
from archivist.storage import audit, uses
from archivist.storage.stores import Stores

KINDS = 5_000
"""Different things that are counted between two writes; what is more than that is counted together."""

_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class _What:
    vault: VaultId
    user: UserId
    credential: str
    form: str
    operation: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Counting:
    """Told of each request once it is answered; `flush` writes what has come together."""

    stores: Stores
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    _counted: dict[_What, Use] = field(default_factory=dict)

    def note(self, who: Principal, operation: str, outcome: str = "done") -> None:
        """One use of a credential. `operation` is the name of a tool, resource or route: never what it was given."""
        what = _What(who.vault, who.user, who.credential_id, who.credential, operation[:64], outcome[:32])
        now, before = self.now(), self._counted.get(what)
        if before is not None:
            self._counted[what] = replace(before, count=before.count + 1, last=now)
            return
        if len(self._counted) >= KINDS:
            what = replace(what, operation="others")
            before = self._counted.get(what)
        count, first = (before.count + 1, before.first) if before else (1, now)
        self._counted[what] = Use(
            vault=what.vault,
            credential=what.credential,
            operation=what.operation,
            outcome=what.outcome,
            count=count,
            first=first,
            last=now,
        )

    async def flush(self) -> None:
        """Write what was counted; what cannot be written is kept for the next time."""
        if not self._counted:
            return
        control = await self.stores.control()
        taken = dict(self._counted)
        self._counted.clear()
        try:
            for some in _batches(list(taken.items())):
                writes = [write for _what, use in some for write in uses.add(use)]
                refused = [audit.insert(self._line(what, use)) for what, use in some if what.outcome != "done"]
                await control.apply([*writes, *refused])
                for what, _use in some:
                    del taken[what]
        finally:
            for what, use in taken.items():
                self._add(what, use)

    def _add(self, what: _What, use: Use) -> None:
        newer = self._counted.get(what)
        if newer is not None:
            use = replace(newer, count=newer.count + use.count, first=use.first)
        self._counted[what] = use

    def _line(self, what: _What, use: Use) -> Entry:
        return Entry(
            id=self.new_id(),
            vault=what.vault,
            at=use.last,
            user=what.user,
            credential=what.form,
            credential_id=what.credential,
            action=what.operation,
            count=use.count,
            outcome=what.outcome,
        )


def _batches(items: list[tuple[_What, Use]]) -> list[list[tuple[_What, Use]]]:
    return [items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE)]
