"""The model's files are made once, whole or not at all, for their owner alone."""

import os
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest

from archivist.domain.errors import EmbedderUnavailable, Refused
from archivist.embedders import preparation
from archivist.embedders.preparation import GRAPH, NAME, VOCABULARY, prepare
from tests.fixtures_models import silent

PREPARE = """
import sys
from pathlib import Path
from threading import Event
from archivist.embedders.preparation import prepare
print(prepare(Path(sys.argv[1]), lambda line: print(line, file=sys.stderr), Event()).name)
"""

DIE_HALF_WAY = """
import os, signal, sys
from pathlib import Path
from threading import Event
from archivist.embedders import preparation
def half(weights, folder, stop):
    (folder / preparation.GRAPH).write_bytes(b"half of a graph")
    os.kill(os.getpid(), signal.SIGKILL)
preparation._build = half
preparation.prepare(Path(sys.argv[1]), print, Event())
"""


def run(code: str, models: Path, **settings: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, str(models)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def age(folder: Path) -> None:
    """As if it had been left two hours ago."""
    long_ago = time.time() - 7200
    os.utime(folder, (long_ago, long_ago))


@pytest.fixture(scope="module")
def survived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, str, str]]]:
    """A folder in which one process was killed half-way, and then two prepared at once; with what these two said."""
    models = tmp_path_factory.mktemp("data") / "models"
    with run(DIE_HALF_WAY, models) as killed:
        killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not (models / NAME).exists()
    (left_over,) = models.iterdir()
    age(left_over)
    both = [run(PREPARE, models) for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    return models, [(process.returncode, *words) for process, words in zip(both, said, strict=True)]


def test_two_that_prepare_at_once_both_end_well(survived):
    _, outcomes = survived
    assert [(code, out) for code, out, _ in outcomes] == [(0, f"{NAME}\n")] * 2


def test_preparing_tells_that_it_begins_and_ends(survived):
    _, outcomes = survived
    assert all("about 5 seconds" in said and "is prepared" in said for _, _, said in outcomes)


def test_nothing_but_the_finished_files_is_left_even_after_a_crash(survived):
    models, _ = survived
    assert [path.name for path in models.iterdir()] == [NAME]
    assert {GRAPH, VOCABULARY} <= {path.name for path in (models / NAME).iterdir()}


def test_folders_and_files_are_for_their_owner_alone(survived):
    models, _ = survived
    assert mode(models) == 0o700
    assert mode(models / NAME) == 0o700
    assert {mode(models / NAME / name) for name in (GRAPH, VOCABULARY)} == {0o600}


def test_what_is_prepared_is_used_as_it_is(survived):
    models, _ = survived
    before = (models / NAME / GRAPH).stat()
    told: list[str] = []
    assert prepare(models, told.append, Event()) == models / NAME
    assert told == []
    assert (models / NAME / GRAPH).stat() == before


def test_a_recent_temporary_folder_is_left_to_who_works_in_it(tmp_path):
    at_work = tmp_path / ".preparing-abc"
    abandoned = tmp_path / ".preparing-xyz"
    at_work.mkdir()
    abandoned.mkdir()
    age(abandoned)
    preparation._remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [at_work]


def test_stopping_ends_the_building_process_and_leaves_nothing(tmp_path):
    stop = Event()
    stop.set()
    with pytest.raises(EmbedderUnavailable, match="stopping"):
        prepare(tmp_path, silent, stop)
    assert list(tmp_path.iterdir()) == []


def test_a_models_folder_that_cannot_be_made_is_refused_with_the_mend(tmp_path):
    in_the_way = tmp_path / "models"
    in_the_way.write_text("a file")
    with pytest.raises(Refused, match=r"could not be prepared.*data folder is writable"):
        prepare(in_the_way, silent, Event())


def test_a_disk_that_takes_no_more_is_refused_with_the_mend(tmp_path):
    limit = 1_000_000

    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with run(PREPARE, tmp_path, preexec_fn=small_files_only) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Refused: the built-in search model could not be prepared (File too large)" in said
    assert "200 MB free" in said
    assert list(tmp_path.iterdir()) == []
