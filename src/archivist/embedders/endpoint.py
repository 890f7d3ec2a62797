"""One OpenAI-compatible `/v1/embeddings` address: what is sent, and what is believed of the answer.

Nothing that the server says is passed on: not in errors, which also never hold the key or the texts.
"""

import asyncio
import json
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx2
import numpy as np
from numpy.typing import NDArray

from archivist.domain.errors import EmbedderUnavailable, Refused
from archivist.embedders.debias import unit
from archivist.embedders.embedder import Floats

ANSWER_BYTES = 32 * 1024 * 1024
"""Several times what the largest honest answer takes."""

_ATTEMPTS = 3
_PAUSE = 0.25
"""Seconds before the second attempt; doubled before the third."""

_OK, _REDIRECT, _CLIENT, _SERVER = 200, range(300, 400), range(400, 500), range(500, 600)
_BUSY = (408, 429)
_KEY = (401, 403)
_ABSENT = (404, 405)
_UNREACHABLE = (
    "the embedding server cannot be reached: see that it runs, that its address is right "
    "and that this computer trusts its certificate if it has one"
)


class Outage(EmbedderUnavailable):
    """The server did not do what it usually does; it may, later."""


class Misconfigured(EmbedderUnavailable):
    """It will not get better by itself: a person has to change something."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """url: the whole address of the operation. timeout: seconds for one attempt, from first byte to last."""

    url: str
    model: str
    key: str = field(repr=False)
    timeout: float

    async def embed(self, client: httpx2.AsyncClient, texts: Sequence[str]) -> Floats:
        """Unit rows, one for each text, in their order. A failed attempt is repeated, twice at most.

        Raises:
            EmbedderUnavailable: of these, Outage if the server is at fault and Misconfigured if the settings are;
                else it refused these texts, or its answer makes no sense.
        """
        for attempt in range(_ATTEMPTS - 1):
            try:
                return await self.attempt(client, texts)
            except Outage:
                await asyncio.sleep(_PAUSE * 2**attempt)
        return await self.attempt(client, texts)

    async def attempt(self, client: httpx2.AsyncClient, texts: Sequence[str]) -> Floats:
        """As `embed`, once."""
        try:
            async with asyncio.timeout(self.timeout):
                answer = await self._post(client, texts)
        except (TimeoutError, httpx2.TimeoutException):
            raise Outage(f"the embedding server did not answer within {self.timeout:g} s") from None
        except httpx2.RequestError:
            raise Outage(_UNREACHABLE) from None
        return _vectors(answer, len(texts))

    async def _post(self, client: httpx2.AsyncClient, texts: Sequence[str]) -> bytes:
        content = {"model": self.model, "input": [_sendable(text) for text in texts]}
        async with client.stream("POST", self.url, json=content, headers=bearer(self.key)) as response:
            _require_ok(response.status_code)
            answer = await body_of(response, ANSWER_BYTES)
        if answer is None:
            raise EmbedderUnavailable(f"the embedding server's answer is over {ANSWER_BYTES} bytes")
        return answer


def endpoint(address: str, model: str, key: str, timeout: float) -> Endpoint:
    """From settings: `address` may be a server's root, its `/v1`, or the whole address of the operation.

    Raises:
        Refused: the address cannot be one, there is no model, or the key cannot be sent.
    """
    parts = _checked(address)
    if not model:
        raise Refused("embedder_model: must name a model of the embedding server")
    if not (key.isascii() and key.isprintable()):
        raise Refused("embedder_key: must be printable ASCII, as a header can carry it")
    return Endpoint(operation(parts, "/embeddings"), model, key, timeout)


def _checked(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        httpx2.URL(address)
    except (ValueError, httpx2.InvalidURL):  # brackets, port or letters make no sense
        fits = False
    if not fits or parts.username or parts.password or parts.query:
        raise Refused("embedder: must be an http or https address without a user, password or query")
    return parts


def operation(parts: SplitResult, name: str) -> str:
    """The whole address of an operation; `parts` are of a server's root, of its `/v1`, or of the operation itself."""
    path = parts.path.rstrip("/")
    if not path.endswith(name):
        path += name if path.endswith("/v1") else f"/v1{name}"
    return f"{parts.scheme}://{parts.netloc}{path}"


def bearer(key: str) -> dict[str, str]:
    """The headers that show a key, if there is one."""
    return {"authorization": f"Bearer {key}"} if key else {}


async def body_of(response: httpx2.Response, most: int) -> bytes | None:
    """The body of an answer that is read as it comes; None if it is over `most` bytes."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            return None
    return bytes(body)


def new_client() -> httpx2.AsyncClient:
    """Follows no redirect, checks certificates against the system's, and takes no proxy from the environment."""
    return httpx2.AsyncClient(
        follow_redirects=False, trust_env=False, timeout=None, verify=ssl.create_default_context()
    )


def _sendable(text: str) -> str:
    """Valid Unicode and not blank: servers refuse an empty input."""
    return text.strip().encode("utf-8", "replace").decode() or "-"


def _require_ok(status: int) -> None:
    if status in _BUSY or status in _SERVER:
        raise Outage(f"the embedding server answered with status {status}")
    if status in _REDIRECT:
        raise Misconfigured("the embedding server redirects, which is not followed: set its final address")
    if status in _KEY:
        raise Misconfigured("the embedding server refuses the key: set embedder_key to one that it takes")
    if status in _ABSENT:
        raise Misconfigured(
            "the embedding server does not know the address or the model: see embedder and embedder_model"
        )
    if status in _CLIENT:
        raise EmbedderUnavailable(f"the embedding server refused the texts with status {status}")
    if status != _OK:
        raise EmbedderUnavailable(f"the embedding server answered with status {status} instead of {_OK}")


def _vectors(answer: bytes, count: int) -> Floats:
    """The unit rows in an answer, in the order of the texts, whatever the order of its items."""
    try:
        rows = np.asarray(_rows(json.loads(answer), count), dtype=np.float64)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        raise EmbedderUnavailable("the embedding server's answer is not one vector for each text") from None
    if rows.ndim != 2 or not rows.size or not _have_direction(rows):
        raise EmbedderUnavailable("the embedding server's answer holds vectors without a direction")
    return unit(rows)


def _have_direction(rows: NDArray[np.float64]) -> bool:
    """Whether every length is finite and not 0; numbers that are not, and those too large to square, show there."""
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows, axis=1)
    return bool((np.isfinite(lengths) & (lengths > 0)).all())


def _rows(answer: Any, count: int) -> list[Any]:
    items = answer["data"]
    rows = {item.get("index", position): item["embedding"] for position, item in enumerate(items)}
    if len(items) != count or set(rows) != set(range(count)):
        raise ValueError
    return [rows[number] for number in range(count)]
