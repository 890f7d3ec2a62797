"""Every error raised on purpose.

ArchivistError              code                    http  retry
├── InvalidArgument         invalid_argument        400   no     names the field and the allowed range
├── ConfirmationRequired    confirmation_required   400   no     the exact phrase is missing; nothing was touched
├── Unauthenticated         unauthenticated         401   no     no credential, or one that is not valid (any more)
├── InsufficientScope       insufficient_scope      403   no     a valid credential without the scope
├── ApprovalRequired        approval_required       403   yes    an owner of the vault must agree first
├── NotFound                not_found               404   no     also when the caller may not know that it exists
├── Conflict                conflict                409   no     the write contradicts what is stored
├── BatchNotFound           batch_not_found         404   no     also when somebody else took the batch
├── LeaseExpired            lease_expired           409   no     and others took memories of the batch since
├── BatchConflict           batch_conflict          409   no     nothing of the batch is left, or too many are open
├── RateLimited             rate_limited            429   yes
├── Unavailable             storage_unavailable     503   yes    the store did not answer
│   ├── Damaged             storage_damaged         503   no     a row is not what was written; a repair is needed
│   └── EmbedderUnavailable embedder_unavailable    503   yes    the embedder did; keyword search goes on
└── Refused                 refused                 –     no     a start-up or command that cannot go on, and why
"""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar


class ArchivistError(Exception):
    """Base of all deliberate errors. `code` is public API; `detail` may be shown to the caller."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class InvalidArgument(ArchivistError):
    """An argument is outside its range. The detail names the range, never the value."""

    code, status = "invalid_argument", 400

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")
        self.field = field


class ConfirmationRequired(ArchivistError):
    """The exact confirmation phrase is missing; nothing was touched."""

    code, status = "confirmation_required", 400


class Unauthenticated(ArchivistError):
    """No credential, or one that is not valid (any more)."""

    code, status = "unauthenticated", 401


class InsufficientScope(ArchivistError):
    """The credential is valid, but lacks the scope that the act needs."""

    code, status = "insufficient_scope", 403


class ApprovalRequired(ArchivistError):
    """An owner of the vault must agree first; nothing was touched.

    link: the page where they do, until `expires`. approval: the id of the question. in_client: whether an answer
    through the client would count.
    """

    code, status, retryable = "approval_required", 403, True

    def __init__(self, approval: str, link: str, expires: datetime, *, in_client: bool) -> None:
        super().__init__(
            f"an owner of this vault must approve this first, and nothing was deleted. Open {link}, approve it there, "
            "then call again with the same confirmation; the approval works once, within ten minutes"
        )
        self.approval, self.link, self.expires, self.in_client = approval, link, expires, in_client


class NotFound(ArchivistError):
    """The thing does not exist, or the caller may not know that it does."""

    code, status = "not_found", 404


class Conflict(ArchivistError):
    """The write would contradict what is stored."""

    code, status = "conflict", 409


class BatchNotFound(ArchivistError):
    """There is no such reflection batch, or the caller did not take it."""

    code, status = "batch_not_found", 404


class LeaseExpired(ArchivistError):
    """A reflection batch was held too long, and others took memories of it since."""

    code, status = "lease_expired", 409


class BatchConflict(ArchivistError):
    """Nothing of the reflection batch is left to consolidate, or too many are open."""

    code, status = "batch_conflict", 409


class RateLimited(ArchivistError):
    """Too many acts in too short a time. `retry_after` is in seconds."""

    code, status, retryable = "rate_limited", 429, True

    def __init__(self, detail: str, retry_after: int) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Unavailable(ArchivistError):
    """The store did not answer; asking again later may help."""

    code, status, retryable = "storage_unavailable", 503, True


class Damaged(Unavailable):
    """What is stored is not what was written. Asking again does not help, a repair does. `ids`: of the memories."""

    code, retryable = "storage_damaged", False

    def __init__(self, ids: Sequence[str]) -> None:
        named = f"memory {ids[0]} is" if len(ids) == 1 else f"{len(ids)} memories are"
        super().__init__(f"{named} damaged on disk and not shown; `archivist repair` brings back what the mirror holds")
        self.ids = ids


class EmbedderUnavailable(Unavailable):
    """The embedder did not answer; what needs no vector goes on."""

    code = "embedder_unavailable"


class Refused(ArchivistError):
    """A start-up or a command cannot go on. The detail says in one line what is wrong and how to mend it."""

    code = "refused"
