"""Memories and their embedder: prepared at the first start, away for a while, replaced, killed midway."""

import re
from collections.abc import Callable
from pathlib import Path

from tests.e2e import inspecting
from tests.e2e.callers import Call, over_http
from tests.e2e.processes import Place
from tests.unit.embedders.stand_in import Reply, StandIn, items, reply, vectors
from tests.waiting import until

FACTS = 150


def a_model(dimension: int) -> Callable[[list[str]], Reply]:
    return lambda texts: reply(items(vectors(texts, dimension)))


def asking(place: Place, server: StandIn, model: str) -> Place:
    return Place(place.data, {"ARCHIVIST_EMBEDDER": server.address, "ARCHIVIST_EMBEDDER_MODEL": model})


def spaces(place: Place) -> dict[str, int]:
    """How many memories have vectors of each space."""
    [path] = inspecting.vault_files(place.data)
    with inspecting.looking(path) as connection:
        return dict(connection.execute("SELECT space, count(DISTINCT memory) FROM vectors GROUP BY space"))


def pending(call: Call) -> int:
    waiting: int = call("memory_status")["search"]["pending"]
    return waiting


def finds(call: Call, number: int) -> bool:
    rows = call("search_memories", query=f"word{number}")["results"]
    return bool(rows) and rows[0]["text"].startswith(f"word{number} ")


def test_another_model_makes_all_vectors_anew_in_the_background_also_after_a_kill(place: Place):
    with StandIn() as stand_in:
        stand_in.behaviour = a_model(1_000)
        old = asking(place, stand_in, "old")
        key = place.key()
        with old.serving() as server, over_http(server.origin, key) as call:
            until(lambda: call("memory_status")["search"]["state"] == "ready", "the embedder answers")
            for number in range(FACTS):
                call("store_memory", content=f"word{number} is fact number {number}")
            assert pending(call) == 0
        assert spaces(place) == {"old/1000": FACTS}

        slow = _Slow(a_model(500), after=2)
        stand_in.behaviour = slow
        new = asking(place, stand_in, "new")
        with new.serving() as server, over_http(server.origin, key) as call:
            until(lambda: 0 < pending(call) < FACTS, "some vectors are made anew")
            assert all(finds(call, number) for number in range(0, FACTS, 20)), "meanwhile search is right"
            server.started.kill()
        left = spaces(place)
        assert left["new/500"] + left["old/1000"] == FACTS
        assert 0 < left["new/500"] < FACTS

        stand_in.behaviour = a_model(500)
        with new.serving() as server, over_http(server.origin, key) as call:
            until(lambda: call("memory_status")["search"]["state"] == "ready" and not pending(call), "all are anew")
            assert all(finds(call, number) for number in range(0, FACTS, 10))
    assert spaces(place) == {"new/500": FACTS}


class _Slow:
    """A model that answers questions and a few batches of passages, then no more passages."""

    def __init__(self, model: Callable[[list[str]], Reply], after: int) -> None:
        self._model = model
        self._left = after

    def __call__(self, texts: list[str]) -> Reply:
        if len(texts) > 1:
            self._left -= 1
            if self._left < 0:
                return Reply(b"busy", 503)
        return self._model(texts)


def test_what_is_stored_while_the_embedder_is_away_is_found_by_words_and_embedded_later(place: Place):
    with StandIn() as gone:
        port = gone.port
    away = Place(place.data, {"ARCHIVIST_EMBEDDER": f"http://127.0.0.1:{port}", "ARCHIVIST_EMBEDDER_MODEL": "m"})
    key = place.key()
    with away.serving() as server, over_http(server.origin, key) as call:
        assert call("store_memory", content="word1 is kept anyway")["stored"] is True
        assert pending(call) == 1
        answer = call("search_memories", query="word1")
        assert answer["results"][0]["text"] == "word1 is kept anyway"
        assert "by words alone" in answer["note"]
        with StandIn(port):
            until(lambda: not pending(call), "its vectors are made")
            assert finds(call, 1)
    assert spaces(place) == {"m/1000": 1}


def test_the_first_start_prepares_the_model_with_a_line_and_serves_by_words_at_once(place: Place, tmp_path: Path):
    fresh = Place(place.data, {"ARCHIVIST_MODELS": str(tmp_path / "models")})
    key = place.key()
    with fresh.serving() as server, over_http(server.origin, key) as call:
        call("store_memory", content="word1 is there before the model is")
        assert finds(call, 1)
        server.started.line(re.compile("preparing the built-in search model, once"))
        server.started.line(re.compile("the built-in search model is prepared"))
        until(lambda: call("memory_status")["search"]["state"] == "ready" and not pending(call), "vectors are made")
        assert call("search_memories", query="what was there prior to the language model?")["results"]
    assert sum(spaces(place).values()) == 1
