"""Entries of the audit trail and counts of uses as pages show them: with names where ids stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from archivist.domain.audit import Entry
from archivist.domain.ids import UserId
from archivist.services.trail import Doings
from archivist.web import words


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the ids of people, of connections and keys, and of vaults are called; one that is not known stays an id."""

    users: Mapping[UserId, str]
    credentials: Mapping[str, str]
    vaults: Mapping[str, str]

    def entry(self, act: Entry) -> Mapping[str, Any]:
        """One act."""
        return {
            "id": act.id,
            "at": act.at,
            "user": self.users.get(UserId(act.user), act.user) or words.NOBODY,
            "through": self._through(act.credential_id) or words.THROUGH.get(act.credential, act.credential),
            "credential": act.credential_id,
            "action": act.action,
            "vault": self.vaults.get(act.vault, ""),
            "target": act.target,
            "count": act.count,
            "outcome": act.outcome,
        }

    def sums(self, doings: Doings) -> Sequence[Mapping[str, Any]]:
        """How often what was done through which connection or key."""
        return [
            {
                "through": self._through(use.credential) or use.credential,
                "credential": use.credential,
                "action": use.operation,
                "outcome": use.outcome,
                "count": use.count,
                "first": use.first,
                "last": use.last,
            }
            for use in doings.counts
        ]

    def _through(self, credential: str) -> str:
        return self.credentials.get(credential, "")
