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


def fit(rows: Sequence[Ranked], max_tokens: int) -> list[Ranked]:
    """The first rows that fit together into `max_tokens`; at least one, its text cut with a mark if it is too long."""
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
    room = max(0, max_tokens - _beside_text(row.memory) - count_tokens(CUT))
    text = row.memory.text.encode()[: 4 * room].decode(errors="ignore") + CUT
    return replace(row, memory=replace(row.memory, text=text, tokens=count_tokens(text)))
