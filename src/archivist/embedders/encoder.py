"""The built-in model at work: tokens from text, vectors from tokens. Blocking, and for one thread at a time."""

import ctypes
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import sentencepiece

from archivist.embedders.embedder import Floats
from archivist.embedders.preparation import GRAPH, VOCABULARY
from archivist.embedders.weights import Weights
from archivist.embedders.windows import QUERY_WINDOWS, ends, spans

DIMENSION = 384
WINDOW = 512
"""Tokens that the model can read at once, its marks and the prefix included; a query is read by windows of this."""

PASSAGE_WINDOW = 192
"""Of a long text. In wider windows a single sentence drowns: measured on minutes of 20,000 characters with one odd
sentence at the end, its windows of 512 lose against any short note, those of 192 win clearly; 64 are no better."""

OVERLAP = 48
_START, _PADDING, _END = 0, 1, 2

Tokens = list[int]


class Encoder:
    """The model before debiasing. The prefixes are those it was trained with."""

    def __init__(self, weights: Path, folder: Path, threads: int) -> None:
        self._weights = Weights(weights)
        self._pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / VOCABULARY))
        self._session = _session(folder / GRAPH, threads)
        self._query_prefix = [_START, *self._pieces.encode("query:")]
        self._passage_prefix = [_START, *self._pieces.encode("passage:")]
        _return_freed_memory()

    def passage(self, text: str) -> list[Tokens]:
        """The windows of a text that is to be found, in order, nothing left out."""
        return _windows(self._passage_prefix, self._tokens(text), PASSAGE_WINDOW)

    def query(self, text: str) -> list[Tokens]:
        """At most QUERY_WINDOWS windows of a text that asks: its beginning and, if it is long, its end."""
        windows = [window for part in ends(text) for window in _windows(self._query_prefix, self._tokens(part), WINDOW)]
        return windows if len(windows) <= QUERY_WINDOWS else [windows[0], windows[-1]]

    def encode(self, windows: Sequence[Tokens]) -> Floats:
        """Unit vectors, (len(windows), DIMENSION); at least one window. Cost grows with the longest of them."""
        longest = max(map(len, windows))
        ids = np.full((len(windows), longest), _PADDING, np.int64)
        mask = np.zeros(ids.shape, np.int32)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        (vectors,) = self._session.run(["mean"], {"embeds": self._weights.words(ids), "mask": mask})
        self._weights.release()
        return np.asarray(vectors, dtype=np.float32)

    def _tokens(self, text: str) -> Tokens:
        encoded: Tokens = self._pieces.encode(text.encode("utf-8", "replace"))
        return encoded


def _windows(prefix: Tokens, tokens: Tokens, size: int) -> list[Tokens]:
    room = size - len(prefix) - 1
    return [[*prefix, *tokens[span], _END] for span in spans(len(tokens), room, OVERLAP)]


def _session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    """No spinning, for it starves neighbours; no arena, for it keeps the memory of the largest batch ever seen."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _return_freed_memory() -> None:
    """Loading frees some 50 MB that glibc would keep for itself."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
        if trim is not None:
            trim(0)
