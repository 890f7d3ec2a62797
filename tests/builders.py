"""Values for tests: valid by themselves, changed where a test cares."""

from datetime import UTC, datetime, timedelta

from archivist.domain.access import ALL_SCOPES, LOCAL_OWNER, Principal, Scope
from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.memories import Memory, count_tokens, digest_of, title_of

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECRET = b"s" * 32
MINE, THEIRS = VaultId("0193b000-0000-7000-8000-00000000000a"), VaultId("0193b000-0000-7000-8000-00000000000b")


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


def a_principal(*scopes: Scope, vault: VaultId = MINE) -> Principal:
    return Principal(LOCAL_OWNER, vault, frozenset(scopes) or ALL_SCOPES, "key", "0193b000-0000-7000-8000-0000000000ff")


def an_id(number: int) -> MemoryId:
    return MemoryId(f"0193b000-0000-7000-8000-{number:012x}")


def a_memory(number: int = 1, **changes: object) -> Memory:
    text = str(changes.get("text", "The API listens on port 8787."))
    defaults: dict[str, object] = {
        "id": an_id(number),
        "vault": MINE,
        "text": text,
        "title": title_of(text),
        "tokens": count_tokens(text),
        "digest": digest_of(SECRET, text),
        "created": NOON,
        "updated": NOON,
        "event": NOON,
    }
    return Memory(**defaults | changes)  # type: ignore[arg-type] — the keys are the fields
