"""What every embedder promises: text in, unit vectors of one named space out."""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
State = Literal["preparing", "ready", "failed", "none"]


class Embedder(Protocol):
    """Vectors are comparable only within one `space`; the name changes whenever the numbers would."""

    @property
    def space(self) -> str:
        """Empty as long as it is not known; once known, it stays for the life of this object."""
        ...

    @property
    def state(self) -> State:
        """`ready` answers now; `preparing` will, by itself; `failed` says why in `reason`; `none` never will."""
        ...

    @property
    def reason(self) -> str:
        """One line for people: what is active, or what is wrong and how to mend it."""
        ...

    async def passages(self, texts: Sequence[str]) -> Sequence[Floats]:
        """For each text its vectors, (windows, d) unit rows: a window for every stretch of the text, none left out.

        Raises:
            EmbedderUnavailable: not ready, or the model did not answer.
        """
        ...

    async def query(self, text: str) -> Floats:
        """One unit vector, (d,). Long text is read by windows, at most a bounded number of them, and averaged.

        Raises:
            EmbedderUnavailable: not ready, or the model did not answer.
        """
        ...

    async def start(self) -> None:
        """Begin to prepare in the background; returns at once. What goes wrong there shows in `state`, never here."""
        ...

    async def settle(self) -> None:
        """Return once the state is not `preparing`, or nobody can say when it will end, as with a server that is away.

        For callers that would rather wait than go without vectors.
        """
        ...

    async def close(self) -> None:
        """Stop; calls under way fail with EmbedderUnavailable. Repeating it is harmless."""
        ...
