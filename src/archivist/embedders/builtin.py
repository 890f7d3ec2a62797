"""The built-in embedder: a small multilingual model in this process, run by one thread that gathers batches."""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from archivist.domain.errors import ArchivistError, EmbedderUnavailable
from archivist.embedders import debias
from archivist.embedders.batching import Backlog, Request
from archivist.embedders.embedder import Floats, State
from archivist.embedders.preparation import NAME, SILENCE, prepare
from archivist.embedders.recent import RecentQueries
from archivist.embedders.weights import require_genuine, weights_file

if TYPE_CHECKING:
    from archivist.embedders.encoder import Encoder

SPACE = f"me5s-q4/int8x/{debias.VERSION}"


def load_encoder(folder: Path, threads: int) -> "Encoder":
    """The model in the prepared `folder`, after checking the weights.

    Raises:
        Refused: the weights are missing or not those that the folder was made from.
    """
    weights = weights_file()
    require_genuine(weights)
    os.environ.update(SILENCE)
    from archivist.embedders.encoder import Encoder  # onnxruntime and its 50 MB only when needed, and after SILENCE

    return Encoder(weights, folder, threads)


class BuiltinEmbedder:
    """multilingual-e5-small in 8 bits: 384 dimensions, about 100 languages, no network.

    models: the folder for the prepared files. threads: processors that one batch may use; None takes half of what
    there is, at most 4. lazy: load the prepared model at the first call instead of at the start, for processes that
    may never need its 150 MB. on_progress: told, from another thread, what people may like to know.
    """

    def __init__(
        self, models: Path, *, threads: int | None = None, lazy: bool = False, on_progress: Callable[[str], None]
    ) -> None:
        self._models = models
        self._threads = threads or max(1, min(4, (os.cpu_count() or 1) // 2))
        self._lazy = lazy
        self._say = on_progress
        self._status: tuple[State, str] = "preparing", "the built-in search model is being made ready"
        self._settled: Future[None] = Future()
        self._inbox: SimpleQueue[Request | None] = SimpleQueue()
        self._door = Lock()  # a request is either put before the last look into the inbox, or refused
        self._stop = Event()
        self._thread = Thread(target=self._work, name="embedder", daemon=True)
        self._recent = RecentQueries()

    @property
    def space(self) -> str:
        return SPACE

    @property
    def state(self) -> State:
        return self._status[0]

    @property
    def reason(self) -> str:
        return self._status[1]

    async def start(self) -> None:
        self._thread.start()

    async def settle(self) -> None:
        await asyncio.shield(asyncio.wrap_future(self._settled))

    async def passages(self, texts: Sequence[str]) -> Sequence[Floats]:
        return await self._ask(texts, urgent=False) if texts else []

    async def query(self, text: str) -> Floats:
        known = self._recent.get(text)
        if known is None:
            (windows,) = await self._ask([text], urgent=True)
            known = debias.unit(windows.mean(axis=0))
            self._recent.put(text, known)
        return known

    async def close(self) -> None:
        self._stop.set()
        self._inbox.put(None)
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)

    async def _ask(self, texts: Sequence[str], *, urgent: bool) -> list[Floats]:
        request = Request(texts, urgent)
        with self._door:
            if self.state != "ready" or self._stop.is_set():
                raise EmbedderUnavailable(self.reason)
            self._inbox.put(request)
        return await asyncio.wrap_future(request.answer)

    def _work(self) -> None:
        """The thread: prepare, load, serve, until told to stop or until it cannot go on."""
        backlog = Backlog()
        reason = "the built-in search model has been stopped"
        try:
            folder = prepare(self._models, self._say, self._stop)
            if self._lazy:
                weights_file()
                self._become_ready()
                self._receive(backlog)
            if not self._stop.is_set():
                encoder = load_encoder(folder, self._threads)
                self._become_ready()
                self._serve(encoder, backlog)
        except ArchivistError as error:
            reason = error.detail
        except Exception as error:
            reason = (
                f"the built-in search model does not work ({type(error).__name__}): "
                f"remove {NAME} from the folder of models and start again"
            )
        self._end(backlog, reason)

    def _serve(self, encoder: "Encoder", backlog: Backlog) -> None:
        space = debias.load()
        while self._receive(backlog):
            windows = backlog.batch(encoder)
            if not windows:
                continue
            try:
                vectors = space.apply(encoder.encode([window.tokens for window in windows]))
            except Exception as error:
                refusal = EmbedderUnavailable(f"the built-in search model failed ({type(error).__name__})")
                for window in windows:
                    window.request.fail(refusal)
            else:
                for window, vector in zip(windows, vectors, strict=True):
                    window.request.put(window, vector)

    def _receive(self, backlog: Backlog) -> bool:
        """Moves what came in to the backlog, waiting if there is nothing to do; False when it is time to stop."""
        while not self._stop.is_set():
            try:
                request = self._inbox.get(block=not backlog)
            except Empty:
                return True
            if request is not None:
                backlog.add(request)
        return False

    def _become_ready(self) -> None:
        self._status = "ready", f"built-in model {SPACE}, in this process"
        self._settle()

    def _end(self, backlog: Backlog, reason: str) -> None:
        """From here on every call is refused, those under way included."""
        with self._door:
            self._status = "failed", reason
            while not self._inbox.empty():
                request = self._inbox.get()
                if request is not None:
                    backlog.add(request)
        for request in backlog.drain():
            request.fail(EmbedderUnavailable(reason))
        if not self._stop.is_set():
            self._say(reason)
        self._settle()

    def _settle(self) -> None:
        if not self._settled.done():
            self._settled.set_result(None)
