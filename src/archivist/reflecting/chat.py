"""One OpenAI-compatible `/v1/chat/completions` address: what is sent, and how much of its answer is read.

The model gets no tools. Nothing that the server says stands in an error, which also never holds the key or the texts.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

import httpx2

from archivist.domain.errors import Refused
from archivist.embedders.endpoint import bearer, body_of, new_client, operation

ANSWER_BYTES = 1024 * 1024
"""Several times what ten entries take, with all that stands around them."""

ANSWER_TOKENS = 8_192
"""At which the model is asked to stop; ten entries of 200 words take some 3,000."""

_OK = 200
_OPERATION = "/chat/completions"
Message = dict[str, str]
"""`role` and `content`."""


class Chat(Protocol):
    """A model that answers a conversation."""

    async def answer(self, messages: Sequence[Message]) -> str:
        """What it says next.

        Raises:
            Refused: it does not; one line says why.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """url: the whole address of the operation. timeout: seconds for one answer, from first byte to last."""

    url: str
    model: str
    key: str = field(repr=False)
    timeout: float

    async def answer(self, messages: Sequence[Message]) -> str:
        """As `Chat`; asked once."""
        try:
            async with asyncio.timeout(self.timeout), new_client() as client:
                answer = await self._post(client, messages)
        except (TimeoutError, httpx2.TimeoutException):
            raise Refused(f"the model did not answer within {self.timeout:g} s; see --timeout") from None
        except httpx2.RequestError:
            raise Refused("the model's server cannot be reached: see that it runs and that --model is right") from None
        return _content(answer)

    async def _post(self, client: httpx2.AsyncClient, messages: Sequence[Message]) -> bytes:
        content = {
            "model": self.model,
            "messages": list(messages),
            "response_format": {"type": "json_object"},
            "max_tokens": ANSWER_TOKENS,
            "stream": False,
        }
        async with client.stream("POST", self.url, json=content, headers=bearer(self.key)) as response:
            if response.status_code != _OK:
                raise Refused(f"the model's server answered with status {response.status_code}{_hint(response)}")
            answer = await body_of(response, ANSWER_BYTES)
        if answer is None:
            raise Refused(f"the model's answer is over {ANSWER_BYTES} bytes")
        return answer


def endpoint(address: str, key: str, timeout: float) -> ChatEndpoint:
    """From `URL#NAME`: a server's root, its `/v1`, or the whole address of the operation, and the model's name there.

    Raises:
        Refused: it is not that, or the key cannot be sent.
    """
    url, _, model = address.partition("#")
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):  # brackets, port or letters make no sense
        fits = False
    if not fits or parts.username or parts.password or parts.query:
        raise Refused("--model: must be an http or https address without a user, password or query, then # and a name")
    if not (model and model.isprintable()):
        raise Refused("--model: must name a model behind #, such as http://127.0.0.1:11434#llama3.2")
    if not (key.isascii() and key.isprintable()):
        raise Refused("reflect_key: must be printable ASCII, as a header can carry it")
    return ChatEndpoint(operation(parts, _OPERATION), model, key, timeout)


def _hint(response: httpx2.Response) -> str:
    match response.status_code:
        case 401 | 403:
            return ": set ARCHIVIST_REFLECT_KEY to a key that it takes"
        case 404 | 405:
            return ": it does not know the address or the model; see --model"
        case status if 300 <= status < 400:
            return ": redirects are not followed; give --model its final address"
    return ""


def _content(answer: bytes) -> str:
    try:
        content = json.loads(answer)["choices"][0]["message"]["content"]
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        content = None
    if not isinstance(content, str):
        raise Refused("the model's server did not answer as /v1/chat/completions does")
    return content
