"""Which IP addresses belong to the public internet, and are none of a private network, this machine or a tunnel.

The lists are ours, from the IANA registries of special-purpose addresses: what the standard library calls global
differs between its versions, and it looks into some addresses that carry another one inside, but not into all.
"""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

_SPECIAL = {
    4: tuple(
        ip_network(block)
        for block in (
            "0.0.0.0/8",  # this network, unspecified
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by carriers; some clouds keep their metadata there
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # a cloud's own services, public only by its looks
            "169.254.0.0/16",  # link-local, metadata of most clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # automatic multicast tunnels
            "192.88.99.0/24",  # relays to 6to4
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarking
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        )
    ),
    6: tuple(
        ip_network(block)
        for block in (
            "::/96",  # unspecified, loopback, IPv4-compatible
            "::ffff:0:0/96",  # IPv4-mapped
            "::ffff:0:0:0/96",  # IPv4-translated
            "64:ff9b::/96",  # NAT64
            "64:ff9b:1::/48",  # NAT64 of a local network
            "100::/64",  # discard
            "100:0:0:1::/64",  # dummy
            "2001::/23",  # protocol assignments: Teredo, benchmarking, both ORCHIDs, anycast, drones
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4
            "2620:4f:8000::/48",  # AS112
            "3ffe::/16",  # the 6bone that was
            "3fff::/20",  # documentation
            "5f00::/16",  # segment routing
            "fc00::/7",  # unique local
            "fe80::/10",  # link-local
            "fec0::/10",  # site-local
            "ff00::/8",  # multicast
        )
    ),
}
_ASSIGNED = IPv6Network("2000::/3")
"""The only part of IPv6 that is assigned to public networks; what lies elsewhere is none of them, listed or not."""


def is_public(address: str) -> bool:
    """Whether `address`, in its usual spelling, may be connected to; anything that is no address is not."""
    try:
        found: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        return False
    if found.version == 6 and (found.scope_id is not None or found not in _ASSIGNED):
        return False
    return not any(found in block for block in _SPECIAL[found.version])
