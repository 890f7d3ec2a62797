"""Where a one-time link leads: under the address that the settings name, whatever a request says of its host."""

from archivist.domain.links import Kind
from archivist.settings import Settings


def address(settings: Settings, kind: Kind, secret: str) -> str:
    """The whole address of a link, to be shown once and kept nowhere."""
    return f"{settings.origin}/{kind}/{secret}"
