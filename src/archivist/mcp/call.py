"""What a tool or resource handler is given besides its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the services pull in the database and numpy; the catalogue answers before they are there
    from archivist.app import App
    from archivist.domain.access import Principal


@dataclass(frozen=True, slots=True)
class Call:
    """One caller, and the services that answer."""

    app: App
    who: Principal
