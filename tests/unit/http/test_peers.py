"""Where a request comes from: the socket, or what a proxy says that the operator named."""

from ipaddress import ip_network

import pytest

from archivist.http.peers import address
from archivist.http.site import Site

PROXIES = Site(proxies=(ip_network("10.0.0.1"), ip_network("10.1.0.0/16"), ip_network("2001:db8::/32")))
REAL, SPOOFED, PROXY = "203.0.113.7", "198.51.100.9", "10.0.0.1"


def came(site: Site, peer: str | None, *forwarded: str, **others: str) -> str:
    named = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in others.items()]
    headers = [*((b"x-forwarded-for", value.encode("latin-1")) for value in forwarded), *named]
    return address({"type": "http", "client": (peer, 5) if peer else None, "headers": headers}, site)


@pytest.mark.parametrize("site", [Site(), PROXIES], ids=["no proxy is named", "not through the proxy"])
def test_sec_143_what_a_stranger_says_about_itself_counts_for_nothing(site):
    said = {"forwarded": f"for={SPOOFED}", "x_real_ip": SPOOFED, "cf_connecting_ip": SPOOFED, "true_client_ip": SPOOFED}
    assert came(site, REAL, SPOOFED, **said) == REAL
    assert came(site, REAL, SPOOFED, PROXY) == REAL
    assert came(site, "127.0.0.1", SPOOFED) == "127.0.0.1"


@pytest.mark.parametrize(
    ("forwarded", "found"),
    [
        ([REAL], REAL),
        ([f"{SPOOFED}, {REAL}"], REAL),
        ([SPOOFED, REAL], REAL),
        ([f"{SPOOFED}, {REAL}, 10.1.2.3"], REAL),
        ([f"{SPOOFED}, 10.1.2.3,{REAL} , 10.1.9.9"], REAL),
        ([f"{REAL}, 2001:db8::5"], REAL),
        (["2a00:1450::1"], "2a00:1450::1"),
        ([f"{SPOOFED}, nonsense"], PROXY),
        ([f"{SPOOFED},"], PROXY),
        (["203.0.113.7:1234"], PROXY),
        (["\xe9"], PROXY),
        ([], PROXY),
        (["10.1.2.3"], PROXY),
    ],
)
def test_sec_143_through_the_named_proxies_the_last_address_that_is_none_of_them_counts(forwarded, found):
    assert came(PROXIES, PROXY, *forwarded) == found


def test_sec_143_no_other_header_counts_through_the_proxy_either():
    assert came(PROXIES, PROXY, REAL, forwarded=f"for={SPOOFED}", x_real_ip=SPOOFED) == REAL


def test_a_socket_without_an_address_has_none():
    assert came(PROXIES, None, SPOOFED) == ""
