"""What a tool or resource handler is given besides its arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from archivist.mcp.asking import Round

if TYPE_CHECKING:  # the services pull in the database and numpy; the catalogue answers before they are there
    from archivist.app import App
    from archivist.domain.access import Principal


@dataclass(frozen=True, slots=True)
class Call:
    """One caller, the services that answer, and what the call says about questions to its person."""

    app: App
    who: Principal
    round: Round = field(default_factory=Round)
