"""Runs where only a network namespace is: the guarded fetch as it ships, against sites at public addresses.

Started by a test with `unshare`, in a folder for itself; says what happened as one JSON object on standard output.
"""

import asyncio
import fcntl
import json
import os
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

from archivist.fetching.documents import FetchFailed, GuardedFetch
from tests.security.document_site import Authority, Site, answers

PUBLIC, INNER = "93.184.216.34", "10.1.2.3"
HOSTS = f"{PUBLIC} client.example\n{INNER} inner.example\n{PUBLIC} mixed.example\n{INNER} mixed.example\n"
ASKED = ("client", "inner", "mixed", "absent")
_SET_FLAGS, _SET_ADDRESS, _UP = 0x8914, 0x8916, 0x41


def give_addresses(*addresses: str) -> None:
    """Brings the loopback device up, with these addresses beside its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sH22x", b"lo", _UP))
        for number, address in enumerate(addresses):
            family = struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(control, _SET_ADDRESS, struct.pack("16s8s16x", f"lo:{number}".encode(), family))


async def outcome(fetch: GuardedFetch, host: str) -> str:
    try:
        return (await fetch.fetch(f"https://{host}/oauth/client.json")).body.decode()
    except FetchFailed as failure:
        return failure.reason


class Turning:
    """A resolver that names the public address first, and one inside ever after."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, _: str) -> Sequence[str]:
        self.asked += 1
        return [PUBLIC] if self.asked == 1 else [INNER]


async def main(folder: Path) -> dict[str, object]:
    give_addresses(PUBLIC, INNER)
    authority = Authority(folder)
    os.environ["SSL_CERT_FILE"] = str(authority.file)  # trusted by the machine, as far as this process can tell
    turning = Turning()
    context = authority.serving("client.example")
    async with (
        Site.open(answers(b'"outer"'), context, PUBLIC, 443) as outer,
        Site.open(answers(b'"inner"'), context, INNER, 443) as inner,
        Site.open(answers(b'"loopback"'), context, "127.0.0.1", 443) as loopback,
    ):
        fetch, turned = GuardedFetch(), GuardedFetch(resolve=turning)
        found: dict[str, object] = {host: await outcome(fetch, f"{host}.example") for host in ASKED}
        found["before turning"] = await outcome(turned, "client.example")
        found["asked"] = turning.asked
        found["after turning"] = await outcome(turned, "client.example")
    return {**found, "connections": [outer.connections, inner.connections, loopback.connections]}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(Path(sys.argv[1])))))
