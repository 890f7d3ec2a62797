"""Which addresses may be connected to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.addresses import is_public

PUBLIC = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0",
    "126.255.255.255", "128.0.0.0", "160.79.104.10", "168.63.129.15", "172.15.255.255", "172.32.0.0",
    "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.112.255", "223.255.255.255",
    "2000::1", "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700::6810:1", "2a00:1450::1", "3ffd::1",
    "3fff:1000::1",
]  # fmt: skip
SPECIAL = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
    "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.169.254", "169.254.0.0", "172.16.0.1", "172.31.255.255",
    "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.1",
    "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
    "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8",
    "64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "64:ff9b:1:ffff::a00:1", "100::1", "100:0:0:1::1",
    "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:1f:ffff::1", "2001:20::1",
    "2001:2f:ffff::1", "2001:30::1", "2001:1ff:ffff::1", "2001:db8::1", "2002:7f00:1::1", "2002:808:808::1",
    "2620:4f:8000::1", "3ffe::1", "3fff::1", "3fff:fff:ffff::1", "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254",
    "fe80::1", "fe80::1%eth0", "fec0::1", "feff::1", "ff02::1", "ff0e::1", "2606:4700::1%eth0",
]  # fmt: skip
NOT_ADDRESSES = [
    "", "localhost", "example.org", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "8.8.8.8 ", " 8.8.8.8",
    "8.8.8.8:443", "8.8.8", "8.8.8.8.8", "08.8.8.8", "[2606:4700::1]", "2606:4700::1/64", "8.8.8.8/32", "٨.8.8.8",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_sec_097_an_address_of_the_public_internet_may_be_connected_to(address):
    assert is_public(address)


@pytest.mark.parametrize("address", SPECIAL)
def test_sec_097_an_address_of_a_special_range_may_not(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", NOT_ADDRESSES)
def test_sec_097_what_is_no_address_in_its_usual_spelling_may_not(address):
    assert not is_public(address)


def test_sec_097_the_table_is_large_enough():
    assert len(PUBLIC) + len(SPECIAL) >= 60


@given(st.ip_addresses(v=4))
def test_sec_097_no_address_that_carries_another_one_may_be_connected_to(inner):
    number = int(inner)
    high, low = number >> 16, number & 0xFFFF
    carriers = (f"::{inner}", f"::ffff:{inner}", f"64:ff9b::{inner}", f"64:ff9b:1::{inner}", f"2002:{high:x}:{low:x}::")
    assert not any(map(is_public, (*carriers, f"2001:0:{high:x}:{low:x}::1")))
