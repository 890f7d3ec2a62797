"""Metadata documents: which ids are addresses of one, and which documents are believed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.documents import (
    Document,
    InvalidDocument,
    host_of,
    is_document_address,
    only_loopback,
    other_hosts,
    read_document,
)

NONE: frozenset[str] = frozenset()
HERE = "https://app.example/client.json"
LOOP = "http://127.0.0.1/callback"

ADDRESSES = [
    HERE,
    "https://app.example/c",
    "https://app.example/oauth/client/",
    "https://a-b.c1.example/x",
    "https://xn--bcher-kva.example/x",
    "https://app.xn--p1ai/x",
    "https://app.example/@me/client.json",
    "https://app.example/a%20b",
    "https://app.example/.well-known/client",
    "https://app.example/...",
    "https://app.example/a..b",
    "https://app.example/client%2ejson",
    "https://app.example/a;v=1,2/(x)'!$&*+=~",
    "https://claude.ai/oauth/claude-code-client-metadata",
    "https://chatgpt.com/oauth/codex/client.json",
    HERE.ljust(2048, "x"),
]
OTHERS = [
    "", "app", "0193b000-0000-7000-8000-000000000001", "http://app.example/c", "HTTPS://app.example/c",
    "Https://app.example/c", "https:app.example/c", "https:/app.example/c", "https:///app.example/c",
    "//app.example/c", " https://app.example/c", "https://app.example/c ", "https://app.example/c\n",
    "https://app.example", "https://app.example/", "https://app.example//", "https://app.example//c",
    "https://localhost/c", "https://intranet/c", "https://app.localhost/c", "https://printer.local/c",
    "https://metadata.google.internal/c", "https://127.0.0.1/c", "https://8.8.8.8/c", "https://127.1/c",
    "https://[::1]/c", "https://[2606:4700::1]/c", "https://2130706433/c", "https://0x7f.1/c", "https://app.0x7f/c",
    "https://App.example/c", "https://app.example./c", "https://.app.example/c", "https://app..example/c",
    "https://-app.example/c", "https://app_1.example/c", "https://bücher.example/c", "https://app.example/ü",
    "https://app\u3002example/c", "https://user@app.example/c", "https://user:pw@app.example/c",
    "https://@app.example/c", "https://app.example\\@evil.example/c", "https://app.example:443/c",
    "https://app.example:8443/c", "https://app.example:/c", "https://app.example/c?x=1", "https://app.example/c?",
    "https://app.example/c#x", "https://app.example/c#", "https://app.example/./c", "https://app.example/a/../c",
    "https://app.example/..", "https://app.example/c/.", "https://app.example/%2e%2e/c", "https://app.example/%2E/c",
    "https://app.example/.%2e/c", "https://app.example/..;x/c", "https://app.example/%2e%2e;/c",
    "https://app.example/%252e%252e/c", "https://app.example/a%2f..%2fc", "https://app.example/a%5cc",
    "https://app.example/a\\c", "https://app.example/%00", "https://app.example/%7f", "https://app.example/%0a",
    "https://app.example/%zz", "https://app.example/%2", "https://app.example/a b", "https://app.example/<c>",
    "https://app.example/\"c", "https://app.example/{c}", "https://app.example/[c]", "https://app.example/c|d",
    "https://" + "a" * 64 + ".example/c", "https://" + "a." * 125 + "example/c", HERE.ljust(2049, "x"),
]  # fmt: skip


def a_document(**changes: Any) -> bytes:
    """A valid one; a member changed to ... is left out."""
    members = {"client_id": HERE, "client_name": "App", "redirect_uris": [LOOP]} | changes
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


def read(body: bytes) -> Document:
    return read_document(HERE, body, NONE)


def reason(body: bytes) -> str:
    with pytest.raises(InvalidDocument) as caught:
        read(body)
    assert str(caught.value) == caught.value.reason
    return caught.value.reason


@pytest.mark.parametrize("address", ADDRESSES)
def test_sec_095_a_plain_https_address_with_a_path_is_one_of_a_document(address):
    assert is_document_address(address)
    assert address.startswith(f"https://{host_of(address)}/")


@pytest.mark.parametrize("address", OTHERS)
def test_sec_095_anything_else_is_none(address):
    assert not is_document_address(address)


def test_sec_095_the_table_is_large_enough():
    assert len(ADDRESSES) + len(OTHERS) >= 50


def test_sec_100_a_valid_document_is_read():
    document = read(a_document(client_uri="https://app.example", logo_uri="https://x/y.png", grant_types=["x"]))
    assert (document.client_id, document.host, document.name) == (HERE, "app.example", "App")
    assert (document.redirect_uris, document.client_uri) == ((LOOP,), "https://app.example")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"null", b"[]", b'"x"', b"1", b"\xff", b"\xef\xbb\xbf{}", b"{} {}", b"{'a': 1}", b'{"a": NaN}',
        b'{"a": Infinity}', b'{"a": 1' + b"0" * 5000 + b"}", b"[" * 5000, b'{"a":' * 2000, "{}".encode("utf-16"),
        json.dumps([{"client_id": HERE}]).encode(),
    ],
)  # fmt: skip
def test_sec_100_what_is_not_one_json_object_is_refused(body):
    assert reason(body) in ("not_json", "not_an_object")


@pytest.mark.parametrize(
    "twice",
    [
        f'{{"client_id": "https://evil.example/c", {a_document().decode()[1:]}',
        a_document().decode()[:-1] + ', "client_name": "Other"}',
        a_document().decode()[:-1] + ', "x": {"a": 1, "a": 1}}',
        a_document().decode()[:-1] + ', "client\\u005fname": "Other"}',
    ],
)
def test_sec_100_a_repeated_member_is_refused(twice):
    assert reason(twice.encode()) == "repeated_member"


@pytest.mark.parametrize(
    "client_id",
    [
        ..., None, "", 1, [HERE], "https://app.example:443/client.json", "https://APP.example/client.json",
        "https://app.example/Client.json", "https://app.example/client.json/", HERE + "?", HERE + "#", HERE + " ",
        "http://app.example/client.json", "https://app.example/%63lient.json",
    ],
)  # fmt: skip
def test_sec_100_a_document_that_is_about_another_address_is_refused(client_id):
    assert reason(a_document(client_id=client_id)) == "client_id"


@pytest.mark.parametrize("uris", [..., None, [], "", LOOP, {}, {LOOP: 1}, [1], ["myapp:/cb"], [LOOP, "data:,x"]])
def test_sec_100_a_document_without_targets_that_may_be_named_is_refused(uris):
    assert reason(a_document(redirect_uris=uris)) == "redirect_uris"


def test_sec_100_merely_unlisted_targets_are_left_out():
    body = a_document(redirect_uris=["cursor://x/cb", LOOP])
    assert read(body).redirect_uris == (LOOP,)
    assert read_document(HERE, body, frozenset({"cursor"})).redirect_uris == ("cursor://x/cb", LOOP)


@pytest.mark.parametrize(
    "members",
    [
        {"client_secret": "x"},
        {"client_secret": None},
        {"token_endpoint_auth_method": "client_secret_basic"},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"token_endpoint_auth_method": "client_secret_jwt"},
        {"token_endpoint_auth_method": "Client_Secret_Post"},
        {"token_endpoint_auth_method": 1},
    ],
)
def test_sec_100_a_document_that_shares_a_secret_is_refused(members):
    assert reason(a_document(**members)) == "secret"


@pytest.mark.parametrize("method", ["none", "private_key_jwt"])
def test_a_public_app_or_one_with_a_key_of_its_own_is_taken(method):
    assert read(a_document(token_endpoint_auth_method=method)).name == "App"


@pytest.mark.parametrize("name", [..., None, "", 1, ["App"], " ", "\u200b\u202e"])
def test_sec_100_a_document_without_a_name_to_show_is_refused(name):
    assert reason(a_document(client_name=name)) == "client_name"


def test_sec_040_the_name_of_a_document_is_ready_to_be_shown():
    assert read(a_document(client_name=" Ap\u202ep\n" + "x" * 100)).name == "App " + "x" * 60


@pytest.mark.parametrize(
    "uri",
    [..., None, 1, "http://app.example", "javascript:x", "https://u@x.example", "https://x.example/" + "x" * 2048],
)
def test_sec_092_an_informational_address_that_is_not_https_is_dropped(uri):
    assert read(a_document(client_uri=uri)).client_uri == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10) | st.just(LOOP),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = ["client_name", "redirect_uris", "client_uri", "token_endpoint_auth_method", "jwks", "scope", "x"]


@given(st.dictionaries(st.sampled_from(MEMBERS), json_values))
def test_sec_092_whatever_a_document_holds_it_is_read_or_refused_with_a_reason(members):
    try:
        outcome = str(read(a_document(**members)).redirect_uris)
    except InvalidDocument as refused:
        outcome = refused.reason
    assert outcome in (str((LOOP,)), "secret", "client_name", "redirect_uris")


def test_sec_051_another_name_or_list_has_another_digest_and_a_new_order_has_not():
    two = [LOOP, "https://app.example/cb"]
    digest = read(a_document(redirect_uris=two)).digest
    assert read(a_document(redirect_uris=two[::-1], client_uri="https://app.example")).digest == digest
    changed = [
        a_document(redirect_uris=two, client_name="Other"),
        a_document(),
        a_document(redirect_uris=[*two, "a.b:c"]),
    ]
    assert digest not in {read(body).digest for body in changed}
    assert len(digest) == 64


@pytest.mark.parametrize(
    ("uris", "others"),
    [
        ([LOOP], ()),
        (["https://app.example/cb", "https://www.app.example/cb"], ()),
        (["https://app.example/cb", "https://evil.example/cb", "https://evil.example/2"], ("evil.example",)),
        (["https://notapp.example/cb"], ("notapp.example",)),
        (["https://example/cb", "com.example:/cb"], ("example",)),
    ],
)
def test_sec_102_targets_on_another_site_than_the_document_are_named(uris, others):
    assert other_hosts(read(a_document(redirect_uris=uris))) == others


def test_sec_102_a_document_at_www_may_have_targets_without_it():
    at = "https://www.app.example/c"
    body = a_document(client_id=at, redirect_uris=["https://app.example/cb"])
    assert other_hosts(read_document(at, body, NONE)) == ()


def test_sec_102_a_document_with_only_loopback_targets_is_told_from_others():
    assert only_loopback(read(a_document(redirect_uris=[LOOP, "http://[::1]/cb"])))
    assert not only_loopback(read(a_document(redirect_uris=[LOOP, "https://app.example/cb"])))
    assert not only_loopback(read(a_document(redirect_uris=[LOOP, "com.example.app:/cb"])))
