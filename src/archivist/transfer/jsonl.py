"""Our own export format: a line of JSON for each memory, written so that import and export give the same bytes back.

Lines end with a line feed and nothing else (text may hold U+2028 and U+0085). Ids, times, versions and lineage are
kept; what can be computed again (tokens, digests, vectors, index) and what belongs to one vault is left out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

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
    created: Annotated[AwareDatetime, Field(strict=False)]
    updated: Annotated[AwareDatetime, Field(strict=False)]
    event: Annotated[AwareDatetime, Field(strict=False)]
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


_SAME = ("source_context", "batch", "project", "summary", "notes", "path")
_SHORT = ("kind", "level", "category", "language", "codename")
_LISTS = ("aliases", "keywords")


def dump(memory: Memory, sources: Sequence[Source]) -> bytes:
    """One line, its line feed included."""
    values: dict[str, object] = {
        "archivist": 1,
        "unique": memory.unique_text,
        "sources": [{"id": s.id, "version": s.version, "batch": s.batch} for s in sources],
    }
    times = {"created", "updated", "event"}
    line = {
        name: values[name] if name in values else iso(getattr(memory, name)) if name in times else getattr(memory, name)
        for name in _Line.model_fields
    }
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def load(line: bytes, number: int, vault: VaultId, key: bytes) -> tuple[Memory, Sequence[Source]]:
    """The memory of a line, as a memory of `vault`, whose key makes its digest.

    Raises:
        InvalidArgument: names the line, the field and the rule, never the value.
    """
    try:
        read = _Line.model_validate(json.loads(line.decode(), object_pairs_hook=_without_repeats))
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False)[0]
        raise _wrong(number, ".".join(map(str, first["loc"])) or "line", first["msg"]) from None
    except (ValueError, RecursionError):
        raise _wrong(number, "line", "must be one JSON object in UTF-8") from None
    if not is_uuid(read.id) or not all(is_uuid(source.id) for source in read.sources):
        raise _wrong(number, "id", "must be a UUID in lower case")
    try:
        memory = _memory(read, vault, key)
    except InvalidArgument as error:
        raise _wrong(number, error.field, error.detail.partition(": ")[2]) from None
    return memory, [Source(MemoryId(source.id), source.version, source.batch) for source in read.sources]


def _memory(read: _Line, vault: VaultId, key: bytes) -> Memory:
    text = rules.checked_text("text", read.text)
    lines = {name: rules.checked_line(name, getattr(read, name), TEXT_BYTES) for name in _SAME}
    lines["source_context"] = rules.checked_line("source_context", read.source_context, SOURCE_CONTEXT_LENGTH)
    short = {name: rules.checked_line(name, getattr(read, name), 32) for name in _SHORT}
    lists = {name: rules.checked_tags(getattr(read, name)) for name in _LISTS}
    return Memory(
        id=MemoryId(read.id),
        vault=vault,
        text=text,
        title=rules.checked_line("title", read.title, 400),
        tokens=rules.count_tokens(text),
        digest=rules.digest_of(key, text),
        created=read.created,
        updated=read.updated,
        event=read.event,
        tier=read.tier,
        version=read.version,
        importance=read.importance,
        unique_text=read.unique,
        tags=rules.checked_tags(read.tags),
        archived=read.archived,
        favorite=read.favorite,
        priority=read.priority,
        **lines,
        **short,
        aliases=lists["aliases"],
        keywords=lists["keywords"],
    )


def _wrong(number: int, field: str, rule: str) -> InvalidArgument:
    return InvalidArgument(f"line {number}, {field}", rule)


def _without_repeats(pairs: Sequence[tuple[str, object]]) -> Mapping[str, object]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)
