"""The Markdown pages, taken apart: code blocks with the heading they stand under, tables and links."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A code block. `heading` is the nearest one above it."""

    heading: str
    language: str
    text: str


def blocks(page: Path, *languages: str) -> list[Block]:
    """The code blocks of these languages, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        headings = HEADING.findall(FENCE.sub("", text[: match.start()]))
        found.append(Block(headings[-1] if headings else "", match[1], match[2]))
    return [block for block in found if block.language in languages]


def table(page: Path, first_column: str) -> list[list[str]]:
    """The rows of the table whose first column has that name, cells without blanks and backticks."""
    rows: list[list[str]] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")] if line.startswith("|") else []
        inside = bool(cells) and (inside or cells[0] == first_column)
        if inside:
            rows.append(cells)
    return rows[2:]


def links(page: Path) -> Sequence[str]:
    """The relative links of a page, without their anchors."""
    found = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    return [link for link in found if "://" not in link]
