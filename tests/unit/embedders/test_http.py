"""The HTTP embedder against a real server on loopback: what it sends, believes, refuses, repeats and tells."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from archivist.domain.errors import EmbedderUnavailable, Refused
from archivist.embedders import endpoint as endpoints
from archivist.embedders.endpoint import ANSWER_BYTES, Outage, endpoint
from archivist.embedders.http import BATCH, HttpEmbedder
from tests.unit.embedders.stand_in import Behaviour, Reply, StandIn, honest, items, reply, vectors
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret"
TEXT = "a very private text"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_PAUSE", 0)


@asynccontextmanager
async def opened(server: StandIn, **settings: float) -> AsyncIterator[HttpEmbedder]:
    """Started; ready or not is for the test to see."""
    embedder = HttpEmbedder(server.address, "m", KEY, **{"timeout": 5, "pause": 0.01} | settings)
    await embedder.start()
    yield embedder
    await embedder.close()


@asynccontextmanager
async def ready(server: StandIn, **settings: float) -> AsyncIterator[HttpEmbedder]:
    async with opened(server, **settings) as embedder:
        await settled(embedder)
        assert embedder.state == "ready", embedder.reason
        yield embedder


async def settled(embedder: HttpEmbedder) -> None:
    async def is_settled() -> bool:
        return embedder.state != "preparing"

    await eventually(is_settled, "the server is asked until it answers")


async def refusal(embedder: HttpEmbedder) -> str:
    """What a caller is told; never the key or the text."""
    with pytest.raises(EmbedderUnavailable) as caught:
        await embedder.passages([TEXT])
    assert KEY not in str(caught.value) + embedder.reason
    assert TEXT not in str(caught.value) + embedder.reason
    return str(caught.value)


def status(code: int, **headers: str) -> Behaviour:
    return lambda _: Reply(b"the server's own words", code, headers)


def failing(times: int, failure: Behaviour) -> Behaviour:
    """Fails some times, then is honest."""
    left = [failure] * times

    def behave(texts: list[str]) -> Reply:
        return left.pop()(texts) if left else honest(texts)

    return behave


def changed(change: Callable[[list[list[float]]], list[object]]) -> Behaviour:
    return lambda texts: reply(items(change(vectors(texts))))


async def test_the_model_the_texts_and_the_key_are_sent_to_the_operation(server):
    async with ready(server) as embedder:
        await embedder.passages(["one", "two"])
    asked = server.asked[-1]
    assert asked.path == "/v1/embeddings"
    assert asked.body == {"model": "m", "input": ["one", "two"]}
    assert asked.headers["authorization"] == f"Bearer {KEY}"


async def test_without_a_key_none_is_sent(server):
    embedder = HttpEmbedder(server.address, "m")
    await embedder.start()
    await settled(embedder)
    await embedder.close()
    assert "authorization" not in server.asked[-1].headers


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("http://h:1", "http://h:1/v1/embeddings"),
        ("http://h:1/", "http://h:1/v1/embeddings"),
        ("http://h:1/v1", "http://h:1/v1/embeddings"),
        ("https://h/api/v1/", "https://h/api/v1/embeddings"),
        ("https://h/x/embeddings", "https://h/x/embeddings"),
        ("http://[::1]:9", "http://[::1]:9/v1/embeddings"),
    ],
)
def test_an_address_may_be_root_version_or_operation(address, url):
    assert endpoint(address, "m", "", 1).url == url


@pytest.mark.parametrize(
    "address",
    ["ftp://h", "h:80", "http://", "http://user:pw@h", "http://h?key=1", "http://[::1", "http://h:x", "http://h/\x01"],
)
def test_an_address_that_cannot_be_one_is_refused_with_the_rule(address):
    with pytest.raises(Refused, match="embedder: must be an http or https address") as caught:
        HttpEmbedder(address, "m")
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("key", ["ключ", "sk-\n", "sk-…"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key):
    with pytest.raises(Refused, match="embedder_key: must be") as caught:
        HttpEmbedder("http://h", "m", key)
    assert key not in str(caught.value)


def test_a_model_must_be_named():
    with pytest.raises(Refused, match="embedder_model"):
        HttpEmbedder("http://h", "")


async def test_the_space_is_model_and_dimension_and_not_the_address(server):
    unasked = HttpEmbedder(server.address, "m")
    assert unasked.space == ""
    await unasked.close()
    async with ready(server) as embedder:
        assert embedder.space == "m/1000"
        assert str(server.port) not in embedder.space


async def test_items_in_any_order_are_put_right_by_their_index(server):
    async with ready(server) as embedder:
        straight = await embedder.passages(["one", "two", "three"])
        server.behaviour = lambda texts: reply(items(vectors(texts))[::-1])
        turned = await embedder.passages(["one", "two", "three"])
    np.testing.assert_array_equal(np.concatenate(straight), np.concatenate(turned))


async def test_many_windows_go_in_requests_of_bounded_size(server):
    async with ready(server) as embedder:
        answers = await embedder.passages([f"text {number}" for number in range(2 * BATCH + 1)])
    assert len(answers) == 2 * BATCH + 1
    assert [len(asked.body["input"]) for asked in server.asked[1:]] == [BATCH, BATCH, 1]


async def test_a_question_asked_again_is_not_sent_again(server):
    async with ready(server) as embedder:
        await embedder.query("who was it?")
        before = len(server.asked)
        await embedder.query("who was it?")
    assert len(server.asked) == before


@pytest.mark.parametrize("code", [408, 429, 500, 503])
async def test_a_passing_failure_is_tried_again(server, code):
    async with ready(server) as embedder:
        server.behaviour = failing(2, status(code))
        assert len(await embedder.passages([TEXT])) == 1
        assert embedder.state == "ready"


async def test_a_lasting_failure_is_given_up_after_three_attempts_and_asked_for_in_the_background(server):
    async with ready(server) as embedder:
        before = len(server.asked)
        server.behaviour = failing(3, status(500))
        assert "status 500" in await refusal(embedder)
        assert [asked.body["input"] for asked in server.asked[before:]][:3] == [[TEXT]] * 3
        assert embedder.state == "preparing"
        await settled(embedder)
        assert embedder.state == "ready"
        assert len(await embedder.passages([TEXT])) == 1


async def test_while_the_server_is_away_callers_are_answered_without_asking_it(server):
    async with ready(server, pause=60) as embedder:
        server.behaviour = status(500)
        await refusal(embedder)
        before = [asked.body["input"] for asked in server.asked].count([TEXT])
        assert "status 500" in await refusal(embedder)
        assert [asked.body["input"] for asked in server.asked].count([TEXT]) == before


async def test_a_server_that_goes_and_comes_back_is_found_again():
    with StandIn() as first:
        embedder = HttpEmbedder(first.address, "m", KEY, timeout=5, pause=0.01)
        await embedder.start()
        await settled(embedder)
    assert "cannot be reached" in await refusal(embedder)
    assert embedder.state == "preparing"
    with StandIn(first.port):
        await settled(embedder)
        assert embedder.state == "ready"
        await embedder.close()


async def test_whoever_waits_for_a_server_that_is_away_is_told_after_the_first_attempt(server):
    server.behaviour = status(500)
    async with opened(server, pause=60) as embedder:
        async with asyncio.timeout(5):
            await embedder.settle()
        assert "status 500" in await refusal(embedder)


async def test_a_server_that_hangs_is_given_up_in_time(server):
    async with ready(server, timeout=0.2) as embedder:
        server.behaviour = server.hang
        assert "did not answer within 0.2 s" in await refusal(embedder)
        assert embedder.state == "preparing"


@pytest.mark.parametrize(
    ("behaviour", "mend"),
    [
        (status(302, location="http://127.0.0.1:1/elsewhere"), "final address"),
        (status(307, location="/v1/embeddings"), "final address"),
        (status(401), "embedder_key"),
        (status(403), "embedder_key"),
        (status(404), "embedder_model"),
    ],
    ids=["redirect", "redirect to itself", "no key", "wrong key", "no such model"],
)
async def test_what_only_a_person_can_mend_is_asked_once_and_told(server, behaviour, mend):
    server.behaviour = behaviour
    async with opened(server) as embedder:
        await settled(embedder)
        assert embedder.state == "failed"
        assert mend in embedder.reason
        assert mend in await refusal(embedder)
    assert len(server.asked) == 1


async def test_another_dimension_later_is_another_model_and_never_mixed_in(server):
    async with ready(server) as embedder:
        server.behaviour = lambda texts: reply(items(vectors(texts, dimension=9)))
        assert "9 numbers instead of 1000" in await refusal(embedder)
        server.behaviour = honest
        assert embedder.state == "failed"
        assert embedder.space == "m/1000"
        await refusal(embedder)


async def test_texts_that_the_server_refuses_are_not_sent_again_and_change_nothing_else(server):
    async with ready(server) as embedder:
        before = len(server.asked)
        server.behaviour = status(413)
        assert "refused the texts with status 413" in await refusal(embedder)
        assert len(server.asked) == before + 1
        server.behaviour = honest
        assert embedder.state == "ready"
        assert len(await embedder.passages([TEXT])) == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        changed(lambda rows: [[float("nan"), *row[1:]] for row in rows]),
        changed(lambda rows: [[float("inf"), *row[1:]] for row in rows]),
        changed(lambda rows: [[1e300, *row[1:]] for row in rows]),
        changed(lambda rows: [[0.0] * len(row) for row in rows]),
        changed(lambda rows: [[] for _ in rows]),
        changed(lambda rows: [None for _ in rows]),
        changed(lambda rows: ["AACAPwAAAEA=" for _ in rows]),
        changed(lambda rows: rows[1:]),
        changed(lambda rows: [*rows, rows[0]]),
        changed(lambda rows: [[row] for row in rows]),
        lambda texts: reply([{"index": 7, "embedding": row} for row in vectors(texts)]),
        lambda texts: reply([{"index": 0}]),
        lambda texts: reply(["nothing"]),
        lambda texts: reply(None),
        lambda texts: Reply(b"[1, 2, 3]"),
        lambda texts: Reply(b"<html>hello</html>"),
        lambda texts: Reply(b"\xff\xfe"),
        lambda texts: Reply(b""),
        lambda texts: Reply(b"[" * 100_000),
        lambda texts: Reply(json.dumps({"data": [{"embedding": [10**400]}]}).encode()),
        lambda texts: Reply(b" " * (ANSWER_BYTES + 1)),
        status(204),
    ],
    ids=range(22),
)
async def test_an_answer_that_makes_no_sense_is_refused_and_changes_nothing_else(server, behaviour):
    async with ready(server) as embedder:
        server.behaviour = behaviour
        assert "embedding server" in await refusal(embedder)
        server.behaviour = honest
        assert len(await embedder.passages([TEXT])) == 1


async def test_rows_of_different_lengths_in_one_answer_are_refused(server):
    async with ready(server) as embedder:
        server.behaviour = changed(lambda rows: [rows[0], rows[1][1:]])
        with pytest.raises(EmbedderUnavailable, match="one vector for each text"):
            await embedder.passages(["one", "two"])


async def test_an_answer_in_another_shape_at_first_is_asked_for_again(server):
    server.behaviour = failing(2, lambda _: Reply(b"still loading"))
    async with ready(server) as embedder:
        assert embedder.space == "m/1000"


async def test_the_environments_proxy_is_not_used(server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with ready(server):
        pass


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path):
    with StandIn(certificate=self_signed(tmp_path)) as server:
        async with endpoints.new_client() as client:
            with pytest.raises(Outage, match="certificate"):
                await endpoint(server.address, "m", KEY, 5).attempt(client, [TEXT])
    assert server.asked == []


def self_signed(folder: Path) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that it signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "server.pem").write_bytes(private + certificate.public_bytes(Encoding.PEM))
    return folder / "server.pem"
