"""Counting what connections and keys do: in memory at first, so that no request waits for it, then in the database.

What was counted and not yet written is lost with the process, at most a second of it. Refusals are counted the same
way, for whoever asks a thousand times must not fill the disk; each kind of them also leaves a line in the trail: one
at once, and then one now and then, with how many there were since.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from archivist.domain.access import Principal
from archivist.domain.audit import Entry
from archivist.domain.ids import UserId, VaultId
from archivist.domain.uses import Use
from archivist.storage import audit, uses
from archivist.storage.database import Database
from archivist.storage.stores import Stores

KINDS = 5_000
"""Different things that are counted between two writes; what is more than that is counted together."""

TOLD = timedelta(minutes=10)
"""A kind of refusal that goes on leaves a line so often."""

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
    _lines: dict[_What, Use] = field(default_factory=dict)
    _told: dict[_What, datetime] = field(default_factory=dict)

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

    async def flush(self, *, ending: bool = False) -> None:
        """Write what was counted; what cannot be written is kept for the next time.

        ending: nothing is put off any more.
        """
        if not self._counted and not self._lines:
            return
        control = await self.stores.control()
        taken = dict(self._counted)
        self._counted.clear()
        try:
            for some in _batches(taken):
                await control.apply([write for use in some.values() for write in uses.add(use)])
                for what, use in some.items():
                    del taken[what]
                    if what.outcome != "done":
                        _add(self._lines, what, use)
        finally:
            for what, use in taken.items():
                _add(self._counted, what, use)
        await self._tell(control, ending=ending)

    async def _tell(self, control: Database, *, ending: bool) -> None:
        """Write the lines that are due."""
        now = self.now()
        for what in [what for what, told in self._told.items() if not told <= now < told + TOLD]:
            del self._told[what]
        due = {what: use for what, use in self._lines.items() if ending or what not in self._told}
        for some in _batches(due):
            await control.apply([audit.insert(self._line(what, use)) for what, use in some.items()])
            for what in some:
                del self._lines[what]
                self._told[what] = now

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


def _add(counted: dict[_What, Use], what: _What, use: Use) -> None:
    """Count `use`, too, whether it is older or newer than what may be there."""
    there = counted.get(what, use)
    both = use.count if there is use else there.count + use.count
    counted[what] = replace(use, count=both, first=min(there.first, use.first), last=max(there.last, use.last))


def _batches(counted: dict[_What, Use]) -> list[dict[_What, Use]]:
    items = list(counted.items())
    return [dict(items[start : start + _AT_ONCE]) for start in range(0, len(items), _AT_ONCE)]
