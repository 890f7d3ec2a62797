"""Makes the built-in model's files once, in the data folder, so that no start finds them half made.

They are built by a process of its own in a folder with a temporary name, written through to the disk, and appear
under their final name in one rename. Two that prepare at once both build; the second to finish drops its copy.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

from archivist.domain.errors import EmbedderUnavailable, Refused
from archivist.embedders.weights import require_genuine, weights_file

NAME = "me5s-q4-int8x-1"
"""The folder of the finished files. Whatever builds other files must change it."""

GRAPH = "encoder.onnx"
VOCABULARY = "pieces.model"

SILENCE = {"ORT_DISABLE_TELEMETRY": "1"}
"""In the environment of whatever imports onnxruntime, and before it does: else that writes a device id and usage
records into the home folder, and sends them to its maker."""

_TEMPORARY = ".preparing-"
_ABANDONED = 3600
"""Seconds after which a temporary folder is taken to be left over from a process that died."""

_POLL = 0.05


def prepare(models: Path, on_progress: Callable[[str], None], stop: Event) -> Path:
    """The folder of the finished files inside `models`, built now if it is not there. Blocks for some seconds then.

    Raises:
        Refused: it cannot be built; says why and how to mend it.
        EmbedderUnavailable: `stop` was set meanwhile.
    """
    finished = models / NAME
    if finished.is_dir():
        return finished
    weights = weights_file()
    require_genuine(weights)
    on_progress("preparing the built-in search model, once; this takes about 5 seconds")
    try:
        models.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_abandoned(models)
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=models, ignore_cleanup_errors=True) as folder:
            _build(weights, Path(folder), stop)
            _publish(Path(folder), finished)
    except OSError as error:
        raise _unbuildable(error.strerror or "unknown") from None
    on_progress("the built-in search model is prepared")
    return finished


def _build(weights: Path, folder: Path, stop: Event) -> None:
    """Runs the building process; its own temporary files lie in `folder`, too, and its words are not passed on."""
    command = [sys.executable, "-m", "archivist.embedders.build", str(weights), str(folder)]
    quiet = subprocess.DEVNULL
    surroundings = os.environ | SILENCE | {"TMPDIR": str(folder)}
    with subprocess.Popen(command, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, env=surroundings) as process:  # noqa: S603 our own module
        while process.poll() is None:
            if stop.wait(_POLL):
                process.kill()
                raise EmbedderUnavailable("the search model was not prepared: the server is stopping")
        if process.returncode:
            said = process.stdout.read().decode(errors="replace") if process.stdout else ""
            raise _unbuildable(said.strip() or f"the building process ended with {process.returncode}")


def _publish(folder: Path, finished: Path) -> None:
    """Writes the files through to the disk, then gives their folder its final name, unless another was faster."""
    for name in (GRAPH, VOCABULARY):
        file = folder / name
        file.chmod(0o600)
        _flush(file)
    _flush(folder)
    try:
        folder.rename(finished)
    except OSError:
        if not finished.is_dir():
            raise
    _flush(finished.parent)


def _flush(path: Path) -> None:
    if path.is_dir() and sys.platform == "win32":
        return  # folders cannot be opened there; NTFS keeps its own journal of names
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_abandoned(models: Path) -> None:
    for folder in models.glob(f"{_TEMPORARY}*"):
        if time.time() - folder.stat().st_mtime > _ABANDONED:
            shutil.rmtree(folder, ignore_errors=True)


def _unbuildable(why: str) -> Refused:
    return Refused(
        f"the built-in search model could not be prepared ({why}): "
        "see that the data folder is writable and has 200 MB free, and start again"
    )
