"""A small site on loopback with a certificate, which answers as a test tells it to and counts who came."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

HOST = "client.example"
ADDRESS = f"https://{HOST}/oauth/client.json"

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Authority:
    """Signs certificates; `file` is its own, which whoever trusts it loads. Each file lies in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority for tests")])
        self._certificate = self._signed(self._name, self._key, x509.BasicConstraints(ca=True, path_length=None))
        self.file = folder / "authority.pem"
        self.file.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.file))

    def serving(self, host: str, days: int = 1) -> ssl.SSLContext:
        """For a site named `host`, valid for `days` from yesterday on; none make it expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        signed = self._signed(name, key, x509.SubjectAlternativeName([x509.DNSName(host)]), days)
        file = self._folder / f"{host}-{days}.pem"
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(secret + signed.public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _signed(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType, days: int = 1
    ) -> x509.Certificate:
        yesterday = datetime.now(UTC) - timedelta(days=1)
        return (
            x509.CertificateBuilder(self._name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(yesterday)
            .not_valid_after(yesterday + timedelta(days=days + 1 / 24))
            .add_extension(extension, critical=False)
            .sign(self._key, hashes.SHA256())
        )


@dataclass
class Site:
    """`requests` keeps the head of each request, `connections` counts who came, `sent` the bytes of endless answers."""

    behaviour: Behaviour
    is_secure: bool
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    sent: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0

    @classmethod
    @asynccontextmanager
    async def open(
        cls, behaviour: Behaviour, context: ssl.SSLContext | None, host: str = "127.0.0.1", port: int = 0
    ) -> AsyncIterator[Self]:
        site = cls(behaviour, context is not None)
        server = await asyncio.start_server(site._serve, host, port, ssl=context)
        site.port = server.sockets[0].getsockname()[1]
        try:
            yield site
        finally:
            site.released.set()
            server.close()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = reader.readuntil(b"\r\n\r\n") if self.is_secure else reader.read(1024)
            self.requests.append(await head)
            await self.behaviour(writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass  # the caller had enough
        finally:
            writer.close()


def answers(
    body: bytes = b"{}", status: int = 200, content_type: str | None = "application/json", **headers: str
) -> Behaviour:
    """One whole answer; names of further headers are written with `_` for `-`."""
    fields = {"content-type": content_type, "content-length": str(len(body)), "connection": "close"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    return sends(f"HTTP/1.1 {status} X\r\n", fields, body)


def sends(line: str, fields: dict[str, str | None], body: bytes = b"") -> Behaviour:
    """Exactly these headers, those without a value left out, and this body; then the connection is closed."""
    head = line + "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value is not None) + "\r\n"

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode("latin-1") + body)
        await writer.drain()

    return behave
