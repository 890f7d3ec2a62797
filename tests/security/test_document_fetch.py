"""The request for a metadata document, which strangers can aim: where it goes, what it takes, and what it tells."""

import asyncio
import gzip
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from archivist.fetching.documents import BYTES, LONGEST, SHORTEST, Fetched, FetchFailed, GuardedFetch
from tests.security.document_site import ADDRESS, HOST, Authority, Behaviour, Site, answers, sends

pytestmark = pytest.mark.anyio

OK = "HTTP/1.1 200 OK\r\n"
JSON = {"content-type": "application/json"}
HERE = "127.0.0.1"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


class Names:
    """A resolver: `asked` keeps what was looked up. Each answer is given once, the last one again and again."""

    def __init__(self, *found: Sequence[str]) -> None:
        self._found, self.asked = list(found), list[str]()

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        return self._found.pop(0) if len(self._found) > 1 else self._found[0]


@pytest.fixture
def opened(authority: Authority) -> Callable[..., object]:
    """A site that behaves so, and a guarded fetch that finds it under HOST."""

    @asynccontextmanager
    async def open_it(behaviour: Behaviour, **settings: object) -> AsyncIterator[tuple[Site, GuardedFetch]]:
        async with Site.open(behaviour, authority.serving(HOST)) as site:
            yield site, a_fetch(site.port, authority, **settings)

    return open_it


def a_fetch(port: int, authority: Authority, **settings: object) -> GuardedFetch:
    """One that may connect to loopback, which the strict check never lets it do."""
    defaults: dict[str, object] = {
        "resolve": Names([HERE]),
        "public": lambda address: address.startswith("127."),
        "context": authority.trusting(),
        "port": port,
    }
    return GuardedFetch(**defaults | settings)  # type: ignore[arg-type] — the keys are its arguments


async def reason(fetch: GuardedFetch, address: str = ADDRESS) -> str:
    """Why it failed. The error says that word and nothing else."""
    with pytest.raises(FetchFailed) as caught:
        await fetch.fetch(address)
    assert str(caught.value) == caught.value.reason
    assert caught.value.__cause__ is None
    return caught.value.reason


async def test_sec_097_the_document_is_fetched_from_the_address_that_was_checked(opened):
    async with opened(answers(b'{"a": 1}')) as (site, fetch):
        assert (await fetch.fetch(ADDRESS)).body == b'{"a": 1}'
    assert site.connections == 1


@pytest.mark.parametrize(
    "found",
    [
        [HERE], ["10.0.0.1"], ["169.254.169.254"], ["::1"], ["::ffff:127.0.0.1"], ["fe80::1%lo"], ["64:ff9b::7f00:1"],
        ["93.184.216.34", HERE], [HERE, "93.184.216.34"], ["2606:4700::1", "fd00::1"], ["no address"],
    ],
)  # fmt: skip
async def test_sec_097_one_address_that_is_not_public_refuses_the_name(authority, found):
    async with Site.open(answers(), authority.serving(HOST)) as site:
        fetch = GuardedFetch(resolve=Names(found), context=authority.trusting(), port=site.port)
        assert await reason(fetch) == "not_public"
    assert site.connections == 0


async def test_sec_097_a_name_that_changes_its_mind_is_asked_once_and_the_checked_address_is_used(authority):
    names = Names([HERE], ["127.0.0.2"])
    context = authority.serving(HOST)
    async with Site.open(answers(), context) as first, Site.open(answers(), context, "127.0.0.2", first.port) as second:
        await a_fetch(first.port, authority, resolve=names).fetch(ADDRESS)
    assert (first.connections, second.connections) == (1, 0)
    assert names.asked == [HOST]


async def test_where_nobody_listens_at_the_first_address_the_second_is_tried(opened):
    async with opened(answers(), resolve=Names(["127.0.0.3", HERE])) as (site, fetch):
        await fetch.fetch(ADDRESS)
    assert site.connections == 1


async def test_sec_098_after_an_answer_that_is_refused_no_other_address_is_tried(authority):
    context, names = authority.serving(HOST), Names([HERE, "127.0.0.2"])
    async with (
        Site.open(answers(status=500), context) as first,
        Site.open(answers(), context, "127.0.0.2", first.port) as second,
    ):
        assert await reason(a_fetch(first.port, authority, resolve=names)) == "status"
    assert (first.connections, second.connections) == (1, 0)


async def test_no_more_than_three_addresses_of_a_name_are_tried(opened):
    async with opened(answers(), resolve=Names(["127.0.0.3", "127.0.0.4", "127.0.0.5", HERE])) as (site, fetch):
        assert await reason(fetch) == "refused"
    assert site.connections == 0


@pytest.mark.parametrize("failure", [socket.gaierror(socket.EAI_NONAME, "no"), TimeoutError(), UnicodeError(), None])
async def test_a_name_without_an_address_is_told(authority, failure):
    async def resolve(_: str) -> Sequence[str]:
        if failure:
            raise failure
        return []

    assert await reason(a_fetch(1, authority, resolve=resolve)) == "not_resolved"


async def test_sec_097_the_addresses_that_the_system_gives_for_a_name_are_checked(monkeypatch):
    def getaddrinfo(host: str, *_: object, **__: object) -> list[object]:
        assert host == HOST
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (HERE, 443))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert await reason(GuardedFetch()) == "not_public"


@pytest.mark.parametrize(
    "address",
    [
        "http://client.example/c", "https://client.example/", "https://localhost/c", f"https://{HERE}/c",
        "https://client.example:8443/c", "https://u@client.example/c", "https://client.example/c?x",
        "https://client.example/a/../c", "https://client.example/%2e%2e/c", "file:///etc/passwd", "",
    ],
)  # fmt: skip
async def test_sec_095_what_is_no_address_of_a_document_is_not_even_looked_up(authority, address):
    names = Names([HERE])
    assert await reason(a_fetch(1, authority, resolve=names), address) == "address"
    assert names.asked == []


async def test_sec_098_the_request_is_exact_and_carries_nothing_of_the_environment(opened, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine {HOST} login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    address = f"https://{HOST}/a/%7Ec;v=1/(x)@:!$&'*+,=~%20d"
    async with opened(answers(set_cookie="a=b; Path=/")) as (site, fetch):
        await fetch.fetch(address)
        await fetch.fetch(address)
    assert site.requests[0] == site.requests[1]
    line, *fields = site.requests[0].decode().rstrip().split("\r\n")
    assert line == f"GET {address.removeprefix(f'https://{HOST}')} HTTP/1.1"
    assert {field.lower() for field in fields} == {
        f"host: {HOST}",
        "accept: application/json",
        "accept-encoding: identity",
        "user-agent: archivist",
        "connection: keep-alive",
    }


async def test_sec_098_a_proxy_of_the_environment_is_not_used(opened, monkeypatch):
    async with Site.open(answers(), None) as proxy:
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://{HERE}:{proxy.port}")
        async with opened(answers()) as (_, fetch):
            await fetch.fetch(ADDRESS)
    assert proxy.connections == 0


DEVIATIONS: dict[str, tuple[Behaviour, str]] = {
    **{f"status-{code}": (answers(status=code), "status") for code in (201, 203, 206, 400, 401, 403, 404, 500, 503)},
    **{
        f"redirect-{code}": (answers(status=code, location=f"https://{HOST}/other"), "status")
        for code in (300, 301, 302, 303, 307, 308)
    },
    "not-modified": (sends("HTTP/1.1 304 X\r\n", JSON), "status"),
    "no-content": (sends("HTTP/1.1 204 X\r\n", JSON), "status"),
    "no-type": (answers(content_type=None), "type"),
    **{
        f"type-{number}": (answers(content_type=content_type), "type")
        for number, content_type in enumerate(
            ["text/html", "text/json", "text/plain; x=application/json", "application/javascript", "application/jsonp",
             "application/x-json-seq", "image/svg+xml", "application/+json", "application/json, text/html", ""]
        )
    },
    **{
        f"compressed-{coding}": (answers(gzip.compress(b"{}"), content_encoding=coding), "compressed")
        for coding in ("gzip", "deflate", "br", "zstd", "identity, gzip", "GZIP")
    },
    "compressed-transfer": (sends(OK, JSON | {"transfer-encoding": "gzip, chunked"}), "refused"),
    "declared-too-large": (sends(OK, JSON | {"content-length": str(10**12)}), "too_large"),
    "one-byte-too-large": (answers(b"x" * (BYTES + 1)), "too_large"),
    "shorter-than-declared": (sends(OK, JSON | {"content-length": "100"}, b"{}"), "refused"),
    "endless-length": (sends(OK, JSON | {"content-length": "9" * 5000}, b"{}"), "refused"),
    "odd-length": (sends(OK, JSON | {"content-length": "-1"}, b"{}"), "refused"),
    "two-lengths": (sends(OK + "content-length: 2\r\n", JSON | {"content-length": "3"}, b"{} "), "refused"),
    "broken-chunks": (sends(OK, JSON | {"transfer-encoding": "chunked"}, b"zz\r\n{}"), "refused"),
    "endless-head": (sends(OK, {"x": "y" * 10**6}), "refused"),
    "no-http": (sends("SSH-2.0-OpenSSH\r\n", {}), "refused"),
    "nothing": (sends("", {}), "refused"),
}  # fmt: skip


@pytest.mark.parametrize("deviation", DEVIATIONS)
async def test_sec_098_an_answer_that_deviates_is_refused_with_one_connection(opened, deviation):
    behaviour, expected = DEVIATIONS[deviation]
    async with opened(behaviour) as (site, fetch):
        assert await reason(fetch) == expected
    assert site.connections == 1


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/cimd+json;x=y"],
)
async def test_sec_098_each_spelling_of_a_json_type_is_taken(opened, content_type):
    async with opened(answers(content_type=content_type, content_encoding="identity")) as (_, fetch):
        assert (await fetch.fetch(ADDRESS)).body == b"{}"


@pytest.mark.parametrize(("host", "days"), [("other.example", 1), ("*.client.example", 1), (HOST, 0)])
async def test_sec_098_a_certificate_for_another_name_or_another_time_is_refused(authority, host, days):
    async with Site.open(answers(), authority.serving(host, days)) as site:
        assert await reason(a_fetch(site.port, authority)) == "tls"
    assert site.requests == []


async def test_sec_098_a_certificate_that_nobody_trusted_signed_is_refused(authority, tmp_path):
    async with Site.open(answers(), Authority(tmp_path).serving(HOST)) as site:
        assert await reason(a_fetch(site.port, authority)) == "tls"
        assert await reason(a_fetch(site.port, authority, context=ssl.create_default_context())) == "tls"
    assert site.requests == []


async def test_sec_098_a_site_without_a_certificate_is_refused(authority):
    async with Site.open(answers(), None) as site:
        assert await reason(a_fetch(site.port, authority)) == "tls"


async def test_sec_098_a_closed_port_is_refused(authority):
    async with Site.open(answers(), None) as site:
        port = site.port
    assert await reason(a_fetch(port, authority)) == "refused"


async def test_sec_099_the_longest_body_is_taken_and_the_limit_can_be_raised(opened):
    async with opened(answers(b"x" * BYTES)) as (_, fetch):
        assert len((await fetch.fetch(ADDRESS)).body) == BYTES
    async with opened(answers(b"x" * (BYTES + 1)), limit=2 * BYTES) as (_, fetch):
        assert len((await fetch.fetch(ADDRESS)).body) == BYTES + 1


async def test_sec_099_a_body_longer_than_declared_is_cut_at_what_was_declared(opened):
    async with opened(sends(OK, JSON | {"content-length": "2"}, b"{}" + b"x" * 10_000)) as (_, fetch):
        assert (await fetch.fetch(ADDRESS)).body == b"{}"


@pytest.mark.parametrize("framing", [{"transfer-encoding": "chunked"}, {"connection": "close"}])
async def test_sec_099_an_endless_body_is_ended_at_the_limit(authority, framing):
    chunked = "transfer-encoding" in framing
    piece = b"1000\r\n" + b"x" * 4096 + b"\r\n" if chunked else b"x" * 4096

    async def endless(writer: asyncio.StreamWriter) -> None:
        await sends(OK, JSON | framing)(writer)
        while True:
            writer.write(piece)
            await writer.drain()
            site.sent += len(piece)

    async with Site.open(endless, authority.serving(HOST)) as site:
        assert await reason(a_fetch(site.port, authority)) == "too_large"
    assert site.sent < 64 * 1024 * 1024


async def test_sec_099_a_slow_drip_is_ended_in_time(authority):
    async def drip(writer: asyncio.StreamWriter) -> None:
        await sends(OK, JSON | {"content-length": "1000"})(writer)
        while not site.released.is_set():
            writer.write(b"x")
            await writer.drain()
            with suppress(TimeoutError):
                await asyncio.wait_for(site.released.wait(), 0.02)

    async with Site.open(drip, authority.serving(HOST)) as site:
        assert await reason(a_fetch(site.port, authority, total=0.5)) == "timeout"


async def test_sec_099_a_silent_site_is_given_up_in_time(authority):
    async def silent(_: asyncio.StreamWriter) -> None:
        await site.released.wait()

    async with Site.open(silent, authority.serving(HOST)) as site:
        assert await reason(a_fetch(site.port, authority, total=0.3)) == "timeout"
    assert site.connections == 1


async def test_sec_099_a_handshake_that_never_ends_is_given_up_in_time(authority):
    with socket.create_server((HERE, 0)) as listening:
        port = listening.getsockname()[1]
        assert await reason(a_fetch(port, authority, connect=0.2)) == "timeout"
        assert await reason(a_fetch(port, authority, total=0.2)) == "timeout"


async def test_sec_099_a_name_that_is_never_answered_is_given_up_in_time(authority):
    async def never(_: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return [HERE]

    assert await reason(a_fetch(1, authority, resolve=never, total=0.1)) == "timeout"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 300),
        ({"cache_control": "max-age=3600"}, 3600),
        ({"cache_control": "public, Max-Age=3600, immutable"}, 3600),
        ({"cache_control": "max-age=3600", "age": "600"}, 3000),
        ({"cache_control": "max-age=3600", "age": "soon"}, 3600),
        ({"cache_control": "max-age=0"}, 300),
        ({"cache_control": "max-age=400", "age": "399"}, 300),
        ({"cache_control": "max-age=9999999999"}, 86_400),
        ({"cache_control": "max-age=99999999999999999999"}, 86_400),
        ({"cache_control": "no-store, max-age=3600"}, 300),
        ({"cache_control": "no-cache"}, 300),
        ({"cache_control": "s-maxage=3600"}, 300),
        ({"cache_control": "max-age=-5"}, 300),
        ({"expires": "Thu, 01 Jan 2099 00:00:00 GMT"}, 300),
    ],
)
async def test_sec_101_a_document_may_be_kept_for_what_its_server_says_within_bounds(opened, headers, seconds):
    async with opened(answers(**headers)) as (_, fetch):
        found = await fetch.fetch(ADDRESS)
    assert found.max_age.total_seconds() == seconds
    assert SHORTEST <= found.max_age <= LONGEST


async def test_sec_103_failures_of_every_kind_tell_one_word_and_nothing_of_the_target(opened, authority):
    told = set()
    for behaviour in (answers(b"secret words", status=500), answers(b"secret words", content_type="text/html")):
        async with opened(behaviour) as (_, fetch):
            told.add(await reason(fetch))
    told |= {await reason(a_fetch(1, authority)), await reason(GuardedFetch(resolve=Names([HERE])))}
    assert told == {"status", "type", "refused", "not_public"}


async def test_sec_105_no_address_inside_a_document_is_asked_for(opened, authority):
    async with Site.open(answers(), authority.serving("other.example")) as other:
        there = f"https://other.example:{other.port}/x"
        body = f'{{"logo_uri": "{there}", "jwks_uri": "{there}", "policy_uri": "{there}"}}'.encode()
        async with opened(answers(body, link=f'<{there}>; rel="preload"')) as (site, fetch):
            assert (await fetch.fetch(ADDRESS)).body == body
    assert (site.connections, other.connections) == (1, 0)


async def test_sec_106_our_own_name_is_not_looked_up_and_an_alias_is_not_connected_to(opened):
    names = Names(["127.0.0.9"])
    async with opened(answers(), resolve=names, own_host="Client.Example") as (site, fetch):
        assert await reason(fetch) == "own"
        assert names.asked == []
    names = Names([HERE, "127.0.0.8"], ["127.0.0.8"])
    async with opened(answers(), resolve=names, own_host="memory.example") as (site, fetch):
        assert await reason(fetch) == "own"
        assert names.asked == [HOST, "memory.example"]
    assert site.connections == 0


async def test_a_site_elsewhere_is_fetched_by_a_server_that_has_a_name(opened):
    async with opened(answers(), resolve=Names([HERE], ["127.0.0.9"]), own_host="memory.example") as (_, fetch):
        assert isinstance(await fetch.fetch(ADDRESS), Fetched)
