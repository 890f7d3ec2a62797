"""What the socket bears, before any of our own code is asked."""

import socket
from urllib.parse import urlsplit

HEAD = b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n"


def answer(origin, *parts):
    """What comes back until the server hangs up or answers; sending may fail once it has hung up."""
    where = urlsplit(origin)
    with socket.create_connection((where.hostname, where.port), timeout=30) as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except OSError:
            pass
        try:
            return connection.recv(65_536)
        except ConnectionResetError:
            return b"reset"


def test_a_head_without_end_is_refused_and_memory_stays_flat(archivist):
    with archivist.serving() as origin:
        for endless in (b"x" * 1_000, b"x: " + b"y" * 997 + b"\r\n"):
            got = answer(origin, HEAD, *[endless] * 5_000)
            assert got.startswith(b"HTTP/1.1 4") or got == b"reset", got
        assert answer(origin, HEAD.replace(b"POST /mcp", b"GET /health"), b"\r\n").startswith(b"HTTP/1.1 421")


def test_a_usual_head_in_pieces_and_a_long_body_are_no_matter(archivist):
    with archivist.serving() as origin:
        port = str(urlsplit(origin).port).encode()
        head = b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:" + port + b"\r\ncontent-length: 100000\r\n"
        got = answer(origin, head, *[b"x-%d: y\r\n" % number for number in range(200)], b"\r\n", b"{" * 100_000)
    assert got.startswith(b"HTTP/1.1 401")
