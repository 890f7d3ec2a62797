"""Packing memories into a budget of tokens."""

from collections.abc import Sequence
from dataclasses import replace

from archivist.domain.memories import count_tokens
from archivist.domain.queries import Ranked

CUT = " … [cut]"


def fit(rows: Sequence[Ranked], max_tokens: int) -> list[Ranked]:
    """The first rows that fit together into `max_tokens`; at least one, cut with a mark if it is too long alone."""
    fitting: list[Ranked] = []
    left = max_tokens
    for row in rows:
        if row.memory.tokens > left:
            break
        fitting.append(row)
        left -= row.memory.tokens
    if rows and not fitting:
        fitting.append(_cut(rows[0], max_tokens))
    return fitting


def _cut(row: Ranked, max_tokens: int) -> Ranked:
    kept = row.memory.text.encode()[: 4 * (max_tokens - count_tokens(CUT))].decode(errors="ignore")
    return replace(row, memory=replace(row.memory, text=kept + CUT, tokens=max_tokens))
