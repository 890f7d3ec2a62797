"""Our own export format: a line of JSON for each memory, written so that import and export give the same bytes back.

Lines end with a line feed and nothing else (text may hold U+2028 and U+0085). Ids, times, versions and lineage are
kept; what can be computed again (tokens, digests, vectors, index) and what belongs to one vault is left out.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from archivist.domain import memories as rules
from archivist.domain.errors import InvalidArgument
from archivist.domain.ids import MemoryId, VaultId, is_uuid
from archivist.domain.limits import SOURCE_CONTEXT_LENGTH, TEXT_BYTES
from archivist.domain.memories import Memory
from archivist.domain.times import iso

LINE_BYTES = 16 * TEXT_BYTES
Count = Annotated[int, Field(ge=0, lt=2**53)]


@dataclass(frozen=True, slots=True)
class Source:
    """What a reflection was built from: a memory at a version, in the batch that did it."""

    id: MemoryId
    version: int
    batch: str


class _Source(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    version: Count
    batch: str


class _Line(BaseModel):
    """One line as it is read. Its field order is the order in which they are written."""

    model_config = ConfigDict(extra="forbid", strict=True)

    archivist: Annotated[int, Field(ge=1, le=1)]
    id: str
    tier: Annotated[int, Field(ge=1, le=3)]
    version: Annotated[int, Field(ge=1, lt=2**53)]
    text: str
    title: str
    unique: bool
    tags: list[str]
    source_context: str
    importance: Annotated[int, Field(ge=1, le=10)] | None
    created: str
    updated: str
    event: str
    batch: str
    sources: list[_Source]
    archived: bool
    favorite: bool
    priority: Annotated[int, Field(ge=0, le=100)]
    kind: str
    level: str
    category: str
    project: str
    summary: str
    notes: str
    language: str
    path: str
    codename: str
    aliases: list[str]
    keywords: list[str]


LONGEST = {
    "title": 400,
    "source_context": SOURCE_CONTEXT_LENGTH,
    "batch": 36,
    "kind": 32,
    "level": 16,
    "category": 32,
    "project": 400,
    "summary": TEXT_BYTES,
    "notes": TEXT_BYTES,
    "language": 16,
    "path": TEXT_BYTES,
    "codename": 32,
}
"""Characters of each line of text; no more than its column holds."""

_NAME = re.compile(r"[a-z_.0-9]{1,64}")
_TIMES = ("created", "updated", "event")
_LISTS = ("tags", "aliases", "keywords")


def dump(memory: Memory, sources: Sequence[Source]) -> bytes:
    """One line, its line feed included."""
    values: dict[str, object] = {
        "archivist": 1,
        "unique": memory.unique_text,
        "sources": [{"id": s.id, "version": s.version, "batch": s.batch} for s in sources],
    }
    line = {
        name: values[name]
        if name in values
        else iso(getattr(memory, name))
        if name in _TIMES
        else getattr(memory, name)
        for name in _Line.model_fields
    }
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def load(line: bytes, number: int, vault: VaultId, key: bytes) -> tuple[Memory, Sequence[Source]]:
    """The memory of a line, as a memory of `vault`, whose key makes its digest.

    Raises:
        InvalidArgument: names the line, the field and the rule, never the value.
    """
    try:
        read = _Line.model_validate(_decoded(line))
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False)[0]
        place, rule = ".".join(map(str, first["loc"])), first["msg"]
        if first["type"] == "extra_forbidden":
            place, rule = place if _NAME.fullmatch(place) else "line", "is or holds a field that is not known here"
        raise _wrong(number, place, rule) from None
    except (ValueError, RecursionError):
        raise _wrong(number, "line", "must be one JSON object in UTF-8") from None
    if not is_uuid(read.id) or not all(is_uuid(source.id) for source in read.sources):
        raise _wrong(number, "id", "must be a UUID in lower case")
    if len({source.id for source in read.sources}) < len(read.sources):
        raise _wrong(number, "sources", "must name each memory once")
    if read.tier == 1 and read.importance is not None:
        raise _wrong(number, "importance", "must be null on tier 1; only reflections have one")
    try:
        memory = _memory(read, vault, key)
        batches = [rules.checked_line("sources", source.batch, LONGEST["batch"]) for source in read.sources]
    except InvalidArgument as error:
        raise _wrong(number, error.field, error.detail.partition(": ")[2]) from None
    sources = zip(read.sources, batches, strict=True)
    return memory, [Source(MemoryId(source.id), source.version, batch) for source, batch in sources]


def _memory(read: _Line, vault: VaultId, key: bytes) -> Memory:
    text = rules.checked_text("text", read.text)
    alike: dict[str, Any] = {
        name: rules.checked_line(name, getattr(read, name), most) for name, most in LONGEST.items()
    }
    alike |= {name: _utc(name, getattr(read, name)) for name in _TIMES}
    alike |= {name: rules.checked_tags(getattr(read, name)) for name in _LISTS}
    return Memory(
        id=MemoryId(read.id),
        vault=vault,
        text=text,
        tokens=rules.count_tokens(text),
        digest=rules.digest_of(key, text),
        tier=read.tier,
        version=read.version,
        importance=read.importance,
        unique_text=read.unique,
        archived=read.archived,
        favorite=read.favorite,
        priority=read.priority,
        **alike,
    )


def _utc(name: str, written: str) -> datetime:
    """A moment in UTC; there are some on the calendar of an offset that are not on that of UTC."""
    try:
        moment = datetime.fromisoformat(written)
        if moment.tzinfo is None:
            raise ValueError("which moment it is depends on where it is read")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        rule = "must be an ISO 8601 moment with its offset, in the years 1 to 9999 in UTC"
        raise InvalidArgument(name, rule) from None


def _wrong(number: int, field: str, rule: str) -> InvalidArgument:
    return InvalidArgument(f"line {number}, {field}", rule)


def _decoded(line: bytes) -> Mapping[str, object]:
    """The object of a line. Some editors put a mark before the first one."""
    value = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_without_repeats)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _without_repeats(pairs: Sequence[tuple[str, object]]) -> Mapping[str, object]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)
