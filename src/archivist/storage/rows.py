"""Rows of memories and back: the one place that knows how a memory is laid out."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeVar

from archivist.domain.memories import Memory
from archivist.domain.times import micros, moment
from archivist.storage.database import Row
from archivist.storage.schema import NO_ID

T = TypeVar("T")

AT_A_TIME = 500
"""How many values an IN list may hold."""

_AS_THEY_ARE = (
    "id", "vault", "text", "title", "tokens", "digest", "tier", "version", "importance", "source_context", "batch",
    "priority", "kind", "level", "category", "project", "summary", "notes", "language", "path", "codename",
)  # fmt: skip
_TIMES = ("created", "updated", "event")
_FLAGS = ("archived", "favorite")
_LISTS = ("aliases", "keywords")
_CHECKED = (*(name for name in _AS_THEY_ARE if name != "batch"), *_TIMES, *_FLAGS, *_LISTS)
_told = itemgetter(*_CHECKED)
_moment = lru_cache(maxsize=1024)(moment)  # the three times of a row are mostly the same one
COLUMNS = (*_AS_THEY_ARE, *_TIMES, *_FLAGS, *_LISTS, "repeat_of", "checksum")
"""What a row holds that `memory_of` takes."""


def row_of(memory: Memory) -> dict[str, Any]:
    """The columns of a memory, all but `doc` and `terms`."""
    row: dict[str, Any] = {name: getattr(memory, name) for name in _AS_THEY_ARE}
    row |= {name: micros(getattr(memory, name)) for name in _TIMES}
    row |= {name: int(getattr(memory, name)) for name in _FLAGS}
    row |= {name: json.dumps(getattr(memory, name), ensure_ascii=False) for name in _LISTS}
    row["batch"] = memory.batch or NO_ID
    row["repeat_of"] = memory.digest if memory.unique_text else None
    row["checksum"] = _checksum(row, memory.tags)
    return row


def memory_of(row: Row, tags: Sequence[str]) -> Memory | None:
    """The inverse of `row_of`; tags lie in a table of their own. None if row and tags are not what was written."""
    fields = dict(row)
    repeat_of, checksum = fields.pop("repeat_of"), fields.pop("checksum")
    if checksum is not None and checksum != _checksum(row, tags):
        return None
    for name in _TIMES:
        fields[name] = _moment(fields[name])
    for name in _FLAGS:
        fields[name] = fields[name] == 1
    if fields["batch"] == NO_ID:
        fields["batch"] = ""
    for name in _LISTS:
        fields[name] = () if fields[name] == "[]" else tuple(json.loads(fields[name]))
    return Memory(**fields, unique_text=repeat_of is not None, tags=tuple(tags))


def _checksum(row: Row, tags: Sequence[str]) -> int:
    """63 bits over all that is told of a memory. What says how far its processing is (`batch`) may change alone."""
    told = "\x1f".join([*map(str, _told(row)), *tags])
    mark = hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(mark.digest()) >> 1


def chunks(values: Sequence[T]) -> Iterator[list[T]]:
    """The values in lists of at most AT_A_TIME, without repeats."""
    distinct = list(dict.fromkeys(values))
    for start in range(0, len(distinct), AT_A_TIME):
        yield distinct[start : start + AT_A_TIME]
