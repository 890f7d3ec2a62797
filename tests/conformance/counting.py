"""Counts tokens with the o200k vocabulary, from the package that the test clients install; no download."""

import base64
import json
from functools import cache
from pathlib import Path

import tiktoken

VOCABULARY = Path(__file__).parents[1] / "clients/node_modules/js-tiktoken/dist/ranks/o200k_base.js"


def tokens(text: str) -> int:
    """How many tokens the text is."""
    return len(_encoding().encode(text, disallowed_special=()))


@cache
def _encoding() -> tiktoken.Encoding:
    written = VOCABULARY.read_text(encoding="utf-8").removeprefix("export default ").rstrip().rstrip(";")
    described = json.loads(written)
    ranks: dict[bytes, int] = {}
    for line in described["bpe_ranks"].splitlines():
        _, first, *words = line.split(" ")
        ranks |= {base64.b64decode(word): int(first) + number for number, word in enumerate(words)}
    return tiktoken.Encoding(
        "o200k", pat_str=described["pat_str"], mergeable_ranks=ranks, special_tokens=described["special_tokens"]
    )
