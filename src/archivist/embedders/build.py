"""Builds the files of the built-in model: `python -m archivist.embedders.build WEIGHTS FOLDER`.

A process of its own, so that what building needs (some 500 MB for five seconds) is given back when it ends.
"""

import sys
from pathlib import Path

from archivist.embedders.graph import build_graph
from archivist.embedders.preparation import GRAPH, VOCABULARY
from archivist.embedders.vocabulary import build_vocabulary
from archivist.embedders.weights import Weights


def main() -> int:
    """Exit code 0 and both files in the folder, or 1 and the system's reason on the last line of stdout."""
    weights, folder = Weights(Path(sys.argv[1])), Path(sys.argv[2])
    try:
        build_graph(weights, folder / GRAPH)
        build_vocabulary(weights, folder / VOCABULARY)
    except OSError as error:
        sys.stdout.write(f"{error.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
