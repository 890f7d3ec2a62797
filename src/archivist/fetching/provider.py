"""An OpenID provider that people may sign in with (OpenID Connect Core 1.0, Discovery 1.0): the operator names one.

Its address comes from the configuration alone. What it says is checked: the issuer of its metadata, and of each
identity token the signature, issuer, audience, age and nonce.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

import httpx2

from archivist.domain.errors import Unauthenticated, Unavailable

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures that are taken; never one by a shared secret, never none."""

KEPT = timedelta(hours=1)
TRIED = timedelta(seconds=30)
"""A provider that did not answer is left alone for so long."""

_SECONDS = 5.0
_BYTES = 1024 * 1024
_LEEWAY = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Outsider:
    """Who somebody is at the provider: known by issuer and subject, and by nothing else."""

    issuer: str
    subject: str
    name: str


@dataclass(frozen=True, slots=True)
class _Read:
    metadata: Mapping[str, Any] | None
    at: datetime


class Provider:
    """The provider at `issuer`, where we are the client `client_id`. Lives on one event loop."""

    def __init__(self, issuer: str, client_id: str, secret: str, now: Callable[[], datetime]) -> None:
        self.issuer, self._client, self._secret, self._now = issuer, client_id, secret, now
        self._read: _Read | None = None
        self._reading = asyncio.Lock()

    async def origin(self) -> str | None:
        """Where its sign-in page is; None if it cannot be reached now."""
        try:
            parts = urlsplit(str((await self._metadata())["authorization_endpoint"]))
        except Unavailable:
            return None
        return f"{parts.scheme}://{parts.netloc}"

    async def address(self, *, redirect_uri: str, state: str, nonce: str, challenge: str) -> str:
        """Where the browser goes to sign in there.

        Raises:
            Unavailable: the provider does not answer.
        """
        endpoint = str((await self._metadata())["authorization_endpoint"])
        asked = {
            "response_type": "code",
            "client_id": self._client,
            "redirect_uri": redirect_uri,
            "scope": "openid profile",
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "prompt": "login",
        }
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    async def outsider(self, *, code: str, verifier: str, nonce: str, redirect_uri: str) -> Outsider:
        """Who came back with `code`.

        Raises:
            Unauthenticated: the provider does not vouch for anybody, or what it says does not hold.
            Unavailable: the provider does not answer.
        """
        metadata = await self._metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
            "client_id": self._client,
        }
        who = self._client, self._secret
        answered = await self._asked("POST", str(metadata["token_endpoint"]), data=form, auth=who)
        token = answered.get("id_token")
        if not isinstance(token, str):
            raise _not_vouched()
        keys = await self._asked("GET", str(metadata["jwks_uri"]))
        claims = self._checked(token, keys, nonce)
        name = claims.get("preferred_username") or claims.get("name") or ""
        return Outsider(issuer=self.issuer, subject=str(claims["sub"]), name=str(name)[:100])

    def _checked(self, token: str, keys: Mapping[str, Any], nonce: str) -> Mapping[str, Any]:
        """The claims of an identity token that holds in every way (Core §3.1.3.7)."""
        from joserfc import errors, jwk, jwt  # a tenth of a second of imports that only outside sign-in needs

        wanted = jwt.JWTClaimsRegistry(
            now=int(self._now().timestamp()),
            leeway=_LEEWAY,
            iss={"essential": True, "value": self.issuer},
            aud={"essential": True, "value": self._client},
            sub={"essential": True},
            exp={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            known = jwk.KeySet.import_key_set(cast("Any", keys))  # it checks the shape itself
            decoded = jwt.decode(token, known, algorithms=list(ALGORITHMS))
            wanted.validate(decoded.claims)
        except (errors.JoseError, ValueError, KeyError, TypeError):
            raise _not_vouched() from None
        party = decoded.claims.get("azp", self._client)
        if party != self._client or not decoded.claims["sub"]:
            raise _not_vouched()
        return decoded.claims

    async def _metadata(self) -> Mapping[str, Any]:
        """The provider's metadata, read now and then."""
        async with self._reading:
            now, read = self._now(), self._read
            if read is not None and timedelta(0) <= now - read.at < (KEPT if read.metadata else TRIED):
                if read.metadata is None:
                    raise _silent()
                return read.metadata
            try:
                found = await self._asked("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
            except (Unavailable, Unauthenticated):
                self._read = _Read(None, now)
                raise _silent() from None
            needed = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            if found.get("issuer") != self.issuer or not all(isinstance(found.get(name), str) for name in needed):
                self._read = _Read(None, now)
                raise _silent()
            self._read = _Read(found, now)
            return found

    async def _asked(self, method: str, address: str, **more: Any) -> Mapping[str, Any]:
        """The JSON object that an endpoint answers; redirects are not followed, nothing of the environment is used."""
        try:
            async with (
                httpx2.AsyncClient(timeout=_SECONDS, follow_redirects=False, trust_env=False) as http,
                http.stream(method, address, **more) as response,
            ):
                body = b""
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _BYTES:
                        raise _silent()
                if response.status_code >= 500 or response.is_redirect:
                    raise _silent()
                if response.status_code != 200:
                    raise _not_vouched()
                found = json.loads(body)
        except (httpx2.HTTPError, ValueError):
            raise _silent() from None
        if not isinstance(found, dict):
            raise _silent()
        return found


def _silent() -> Unavailable:
    return Unavailable("the provider cannot be reached at this moment; sign in with your password, or try again")


def _not_vouched() -> Unauthenticated:
    return Unauthenticated("the provider did not say who you are; begin again")
