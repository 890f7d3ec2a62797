"""Makes the matrix that takes language out of the built-in model's vectors: `python tools/debias.py MODELS [OUT]`.

MODELS is a folder with the prepared model (it is prepared there if it is not). The sentences are `parallel.tsv`: our
own, a column for each language, a row for each sentence. Run it when they change, and raise `debias.VERSION` then.
"""

import sys
from pathlib import Path
from threading import Event

import numpy as np

from archivist.embedders import debias
from archivist.embedders.builtin import load_encoder
from archivist.embedders.debias import Debias
from archivist.embedders.embedder import Floats
from archivist.embedders.preparation import prepare

SENTENCES = Path(__file__).with_name("parallel.tsv")
DIRECTIONS = 8
"""More gain a little across languages and begin to cost within one."""


def sentences(path: Path = SENTENCES) -> dict[str, list[str]]:
    """The sentences of each language, in the same order for all."""
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return {column[0]: list(column[1:]) for column in zip(*lines, strict=True)}


def made(models: Path) -> Debias:
    """How each language's mean differs from the mean of all, reduced to the DIRECTIONS in which they differ most.

    The sentences are read as questions are: measured, that serves questions and passages better than the reverse.
    """
    encoder = load_encoder(prepare(models, print, Event()), threads=1)
    means = np.stack(
        [
            np.concatenate([encoder.encode(encoder.query(text)) for text in texts]).mean(axis=0)
            for texts in sentences().values()
        ]
    )
    mean: Floats = means.mean(axis=0)
    directions = np.linalg.svd(means - mean, full_matrices=False)[2][:DIRECTIONS].T
    return Debias(mean, np.ascontiguousarray(directions, dtype=np.float32))


def main() -> None:
    result = made(Path(sys.argv[1]))
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else debias.FILE
    np.savez(out, mean=result.mean, directions=result.directions)


if __name__ == "__main__":
    main()
