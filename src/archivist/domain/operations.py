"""Which scope every operation needs: one table, read by the MCP entry and by the services. Nothing else decides.

An operation that is missing here is refused to all.
"""

from archivist.domain.access import Credential, Principal, Scope, authorise
from archivist.domain.errors import InsufficientScope

SCOPES: dict[str, Scope] = {
    "store_memory": Scope.WRITE,
    "search_memories": Scope.READ,
    "date_search_memories": Scope.READ,
    "memory_status": Scope.READ,
    "inspect_memory": Scope.READ,
    "consolidate_memories": Scope.REFLECT,
    "commit_reflections": Scope.REFLECT,
    "delete_memories": Scope.DELETE,
    "derived preview": Scope.DELETE,
    "derived delete": Scope.DELETE,
    "forget_all_memories": Scope.DELETE,
    "search": Scope.READ,
    "memory://vault/stats": Scope.READ,
    "memory://vault/recent": Scope.READ,
    "export": Scope.READ,
    "import": Scope.WRITE,
}

FORMS: dict[str, Credential] = {
    "keys mint": "account",
    "keys minted": "account",
    "keys unmint": "account",
}
"""What no scope gives, but one form of credential alone does."""


def permit(who: Principal, operation: str) -> None:
    """Raises InsufficientScope unless `who` may do `operation`; KeyError for an operation without a row."""
    form = FORMS.get(operation)
    if form is None:
        authorise(who, SCOPES[operation])
    elif who.credential != form:
        raise InsufficientScope("this needs an account key, which does nothing else; no scope gives it")
