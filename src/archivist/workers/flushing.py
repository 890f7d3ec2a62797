"""Writes down, every second at most, what connections and keys did."""

import asyncio
from dataclasses import dataclass

from archivist.domain.ids import CONTROL
from archivist.services.counting import Counting
from archivist.workers.rounds import attempted

ROUND_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Flushing:
    """Works in the background of a server; what is left at the end is written then."""

    counting: Counting

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await attempted("uses wait", CONTROL, self.counting.flush())
            await asyncio.sleep(ROUND_SECONDS)
