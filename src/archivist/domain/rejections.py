"""What an authorization server answers to a request that it cannot grant, in the words of the RFCs."""

from typing import ClassVar, Literal

from archivist.domain.errors import ArchivistError

Code = Literal[
    "invalid_request",  # RFC 6749 §4.1.2.1, §5.2
    "unauthorized_client",
    "access_denied",
    "unsupported_response_type",
    "invalid_scope",
    "server_error",
    "temporarily_unavailable",
    "invalid_client",  # §5.2
    "invalid_grant",
    "unsupported_grant_type",
    "invalid_target",  # RFC 8707 §2
    "invalid_redirect_uri",  # RFC 7591 §3.2.2
    "invalid_client_metadata",
    "interaction_required",  # OpenID Connect Core §3.1.2.6
]


class Rejected(ArchivistError):
    """An OAuth error. `error` is the code of the RFC; the detail names the parameter and the mend, never a value."""

    code: ClassVar[str] = "rejected"
    status: ClassVar[int] = 400

    def __init__(self, error: Code, detail: str) -> None:
        super().__init__(detail)
        self.error = error

    @property
    def http_status(self) -> int:
        """401 for a client that is not known or did not authenticate, else 400 (RFC 6749 §5.2)."""
        return 401 if self.error == "invalid_client" else 400


class Unheard(Rejected):
    """A secret that nobody was given, or an app that nobody knows: whoever sends many of them guesses."""


class Unanswerable(ArchivistError):
    """An authorization request without a client or a redirect target that could be trusted: answered by a page here.

    `reason` is a short word for the page; nothing is sent to any address of the request.
    """

    code: ClassVar[str] = "unanswerable"
    status: ClassVar[int] = 400

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
