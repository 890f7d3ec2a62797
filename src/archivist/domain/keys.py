"""API keys: how they are written, recognised and narrowed.

A key is a prefix, 43 random letters and digits (256 bits) and a checksum of six. `mk_ro_` marks keys that were made
for reading only; `mk-` and `mk-ro-` are other spellings of the same prefixes. The checksum covers the prefix, so that
no rewriting turns one form into another, and a mistyped key is refused without a look into the database.
A suffix (`:read`, `:write`, `:off`) can follow and only narrows what the key's record allows.
"""

import hashlib
import re
import secrets
import string
import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from archivist.domain.access import Credential, Principal, Scope
from archivist.domain.errors import InvalidArgument, Unauthenticated
from archivist.domain.ids import KeyId, UserId, VaultId
from archivist.domain.limits import KEY_NAME_LENGTH

FULL, READ_ONLY = "mk_", "mk_ro_"
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM, _CHECK = 43, 6
_SPELLING = re.compile(r"(mk_ro_|mk-ro-|mk_|mk-)([0-9A-Za-z]{49})(:read|:write|:off)?")
_SUFFIXES = {
    "": frozenset(Scope),
    ":read": frozenset({Scope.READ}),
    ":write": frozenset({Scope.WRITE}),
    ":off": frozenset[Scope](),
}
SHOWN = 9
"""How many first characters of a key may be shown later; the six that are random say nothing about the rest."""


Kind = Literal["memory", "account", "minted"]
"""memory: opens its vault. account: only mints keys for a product's users, a vault for each; it opens none itself.

minted: made by an account key; it opens its vault as any other.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is kept of a key. `digest` is the SHA-256 of its canonical spelling; the key itself is shown once."""

    id: KeyId
    vault: VaultId
    digest: str
    start: str
    name: str
    owner: UserId
    scopes: frozenset[Scope]
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    kind: Kind = "memory"


@dataclass(frozen=True, slots=True)
class Presented:
    """A well-formed key as a caller sent it: where to look it up, and the most that it can allow."""

    digest: str
    most: frozenset[Scope]


def checked_name(name: str) -> str:
    """What a key is called, without surrounding blanks; may be empty.

    Raises:
        InvalidArgument: too long, or with characters that a list cannot show.
    """
    name = name.strip()
    if len(name) > KEY_NAME_LENGTH or not name.isprintable():
        raise InvalidArgument("name", f"must be at most {KEY_NAME_LENGTH} printable characters")
    return name


def new_secret(*, read_only: bool) -> str:
    """A fresh key in canonical spelling."""
    prefix = READ_ONLY if read_only else FULL
    body = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM))
    return prefix + body + _checksum(prefix + body)


def parse(text: str) -> Presented:
    """What `text` claims to be.

    Raises:
        Unauthenticated: not a key, a wrong checksum, or a suffix that is not exactly one of the three.
    """
    match = _SPELLING.fullmatch(text)
    if match is None:
        raise Unauthenticated("this is not a key of this server")
    prefix, body, suffix = match[1].replace("-", "_"), match[2], match[3] or ""
    canonical = prefix + body
    if _checksum(canonical[:-_CHECK]) != body[-_CHECK:]:
        raise Unauthenticated("this is not a key of this server")
    most = _SUFFIXES[suffix]
    return Presented(digest_of(canonical), most & {Scope.READ} if prefix == READ_ONLY else most)


def digest_of(canonical: str) -> str:
    """SHA-256 in hex; enough for 256 random bits."""
    return hashlib.sha256(canonical.encode()).hexdigest()


def principal(key: Key, presented: Presented, now: datetime) -> Principal:
    """The caller behind a key that was found: its record, narrowed by the form it came in.

    Raises:
        Unauthenticated: revoked or expired.
    """
    if key.revoked is not None or (key.expires is not None and key.expires <= now):
        raise Unauthenticated("this key is revoked or expired; make another one with `archivist keys create`")
    credential: Credential = "account" if key.kind == "account" else "key"
    return Principal(key.owner, key.vault, key.scopes & presented.most, credential, key.id)


def _checksum(text: str) -> str:
    """CRC-32 in six base-62 digits: catches slips of typing; it protects nothing."""
    number = zlib.crc32(text.encode())
    digits = ""
    for _ in range(_CHECK):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits
