"""What reflecting, forgetting and mirroring cost, beside their bounds."""

from pathlib import Path

from benchmarks import datasets, speed_inspect, speed_mirror, speed_reflect
from benchmarks.report import Row


async def measure(data: Path, cache: Path) -> list[Row]:
    """All rows about reflections and the mirror. Times are in milliseconds where nothing else is said."""
    bench = cache / "bench"
    bench.mkdir(parents=True, exist_ok=True)
    filled = await speed_inspect.folder(bench)
    turns = [turn.text for each in datasets.conversations(data / "locomo10.json") for turn in each.turns]
    rows = [*await speed_inspect.rows(filled), *await speed_reflect.rows(filled, bench)]
    return [*rows, *speed_mirror.rows(turns, cache)]
