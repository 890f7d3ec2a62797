"""Lines out of a stream of bytes, with a bound on how much of one is kept."""

from collections.abc import Iterator


class Lines:
    """Collects chunks and gives out complete lines, without their ends.

    A line longer than `limit` bytes comes out cut after `limit + 1`, so that whoever takes it sees that it is too
    long; no more than that is ever held.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._kept = limit, bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that `chunk` completes."""
        *ended, open_end = chunk.split(b"\n")
        for part in ended:
            self._keep(part)
            yield from self.end()
        self._keep(open_end)

    def end(self) -> Iterator[bytes]:
        """What stands in the last line, once nothing more can come."""
        line, self._kept = bytes(self._kept), bytearray()
        if line.strip():
            yield line

    def _keep(self, part: bytes) -> None:
        self._kept += part[: self._limit + 1 - len(self._kept)]
