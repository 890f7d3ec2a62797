"""One step of a worker's round: what goes wrong with a vault is logged, and holds up no other one."""

from collections.abc import Awaitable
from typing import TypeVar

from archivist.domain.errors import ArchivistError
from archivist.domain.ids import VaultId
from archivist.telemetry.logging import logger, place_of

T = TypeVar("T")

log = logger(__name__)


async def attempted(what: str, vault: VaultId, work: Awaitable[T]) -> T | None:
    """What `work` comes to; None if it failed. Of what nobody foresaw only class and place are logged, never text."""
    try:
        return await work
    except ArchivistError as error:
        log.warning(what, vault=vault, reason=error.detail)
    except Exception as error:
        log.error(what, vault=vault, unexpected=type(error).__qualname__, place=place_of(error))
    return None
