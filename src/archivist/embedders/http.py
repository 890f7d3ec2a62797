"""The embedder that asks a server: Ollama, vLLM, LM Studio, TEI, or whatever speaks OpenAI's `/v1/embeddings`."""

import asyncio
from collections.abc import Sequence

import numpy as np

from archivist.domain.errors import EmbedderUnavailable
from archivist.embedders.debias import unit
from archivist.embedders.embedder import Floats, State
from archivist.embedders.endpoint import Misconfigured, Outage, endpoint, new_client
from archivist.embedders.recent import RecentQueries
from archivist.embedders.windows import both_ends, stretches

BATCH = 32
"""Windows in one request."""

_AT_ONCE = 8
"""Requests under way together."""

_LONGEST_PAUSE = 60.0


class HttpEmbedder:
    """The model's own vectors, made unit length. Lives on the event loop that started it.

    The space is the model's name and its dimension, which the first answer tells; until then, and whenever the server
    is away, it is asked again in the background. timeout and pause: seconds for one attempt, and between the
    first background attempts.
    """

    def __init__(self, address: str, model: str, key: str = "", *, timeout: float = 30, pause: float = 1) -> None:
        """Raises Refused if the address or the model cannot be one."""
        self._endpoint = endpoint(address, model, key, timeout)
        self._pause = pause
        self._client = new_client()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._dimension = 0
        self._status: tuple[State, str] = "preparing", "the embedding server has not been asked yet"
        self._settled = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None
        self._recent = RecentQueries()

    @property
    def space(self) -> str:
        return f"{self._endpoint.model}/{self._dimension}" if self._dimension else ""

    @property
    def state(self) -> State:
        return self._status[0]

    @property
    def reason(self) -> str:
        return self._status[1]

    async def start(self) -> None:
        self._watch = asyncio.create_task(self._until_it_answers())

    async def settle(self) -> None:
        await self._settled.wait()

    async def passages(self, texts: Sequence[str]) -> Sequence[Floats]:
        if not texts:
            return []
        windows = [stretches(text) for text in texts]
        vectors = await self._embed([window for part in windows for window in part])
        ends = np.cumsum([len(part) for part in windows])
        return np.split(vectors, ends[:-1])

    async def query(self, text: str) -> Floats:
        known = self._recent.get(text)
        if known is None:
            known = unit((await self._embed(both_ends(text))).mean(axis=0))
            self._recent.put(text, known)
        return known

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        self._be("failed", "the connection to the embedding server has been closed")
        await self._client.aclose()

    async def _embed(self, windows: Sequence[str]) -> Floats:
        if self.state != "ready":
            raise EmbedderUnavailable(self.reason)
        parts = [windows[start : start + BATCH] for start in range(0, len(windows), BATCH)]
        try:
            return np.concatenate([await self._ask(part) for part in parts])
        except Misconfigured as error:
            self._be("failed", error.detail)
            raise
        except Outage as error:
            self._lose(error.detail)
            raise

    async def _ask(self, windows: Sequence[str]) -> Floats:
        async with self._places:
            vectors = await self._endpoint.embed(self._client, windows)
        self._require_dimension(vectors)
        return vectors

    async def _until_it_answers(self) -> None:
        """Asks until there is an answer, or until asking again makes no sense."""
        pause = self._pause
        while True:
            try:
                vectors = await self._endpoint.attempt(self._client, ["hello"])
                self._require_dimension(vectors)
            except Misconfigured as error:
                return self._be("failed", error.detail)
            except EmbedderUnavailable as error:
                self._be("preparing", f"{error.detail}; it is asked again until it does")
            else:
                return self._be("ready", f"model {self.space} of the embedding server")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _require_dimension(self, vectors: Floats) -> None:
        """The first answer sets it. Another one later is another model, whose vectors must not be mixed with these."""
        self._dimension = self._dimension or vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            raise Misconfigured(
                f"the embedding server now answers with {vectors.shape[1]} numbers instead of {self._dimension}: "
                "bring the former model back, or start again to make all vectors anew with this one"
            )

    def _lose(self, reason: str) -> None:
        """Back to asking in the background, so that callers are answered at once meanwhile."""
        if self.state == "ready":
            self._status = "preparing", reason
            self._settled.clear()
            self._watch = asyncio.create_task(self._until_it_answers())

    def _be(self, state: State, reason: str) -> None:
        self._status = state, reason
        self._settled.set()
