"""What a benchmark reports: rows of numbers beside what they must reach, as a table and as JSON."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """`values` by column. `least` and `most`: bounds that some of them must keep, compared as they are printed."""

    name: str
    values: Mapping[str, float]
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    digits: int = 1

    @property
    def misses(self) -> list[str]:
        """The bounds that are not kept, in words."""
        low = [f"{c} < {bound:g}" for c, bound in self.least.items() if round(self.values[c], self.digits) < bound]
        high = [f"{c} > {bound:g}" for c, bound in self.most.items() if round(self.values[c], self.digits) > bound]
        return low + high


def table(title: str, rows: Sequence[Row]) -> str:
    """A table for the terminal; rows of one layout share a heading, and what is missed stands at the end of a line."""
    lines, columns = [title], None
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        if columns != tuple(row.values):
            columns = tuple(row.values)
            lines += ["", " " * width + "".join(f"{column:>10}" for column in columns)]
        numbers = "".join(f"{value:>10.{row.digits}f}" for value in row.values.values())
        bounds = "  MISSED " + ", ".join(row.misses) if row.misses else "  ok" if row.least or row.most else ""
        lines.append(f"{row.name:<{width}}{numbers}{bounds}")
    return "\n".join(lines)


def as_json(sections: Mapping[str, Sequence[Row]], root: Path) -> str:
    """Everything, with commit and machine."""
    return json.dumps(
        {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": _git(root, "rev-parse", "HEAD"),
            "changed": bool(_git(root, "status", "--porcelain")),
            "machine": {
                "processor": _processor(),
                "processors": os.cpu_count(),
                "system": platform.platform(),
                "python": platform.python_version(),
            },
            "sections": {name: [_row(row) for row in rows] for name, rows in sections.items()},
        },
        indent=1,
    )


def _row(row: Row) -> dict[str, Any]:
    numbers = {column: round(value, 4) for column, value in row.values.items()}
    return {"name": row.name, "values": numbers, "least": row.least, "most": row.most, "misses": row.misses}


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
