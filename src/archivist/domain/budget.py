"""Packing memories into a budget of tokens."""

from collections.abc import Sequence
from dataclasses import replace

from archivist.domain.memories import Memory, count_tokens
from archivist.domain.queries import Ranked

CUT = " … [cut]"
ROW_TOKENS = 60
"""What a row costs beside what people wrote: its id, times and the names of its fields; about 250 bytes, measured."""


def cost_of(memory: Memory) -> int:
    """Tokens of a row in an answer: its text, tags and context, and what stands around them."""
    return memory.tokens + _beside_text(memory)


def enough_rows(max_tokens: int) -> int:
    """So many rows are more than fit into `max_tokens`, however short they are."""
    return max_tokens // (ROW_TOKENS + 1) + 1


def fit(rows: Sequence[Ranked], max_tokens: int) -> list[Ranked]:
    """The first rows that fit together into `max_tokens`; at least one, cut with a mark if it alone is too much."""
    fitting: list[Ranked] = []
    left = max_tokens
    for row in rows:
        left -= cost_of(row.memory)
        if left < 0:
            break
        fitting.append(row)
    if rows and not fitting:
        fitting.append(_cut(rows[0], max_tokens))
    return fitting


def _beside_text(memory: Memory) -> int:
    written = [*memory.tags, memory.source_context] if memory.source_context else memory.tags
    return ROW_TOKENS + sum(count_tokens(line) for line in written)


def _cut(row: Ranked, max_tokens: int) -> Ranked:
    """The row with as much of its text as there is room for, and without tags that leave less than half of it."""
    memory = row.memory if 2 * _beside_text(row.memory) <= max_tokens else replace(row.memory, tags=())
    room = max_tokens - _beside_text(memory) - count_tokens(CUT)
    kept = memory.text.encode()[: 4 * room].decode(errors="ignore")
    text = kept if kept == memory.text else kept + CUT
    return replace(row, memory=replace(memory, text=text, tokens=count_tokens(text)), cut=True)
