"""Redirect targets: how two are compared, which may be named, what a person is told, and how an answer is put on."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.errors import InvalidArgument
from archivist.domain.redirects import URI_LENGTH, URIS, Target, acceptable, matches, target, verdict, with_parameters

NONE: frozenset[str] = frozenset()
LOOP = "http://127.0.0.1/callback"

SAME = [
    (LOOP, LOOP),
    (LOOP, "http://127.0.0.1:1/callback"),
    (LOOP, "http://127.0.0.1:65535/callback"),
    ("http://127.0.0.1:33418/callback", LOOP),
    ("http://127.0.0.1:33418/callback", "http://127.0.0.1:50000/callback"),
    ("http://127.0.0.1", "http://127.0.0.1:8080"),
    ("http://127.0.0.1/", "http://127.0.0.1:8080/"),
    ("http://127.0.0.1?a=1", "http://127.0.0.1:8080?a=1"),
    ("http://localhost/callback", "http://localhost:41999/callback"),
    ("http://localhost:6274/oauth/callback", "http://localhost:6275/oauth/callback"),
    ("http://localhost/cb?x=1&y=2", "http://localhost:9/cb?x=1&y=2"),
    ("http://[::1]/callback", "http://[::1]:41999/callback"),
    ("http://[::1]:1234/callback", "http://[::1]/callback"),
    ("https://app.example/cb", "https://app.example/cb"),
    ("https://app.example/cb?next=%2Fhome", "https://app.example/cb?next=%2Fhome"),
    ("com.example.app:/cb", "com.example.app:/cb"),
    ("cursor://anysphere.cursor-deeplink/cb", "cursor://anysphere.cursor-deeplink/cb"),
]
OTHERS = [
    (LOOP, "http://localhost/callback"),
    (LOOP, "http://[::1]/callback"),
    ("http://localhost:1/callback", "http://127.0.0.1:1/callback"),
    ("http://[::1]:1/callback", "http://localhost:1/callback"),
    (LOOP, "http://127.0.0.1:80/Callback"),
    (LOOP, "http://127.0.0.1:80/callback/"),
    (LOOP, "http://127.0.0.1:80/callback/x"),
    (LOOP, "http://127.0.0.1:80/"),
    (LOOP, "http://127.0.0.1:80/callback?x=1"),
    (LOOP, "http://127.0.0.1:80/callback#x"),
    (LOOP, "http://127.0.0.1:80/x/../callback"),
    (LOOP, "http://127.0.0.1:80/%63allback"),
    (LOOP, "https://127.0.0.1:80/callback"),
    (LOOP, "HTTP://127.0.0.1:80/callback"),
    (LOOP, "http://127.0.0.1:/callback"),
    (LOOP, "http://127.0.0.1:0/callback"),
    (LOOP, "http://127.0.0.1:080/callback"),
    (LOOP, "http://127.0.0.1:65536/callback"),
    (LOOP, "http://127.0.0.1:99999/callback"),
    (LOOP, "http://127.0.0.1:8\u0660/callback"),
    (LOOP, "http://127.0.0.1:80@evil.example/callback"),
    (LOOP, "http://user@127.0.0.1:80/callback"),
    (LOOP, "http://127.0.0.1.evil.example/callback"),
    (LOOP, "http://127.0.0.1:80\\@evil.example/callback"),
    (LOOP, "http://127.0.0.2:80/callback"),
    (LOOP, "http://127.1:80/callback"),
    (LOOP, "http://2130706433/callback"),
    (LOOP, "http://[::ffff:127.0.0.1]/callback"),
    (LOOP, " http://127.0.0.1/callback"),
    (LOOP, "http://127.0.0.1/callback\n"),
    (LOOP, ""),
    ("http://localhost/callback", "http://LOCALHOST:1/callback"),
    ("http://localhost/callback", "http://localhost.:1/callback"),
    ("http://localhost/callback?a=1", "http://localhost:1/callback?a=2"),
    ("http://localhost/callback?a=1&b=2", "http://localhost:1/callback?b=2&a=1"),
    ("https://localhost/callback", "https://localhost:8443/callback"),
    ("https://app.example/cb", "https://app.example:443/cb"),
    ("https://app.example/cb", "https://app.example/cb?"),
    ("https://app.example/cb", "https://App.example/cb"),
    ("https://app.example/cb", "http://app.example/cb"),
    ("https://app.example/cb", "https://sub.app.example/cb"),
    ("http://app.example/cb", "http://app.example:8080/cb"),
    ("com.example.app:/cb", "com.example.app:/cb2"),
]

ALLOWED = [
    "https://app.example/cb", "https://app.example", "https://app.example:8443/cb?x=1", "https://App.Example/CB",
    "https://xn--bcher-kva.example/cb", "https://localhost/cb", "https://intranet/cb", "https://a.example/cb?codes=1",
    "https://app.example/@user/cb?to=me@x", "https://app.example/a%20b/%E2%82%AC", LOOP, "http://127.0.0.1:33418/",
    "http://localhost:1/oauth/callback", "http://localhost", "http://[::1]:65535/cb?x", "com.example.app:/oauth",
    "com.example.app://cb", "io.github.some-app:cb",
]  # fmt: skip
UNLISTED = [
    "cursor://anysphere.cursor-deeplink/cb", "vscode://x/y", "myapp:/cb", "http://app.example/cb",
    "http://127.0.0.2/cb", "http://127.0.0.1.evil.example/cb", "http://LOCALHOST/cb", "http://[::2]/cb",
    "http://127.0.0.1:0/cb", "http://127.0.0.1:70000/cb", "https://192.0.2.1/cb", "https://[2001:db8::1]/cb",
    "https://2130706433/cb", "https://127.1/cb", "https://0x7f.0x1/cb", "https:app.example/cb", "https:/app.example/cb",
    "https:///app.example/cb", "https://app..example/cb", "https://-app.example/cb", "https://app.example:/cb",
    "https://app.example:99999/cb", "https://app_1.example/cb", "//app.example/cb", "/cb", "HTTPS://app.example/cb",
    "com.example.app:", "https://" + "a." * 130 + "example/cb", "1app.x:/cb",
]  # fmt: skip
DANGEROUS = [
    "javascript:alert(1)", "JavaScript://app.example/%0aalert(1)", "data:text/html,x", "file:///etc/passwd",
    "blob:https://app.example/x", "vbscript:x", "about:blank", "filesystem:https://x/y", "view-source:https://x",
    "intent://x", "https://app.example/cb#x", "https://app.example/cb#", "https://user@app.example/cb",
    "https://user:pw@app.example/cb", "https:user@app.example/cb", "https://app.example@evil.example/cb",
    "http://127.0.0.1:80@evil.example/cb", "https://*.example/cb", "https://app.example/*",
    "https://app.example\\@evil.example/cb", "https://app.example/cb ", " https://app.example/cb",
    "https://app.example/c b", "https://app.example/cb\r\nx: y", "https://app.example/cb\t", "https://app.example/\x00",
    "https://app.example/%00", "https://app.example/%0d%0ax", "https://app.example/%zz", "https://bücher.example/cb",
    "https://app.example/ü", "https://app.example\u3002evil.example/cb", "https://app.example/cb?code=1",
    "https://app.example/cb?x=1&state=2", "https://app.example/cb?iss=x", "https://app.example/cb?error",
    "https://app.example/cb?error_description=x", "https://app.example/cb?%63ode=1", "https://app.example/cb?CODE=1",
    "https://app.example/cb?x=1;code=2", "https://app.example/cb?code%5B%5D=1", "https://app.example/cb?+state=1",
    "http://localhost/cb?id_token=x", "com.example.app:/cb?access_token=x", "com.example.app://user@x/cb",
]  # fmt: skip


@pytest.mark.parametrize(("registered", "given"), SAME)
def test_sec_025_the_same_target_or_another_loopback_port_matches(registered, given):
    assert matches(registered, given)


@pytest.mark.parametrize(("registered", "given"), OTHERS)
def test_sec_025_any_other_difference_does_not_match_either_way(registered, given):
    assert not matches(registered, given)
    assert not matches(given, registered)


def test_sec_025_the_table_is_large_enough():
    assert len(SAME) + len(OTHERS) >= 40


@pytest.mark.parametrize("uri", ALLOWED)
def test_sec_089_an_allowed_target_is_kept_as_it_is_spelled(uri):
    assert acceptable([uri], NONE) == (uri,)


@pytest.mark.parametrize("uri", UNLISTED)
def test_sec_089_an_unlisted_target_is_refused_alone_and_left_out_beside_an_allowed_one(uri):
    with pytest.raises(InvalidArgument, match="redirect_uris"):
        acceptable([uri], NONE)
    assert acceptable([uri, LOOP], NONE) == acceptable([LOOP, uri], NONE) == (LOOP,)


@pytest.mark.parametrize("uri", DANGEROUS)
def test_sec_089_a_dangerous_target_refuses_the_whole_list(uri):
    for uris in ([uri], [uri, LOOP], [LOOP, uri], ["myapp:/cb", LOOP, uri]):
        with pytest.raises(InvalidArgument, match="redirect_uris") as refused:
            acceptable(uris, NONE)
        assert uri not in refused.value.detail


def test_sec_089_the_table_is_large_enough():
    assert len(ALLOWED) + len(UNLISTED) + len(DANGEROUS) >= 60


def test_sec_089_an_app_scheme_without_a_dot_is_allowed_once_the_operator_lists_it():
    listed = frozenset({"cursor"})
    assert acceptable(["cursor://x/cb", "vscode://x/cb"], listed) == ("cursor://x/cb",)
    assert verdict("cursor://x/cb?code=1", listed) == "dangerous"


def test_sec_089_listing_a_dangerous_scheme_does_not_allow_it():
    assert verdict("javascript:x", frozenset({"javascript"})) == "dangerous"


@pytest.mark.parametrize("odd", [None, 1, b"https://app.example/cb", ["https://app.example/cb"], {}])
def test_sec_089_what_is_no_text_refuses_the_whole_list(odd):
    with pytest.raises(InvalidArgument):
        acceptable([LOOP, odd], NONE)


def test_sec_089_the_list_and_each_target_have_a_longest_length():
    many = [f"https://app.example/{number}" for number in range(URIS)]
    assert len(acceptable(many, NONE)) == URIS
    long = "https://app.example/".ljust(URI_LENGTH, "x")
    assert acceptable([long], NONE) == (long,)
    for uris in ([], [*many, LOOP], [LOOP, long + "x"]):
        with pytest.raises(InvalidArgument):
            acceptable(uris, NONE)


def test_a_repeated_target_is_kept_once():
    assert acceptable([LOOP, "https://app.example", LOOP], NONE) == (LOOP, "https://app.example")


def test_sec_026_a_target_that_was_allowed_is_refused_once_its_scheme_is_not_listed_any_more():
    [kept] = acceptable(["cursor://x/cb"], frozenset({"cursor"}))
    assert verdict(kept, NONE) == "unlisted"


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("https://App.Example:8443/cb", Target("app.example", "web", "https")),
        ("https://xn--80ak6aa92e.example/cb", Target("xn--80ak6aa92e.example", "web", "https")),
        ("https://localhost/cb", Target("localhost", "web", "https")),
        ("http://127.0.0.1:1/cb", Target("127.0.0.1", "loopback", "http")),
        ("http://[::1]:1/cb", Target("[::1]", "loopback", "http")),
        ("http://localhost", Target("localhost", "loopback", "http")),
        ("com.example.app:/cb", Target("", "app", "com.example.app")),
        ("cursor://x/cb", Target("", "app", "cursor")),
    ],
)
def test_sec_041_a_person_is_told_host_and_kind_of_a_target(uri, shown):
    assert target(uri) == shown


@given(st.text(alphabet="httpsloca.:/@%?#[]12\\*xé ", max_size=40))
def test_sec_041_every_allowed_target_shows_its_host_or_is_an_app(uri):
    if verdict(uri, NONE) == "allowed":
        shown = target(uri)
        assert (shown.host == "") == (shown.kind == "app")
        assert shown.host in uri.lower()


@pytest.mark.parametrize(
    ("uri", "answer"),
    [
        (LOOP, LOOP + "?code=a%20b%26c&state=%C3%BC%2B"),
        (LOOP + "?", LOOP + "?code=a%20b%26c&state=%C3%BC%2B"),
        (LOOP + "?x=%2f&y=+", LOOP + "?x=%2f&y=+&code=a%20b%26c&state=%C3%BC%2B"),
        (LOOP + "?x=1&", LOOP + "?x=1&code=a%20b%26c&state=%C3%BC%2B"),
        ("com.example.app:cb", "com.example.app:cb?code=a%20b%26c&state=%C3%BC%2B"),
    ],
)
def test_an_answer_is_put_behind_the_query_that_is_there(uri, answer):
    assert with_parameters(uri, {"code": "a b&c", "state": "ü+"}) == answer


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=50))
def test_every_state_comes_back_unchanged(state):
    query = with_parameters("https://app.example/cb?x=1", {"state": state}).partition("?")[2]
    assert parse_qsl(query, keep_blank_values=True) == [("x", "1"), ("state", state)]
