"""What opens doors: random secrets of 256 bits, each with a prefix that says what it is, kept only as digests.

The prefixes let a scanner find a secret that leaked, and let us refuse one kind where another is wanted before
anything is looked up. Keys have a form of their own, in `keys`.
"""

import base64
import hashlib
import hmac
import re
import secrets
from typing import Literal, get_args

Kind = Literal["access", "refresh", "code", "session", "link", "client", "transaction", "device"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_PREFIXES: dict[Kind, str] = {
    "access": "ava_",
    "refresh": "avr_",
    "code": "avc_",
    "session": "avs_",
    "link": "avl_",
    "client": "avp_",
    "transaction": "avt_",
    "device": "avd_",
}
_BODY = re.compile(r"[A-Za-z0-9_-]{43}")


def new(kind: Kind) -> str:
    """A fresh secret from the operating system's generator."""
    return _PREFIXES[kind] + secrets.token_urlsafe(32)


def is_a(kind: Kind, text: str) -> bool:
    """Whether `text` has the form of such a secret; says nothing about whether it is one."""
    prefix = _PREFIXES[kind]
    return text.startswith(prefix) and _BODY.fullmatch(text[len(prefix) :]) is not None


def digest(text: str) -> str:
    """What is kept of a secret: SHA-256 in hex, enough for 256 random bits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def derived(kind: Kind, parent: str, salt: str) -> str:
    """A secret that only the holder of `parent` can make again, from a salt that says nothing by itself.

    So the answer to a repeated refresh needs to be kept nowhere: neither the salt alone, which lies in the database,
    nor the spent token alone makes it.
    """
    made = hmac.new(parent.encode(), f"{kind}:{salt}".encode(), "sha256").digest()
    return _PREFIXES[kind] + url_safe(made)


def url_safe(raw: bytes) -> str:
    """Bytes as base64 for addresses and cookies, without padding (RFC 4648 §5)."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
