"""What every embedder promises, for each of them."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest

from archivist.domain.errors import EmbedderUnavailable
from archivist.embedders.builtin import BuiltinEmbedder
from archivist.embedders.embedder import Embedder, Floats
from archivist.embedders.hashed import HashedEmbedder
from archivist.embedders.http import HttpEmbedder
from tests.fixtures_models import builtin as builtin
from tests.fixtures_models import models as models
from tests.fixtures_models import silent
from tests.unit.embedders.stand_in import StandIn

pytestmark = pytest.mark.anyio

ODD = [
    "",
    "   \t\n\r\n ",
    "a\u00a0b\u2003c\u200bd",
    "😀👩‍👩‍👧‍👦🏳️‍🌈",
    "مرحبا بالعالم، أين المفتاح؟",
    "שלום עולם",
    "钥匙在二楼的邻居那里",
    "NUL \x00 and a lone \ud800 surrogate",
    "ｆｕｌｌ ｗｉｄｔｈ",
    "e\u0301 é",
    '"quoted" AND * NEAR( \\ \' ; --',
]


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with StandIn() as server:
        yield server


@pytest.fixture(params=["builtin", "http", "hashed"])
async def embedder(request: pytest.FixtureRequest, stand_in: StandIn) -> AsyncIterator[Embedder]:
    if request.param == "builtin":
        yield request.getfixturevalue("builtin")
        return
    made = HashedEmbedder() if request.param == "hashed" else HttpEmbedder(stand_in.address, "m")
    await made.start()
    async with asyncio.timeout(5):
        await made.settle()
    yield made
    await made.close()


@pytest.fixture(params=["builtin", "http", "hashed"])
def unstarted(request: pytest.FixtureRequest, stand_in: StandIn) -> Embedder:
    if request.param == "builtin":
        return BuiltinEmbedder(request.getfixturevalue("models"), on_progress=silent)
    return HashedEmbedder() if request.param == "hashed" else HttpEmbedder(stand_in.address, "m")


def assert_unit_rows(vectors: Floats) -> None:
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1, atol=1e-5)


async def test_a_passage_becomes_unit_rows_of_one_dimension(embedder):
    (vectors,) = await embedder.passages(["The key is with the neighbour."])
    assert vectors.ndim == 2
    assert len(vectors) == 1
    assert_unit_rows(vectors)


async def test_a_query_becomes_one_unit_vector_of_the_same_dimension(embedder):
    (passage,) = await embedder.passages(["The key is with the neighbour."])
    vector = await embedder.query("Where is the key?")
    assert vector.shape == passage.shape[1:]
    assert_unit_rows(vector)


async def test_what_is_ready_says_so_and_names_its_space(embedder):
    assert embedder.state == "ready"
    assert embedder.space
    assert embedder.reason


async def test_no_texts_give_no_vectors(embedder):
    assert list(await embedder.passages([])) == []


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_odd_text_is_embedded_like_any_other(embedder, text):
    (vectors,) = await embedder.passages([text])
    assert_unit_rows(vectors)
    assert_unit_rows(await embedder.query(text))


async def test_the_same_text_always_gives_the_same_vector(embedder):
    first, second = [(await embedder.passages(["It rains in Bergen."]))[0] for _ in range(2)]
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(await embedder.query("rain?"), await embedder.query("rain?"))


async def test_texts_keep_their_order_and_company_changes_nothing(embedder):
    texts = [f"Note {number}: " + "the lamp in the hall " * (number % 7) for number in range(40)]
    together = await embedder.passages(texts)
    for text, vectors in zip(texts[::9], together[::9], strict=True):
        (alone,) = await embedder.passages([text])
        assert (alone[0] @ vectors[0]) > 0.99


async def test_callers_at_once_each_get_their_own(embedder):
    texts = [f"Room {number} is {colour}" for number in range(4) for colour in ("red", "green")]
    answers = await asyncio.gather(*[embedder.passages([text, "shared"]) for text in texts])
    for text, (own, _) in zip(texts, answers, strict=True):
        (alone,) = await embedder.passages([text])
        assert (alone[0] @ own[0]) > 0.99


async def test_a_caller_who_gives_up_breaks_no_other(embedder):
    given_up = [asyncio.ensure_future(embedder.passages([f"never mind {number}"])) for number in range(8)]
    kept = asyncio.ensure_future(embedder.passages(["the one that matters"]))
    await asyncio.sleep(0)
    for call in given_up:
        call.cancel()
    async with asyncio.timeout(5):
        (vectors,) = await kept
    assert_unit_rows(vectors)


async def test_long_text_is_found_by_its_last_line(embedder):
    filler = " ".join(f"Line {number} of the report speaks of the weather." for number in range(440))
    long, last, other = await embedder.passages([filler + " The zebra sleeps.", "The zebra sleeps.", "A cello plays."])
    assert len(filler) > 20_000
    assert len(long) > 5
    assert np.argmax(long @ last[0]) == len(long) - 1
    assert (long[-1] @ last[0]) > (long[-1] @ other[0])


async def test_a_query_of_any_length_becomes_one_vector(embedder):
    assert_unit_rows(await embedder.query("where is the key? " * 6_000))
    assert_unit_rows(await embedder.query("钥匙在哪里" * 20_000))


async def test_both_ends_of_a_long_query_count(embedder):
    middle = "the weather was fine " * 500
    plain = await embedder.query(middle)
    assert not np.allclose(plain, await embedder.query("zebra cellar. " + middle))
    assert not np.allclose(plain, await embedder.query(middle + "zebra cellar."))


async def test_before_the_start_every_text_is_refused(unstarted):
    assert unstarted.state == "preparing"
    with pytest.raises(EmbedderUnavailable):
        await unstarted.passages(["a"])
    with pytest.raises(EmbedderUnavailable):
        await unstarted.query("a")
    await unstarted.close()


async def test_after_the_end_every_text_is_refused_and_ending_again_is_harmless(unstarted):
    await unstarted.start()
    async with asyncio.timeout(5):
        await unstarted.settle()
    await unstarted.close()
    await unstarted.close()
    assert unstarted.state == "failed"
    with pytest.raises(EmbedderUnavailable):
        await unstarted.passages(["a"])
