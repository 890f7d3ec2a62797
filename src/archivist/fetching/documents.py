"""The one request that this server makes to addresses strangers name: for an app's metadata document.

Whoever can choose the address could aim it at the network that the server stands in. So the name is looked up once,
every address found must be public, and the connection goes to one of these very addresses, however the name is
answered later; it must prove with a certificate that it is the name. Failures tell a word, and nothing of the target.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol

import httpx2

from archivist.domain.addresses import is_public
from archivist.domain.documents import host_of, is_document_address

Reason = Literal[
    "address",  # none of a document; nothing was looked up
    "own",  # this server itself
    "not_resolved",
    "not_public",
    "refused",  # nobody there, or the connection broke
    "timeout",
    "tls",
    "status",
    "type",
    "compressed",
    "too_large",
]
Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""All addresses of a host name, in the order to try them. Raises OSError if there is none."""

BYTES = 5 * 1024
MOST_BYTES = 64 * 1024
"""What a server may be set up to take at most."""

SHORTEST, LONGEST = timedelta(minutes=5), timedelta(hours=24)
"""How long a document is kept at least and at most, whatever its server says."""

_TRIED = 3
"""Addresses of one name that are tried, if nobody listens at the earlier ones."""

_LOOKUPS = 4
"""Threads that wait for answers about names: slow ones hold up each other, and nothing else."""

_JSON = re.compile(r"application/(?:[a-z0-9!#$&^_.-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=\"?([0-9]{1,10})", re.IGNORECASE)
_UNKEPT = re.compile(r"(?:^|[\s,])no-(?:store|cache)\b", re.IGNORECASE)


class FetchFailed(Exception):
    """There is no document to be had. `reason` may be shown."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


class _NobodyThere(FetchFailed):
    """No connection came about, so another address of the name may be tried."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A body as it came, and how long it may be kept: between SHORTEST and LONGEST."""

    body: bytes
    max_age: timedelta


class Documents(Protocol):
    """Where documents come from."""

    async def fetch(self, address: str) -> Fetched:
        """What is at `address` now.

        Raises:
            FetchFailed: with the reason.
        """
        ...


class GuardedFetch:
    """Documents from the public internet.

    own_host: the name that this server is reached by, if it has one; neither it nor another name of the same machine
    is asked. limit: bytes of the longest document. connect and total: seconds for reaching one address, and for
    everything. resolve, public, context and port are for tests, which have no public internet.
    """

    def __init__(
        self,
        *,
        own_host: str = "",
        limit: int = BYTES,
        connect: float = 2.0,
        total: float = 5.0,
        resolve: Resolve | None = None,
        public: Callable[[str], bool] = is_public,
        context: ssl.SSLContext | None = None,
        port: int = 443,
    ) -> None:
        self._own_host, self._limit, self._connect, self._total = own_host.lower(), limit, connect, total
        self._public, self._port = public, port
        self._context = context
        self._threads = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="names")
        self._resolve = resolve or self._look_up

    async def fetch(self, address: str) -> Fetched:
        """What is at `address`, if its server answers with status 200, in JSON, in time, uncompressed and in bounds.

        Redirects are not followed; proxies, cookies and credentials of the environment are not used.

        Raises:
            FetchFailed: with the reason.
        """
        if not is_document_address(address):
            raise FetchFailed("address")
        host = host_of(address)
        if host == self._own_host:
            raise FetchFailed("own")
        try:
            async with asyncio.timeout(self._total):
                return await self._from_first(await self._addresses(host), host, address)
        except TimeoutError:
            raise FetchFailed("timeout") from None

    async def _addresses(self, host: str) -> Sequence[str]:
        """The addresses of `host`, all of them public and none of them ours."""
        found = await self._found(host)
        if not found:
            raise FetchFailed("not_resolved")
        if not all(map(self._public, found)):
            raise FetchFailed("not_public")
        if self._own_host and not set(found).isdisjoint(await self._found(self._own_host)):
            raise FetchFailed("own")
        return found

    async def _found(self, host: str) -> Sequence[str]:
        try:
            return tuple(dict.fromkeys(await self._resolve(host)))
        except (OSError, UnicodeError):  # the latter for names that cannot be asked for at all
            return ()

    async def _look_up(self, host: str) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _getaddrinfo, host)
        return [str(entry[4][0]) for entry in found]

    async def _from_first(self, addresses: Sequence[str], host: str, address: str) -> Fetched:
        """From the first of the addresses where somebody listens."""
        *earlier, last = addresses[:_TRIED]
        for ip in earlier:
            try:
                return await self._from(ip, host, address)
            except _NobodyThere:
                continue
        return await self._from(last, host, address)

    async def _from(self, ip: str, host: str, address: str) -> Fetched:
        url = httpx2.URL(scheme="https", host=ip, port=self._port, raw_path=address.partition(host)[2].encode())
        stage = _Stage()
        self._context = self._context or ssl.create_default_context()  # takes a while, and most servers never fetch
        client = httpx2.AsyncClient(verify=self._context, trust_env=False, follow_redirects=False)
        try:
            async with (
                client,
                client.stream(
                    "GET",
                    url,
                    headers={
                        "host": host,
                        "accept": "application/json",
                        "accept-encoding": "identity",
                        "user-agent": "archivist",
                    },
                    timeout=httpx2.Timeout(None, connect=self._connect),
                    extensions={"sni_hostname": host, "trace": stage.follow},
                ) as response,
            ):
                _require_json(response)
                return Fetched(await self._body(response), _max_age(response.headers))
        except httpx2.TimeoutException:
            raise stage.failure("timeout") from None
        except (httpx2.HTTPError, OSError):
            raise stage.failure("refused") from None
        finally:
            await stage.close()

    async def _body(self, response: httpx2.Response) -> bytes:
        declared = response.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > self._limit:
            raise FetchFailed("too_large")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._limit:
                raise FetchFailed("too_large")
        return bytes(body)


class _Stage:
    """How far a connection has come; told by the library as it goes along."""

    def __init__(self) -> None:
        self._name = "connect"
        self._stream: Any = None

    async def follow(self, event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            self._name, self._stream = "tls", info["return_value"]
        elif event == "connection.start_tls.complete":
            self._name = "exchange"

    async def close(self) -> None:
        """Closes what a handshake that was cut off leaves open; does nothing if it is closed."""
        if self._stream is not None:
            await self._stream.aclose()

    def failure(self, reason: Reason) -> FetchFailed:
        if self._name == "connect":
            return _NobodyThere(reason)
        return FetchFailed("tls" if self._name == "tls" and reason == "refused" else reason)


def _getaddrinfo(host: str) -> list[tuple[object, object, int, str, tuple[object, ...]]]:
    return list(socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM))


def _require_json(response: httpx2.Response) -> None:
    """Raises FetchFailed for an answer that is not plain JSON with status 200."""
    if response.status_code != 200:
        raise FetchFailed("status")
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise FetchFailed("compressed")
    if not _JSON.fullmatch(response.headers.get("content-type", "").strip()):
        raise FetchFailed("type")


def _max_age(headers: httpx2.Headers) -> timedelta:
    """What Cache-Control allows, less the time that some cache has used up already (RFC 9111 §4.2)."""
    control, age = headers.get("cache-control", ""), headers.get("age", "")
    found = _MAX_AGE.search(control)
    if found is None or _UNKEPT.search(control):
        return SHORTEST
    used = int(age) if age.isascii() and age.isdecimal() and len(age) <= 10 else 0
    return min(max(timedelta(seconds=int(found[1]) - used), SHORTEST), LONGEST)
