"""`python -m benchmarks DATA`: measure, print tables, write JSON. Exit code 1 if a bound is missed."""

import argparse
import asyncio
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import Row, as_json, table

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
SECTIONS = ("quality", "speed", "sign_in", "reflection")
"""Modules of this package with `async def measure(data: Path, cache: Path) -> list[Row]`, in the order they run."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("data", type=Path, help="folder with the data sets")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="a section; may be repeated")
    parser.add_argument("--json", type=Path, default=CACHE / "bench" / "results.json", help="where the numbers go")
    chosen = parser.parse_args(arguments)
    sections: dict[str, list[Row]] = {}
    for name in chosen.only or SECTIONS:
        module = importlib.import_module(f"benchmarks.{name}")
        sections[name] = asyncio.run(module.measure(chosen.data, CACHE))
        print(table(name, sections[name]), end="\n\n", flush=True)
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(as_json(sections, ROOT), encoding="utf-8")
    print(f"written to {chosen.json}")
    return int(any(row.misses for rows in sections.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
