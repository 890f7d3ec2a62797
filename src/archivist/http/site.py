"""Where this server is reachable: which Host and Origin values are ours, and what its address is called."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from urllib.parse import urlsplit

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Site:
    """What the owner configured about the server's address.

    public_url: an origin such as `https://memory.example.org`, without a final slash; empty if there is none.
    loopback: whether the server listens on a loopback address only.
    origins: origins of other web applications that may call `/mcp` from a browser, spelled exactly.
    issuer: what our authorization server is called; one string, byte for byte the same wherever it stands.
    proxies: networks whose word about where a request came from is believed.
    """

    public_url: str = ""
    loopback: bool = True
    origins: frozenset[str] = frozenset()
    issuer: str = "http://127.0.0.1:8765"
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()

    def is_ours(self, host: str, port: int) -> bool:
        """Whether `host`, the value of a Host header, names this server; `port` is the one that was connected to."""
        if self.public_url and host.lower() in _authorities(self.public_url):
            return True
        name, given = split_port(host)
        return self.loopback and name in LOOPBACK_NAMES and (given or _DEFAULT_PORTS["http"]) == port

    def admits(self, origin: str, host: str) -> bool:
        """Whether a page of `origin` may call `/mcp`: our own pages, pages of this machine, and those listed."""
        return origin in self.origins or origin == self.address(host) or _is_loopback(origin)

    def address(self, host: str) -> str:
        """Our origin as the caller knows it: the public one, else what its (already checked) Host header says."""
        return self.public_url or f"http://{host}"


def split_port(authority: str) -> tuple[str, int | None]:
    """`localhost:80` as ("localhost", 80). An authority that is not exactly `name` or `name:port` has the name ""."""
    name, colon, digits = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        return authority, None
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5 and digits[0] != "0" and int(digits) < 2**16):
        return "", None
    return name, int(digits)


def _is_loopback(origin: str) -> bool:
    scheme, _, authority = origin.partition("://")
    return scheme in _DEFAULT_PORTS and split_port(authority)[0] in LOOPBACK_NAMES


def _authorities(url: str) -> frozenset[str]:
    """What a Host header may say for `url`: with the default port spelled out or not."""
    parts = urlsplit(url)
    default = _DEFAULT_PORTS.get(parts.scheme)
    if parts.port is None or parts.port == default:
        return frozenset({parts.netloc.lower(), f"{_bare(parts.netloc)}:{default}", _bare(parts.netloc)})
    return frozenset({parts.netloc.lower()})


def _bare(netloc: str) -> str:
    return split_port(netloc.lower())[0]
