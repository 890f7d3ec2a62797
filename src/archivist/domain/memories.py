"""What a memory is: the union of a vault memory and a coding record, and the rules that hold for it everywhere."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from archivist.domain.errors import InvalidArgument
from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.limits import SOURCE_CONTEXT_LENGTH, TAG_LENGTH, TAGS, TEXT_BYTES, TITLE_LENGTH

TIERS = (1, 2, 3)
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")  # line ends and tab may stay


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered thing. Times are UTC.

    tier: 1 raw, 2 and 3 reflections. importance: 1..10, on reflections only. priority: 0..100, the coding
    face's importance. version: starts at 1, grows by one with every edit. tokens: of `text`, see `count_tokens`.
    digest: keyed hash of `text`, see `digest_of`. unique_text: whether an exact repeat of the text is answered
    with this memory. event: when the text was said or happened; `created` for what is stored directly.
    batch: the reflection batch that consolidated this memory, empty if none did.
    """

    id: MemoryId
    vault: VaultId
    text: str
    title: str
    tokens: int
    digest: str
    created: datetime
    updated: datetime
    event: datetime
    tier: int = 1
    version: int = 1
    importance: int | None = None
    unique_text: bool = False
    tags: tuple[str, ...] = ()
    source_context: str = ""
    batch: str = ""
    archived: bool = False
    favorite: bool = False
    priority: int = 50
    kind: str = "note"
    level: str = "note"
    category: str = ""
    project: str = ""
    summary: str = ""
    notes: str = ""
    language: str = ""
    path: str = ""
    codename: str = ""
    aliases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


def new_memory(
    id: MemoryId,
    vault: VaultId,
    key: bytes,
    now: datetime,
    *,
    text: str,
    tags: Sequence[str] = (),
    source_context: str = "",
) -> Memory:
    """A raw memory as `store_memory` makes it: trimmed text, title from its first line, no project.

    Raises:
        InvalidArgument: a field is outside its range.
    """
    text = checked_text("content", text)
    return Memory(
        id=id,
        vault=vault,
        text=text,
        title=title_of(text),
        tokens=count_tokens(text),
        digest=digest_of(key, text),
        created=now,
        updated=now,
        event=now,
        unique_text=True,
        tags=checked_tags(tags),
        source_context=checked_line("source_context", source_context, SOURCE_CONTEXT_LENGTH),
    )


def title_of(text: str) -> str:
    """The first line of `text`, cut at TITLE_LENGTH characters."""
    return text.strip().split("\n", 1)[0].strip()[:TITLE_LENGTH]


def in_one_line(text: str) -> str:
    """`text` for a place among words of ours: what breaks a line, moves a cursor or hides is spelled out, `\\u001b`."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)


def shortened(text: str, longest: int) -> str:
    """`text`, cut with a mark where it is longer than `longest` characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def count_tokens(text: str) -> int:
    """An estimate of what `text` costs a model: a token for every four bytes of UTF-8, rounded up, at least one.

    English comes out near the truth, CJK a little low; it needs no tokenizer and never changes.
    """
    return max(1, -(-len(text.encode()) // 4))


def digest_of(key: bytes, text: str) -> str:
    """HMAC-SHA-256 of the text under the vault's key, in hex: recognises a repeat, tells nothing without the key."""
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def findable_text(memory: Memory) -> str:
    """What words find it by: the text, a title of its own, its tags."""
    titled = [] if memory.text.startswith(memory.title) else [memory.title]
    return "\n".join([*titled, memory.text, *memory.tags])


def checked_text(field: str, text: str) -> str:
    """`text` without surrounding white space.

    Raises:
        InvalidArgument: empty, over TEXT_BYTES of UTF-8, or with characters that no text may hold.
    """
    _require_plain(field, text)
    text = text.strip()
    if not text or len(text.encode()) > TEXT_BYTES:
        raise InvalidArgument(field, f"must be 1..{TEXT_BYTES} bytes of UTF-8 after trimming white space")
    return text


def checked_line(field: str, text: str, longest: int) -> str:
    """`text` without surrounding white space; may be empty.

    Raises:
        InvalidArgument: longer than `longest` characters, or with characters that no text may hold.
    """
    _require_plain(field, text)
    text = text.strip()
    if len(text) > longest:
        raise InvalidArgument(field, f"must be at most {longest} characters")
    return text


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags without blanks around them and without repeats, in the order given.

    Raises:
        InvalidArgument: too many, or one is empty or too long.
    """
    if len(tags) > TAGS:
        raise InvalidArgument("tags", f"must be at most {TAGS} tags")
    lines = [checked_line("tags", tag, TAG_LENGTH) for tag in tags]
    if not all(lines):
        raise InvalidArgument("tags", f"each must be 1..{TAG_LENGTH} characters")
    return tuple(dict.fromkeys(lines))


def _require_plain(field: str, text: str) -> None:
    """Refuses lone surrogates and control characters other than tab and line ends."""
    if _FORBIDDEN.search(text):
        raise InvalidArgument(field, "must be valid Unicode without NUL or other control characters")
