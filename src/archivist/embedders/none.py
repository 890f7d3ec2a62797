"""No embedder: the owner wants search by words alone."""

from collections.abc import Sequence

from archivist.domain.errors import EmbedderUnavailable
from archivist.embedders.embedder import Floats, State

_REASON = "no embedder is set, so search is by words alone; the setting `embedder` can change that"


class NoEmbedder:
    """Refuses every text and costs nothing."""

    @property
    def space(self) -> str:
        return ""

    @property
    def state(self) -> State:
        return "none"

    @property
    def reason(self) -> str:
        return _REASON

    async def passages(self, texts: Sequence[str]) -> Sequence[Floats]:  # noqa: ARG002 the protocol has it
        raise EmbedderUnavailable(_REASON)

    async def query(self, text: str) -> Floats:  # noqa: ARG002 the protocol has it
        raise EmbedderUnavailable(_REASON)

    async def start(self) -> None: ...

    async def settle(self) -> None: ...

    async def close(self) -> None: ...
