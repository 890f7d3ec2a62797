"""The data sets of the quality rows, read from the folder that was given."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


@dataclass(frozen=True, slots=True)
class Item:
    """A text to remember, when it was said, and the key by which answers name it."""

    key: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """`right`: the keys of the items that answer it; not empty."""

    text: str
    right: frozenset[str]
    category: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in their order, and questions about them."""

    name: str
    turns: Sequence[Item]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Parallel:
    """Facts and their questions, by language: facts[language][i] answers questions[any language][i]."""

    languages: Sequence[str]
    facts: dict[str, Sequence[str]]
    questions: dict[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Identifier:
    """An exact token, the memory that holds it, and others that nearly do."""

    query: str
    memory: str
    near_misses: Sequence[str]


def conversations(path: Path) -> list[Conversation]:
    """LoCoMo: every turn a memory, evidence turns as the truth; questions of categories 1 to 4 that have evidence."""
    return [_conversation(raw) for raw in _read(path)]


def parallel(path: Path) -> Parallel:
    raw = _read(path)
    languages = raw["languages"]
    return Parallel(
        languages,
        {language: [fact[language]["fact"] for fact in raw["facts"]] for language in languages},
        {language: [fact[language]["question"] for fact in raw["facts"]] for language in languages},
    )


def identifiers(path: Path) -> list[Identifier]:
    cases = _read(path)["cases"]
    return [Identifier(case["query"], case["memory"], case["near_misses"]) for case in cases]


def _conversation(raw: dict[str, Any]) -> Conversation:
    spoken, turns, number = raw["conversation"], [], 1
    while f"session_{number}" in spoken:
        said = spoken[f"session_{number}_date_time"]
        at = datetime.strptime(said, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        turns += [Item(turn["dia_id"], _as_memory(turn, said), at) for turn in spoken[f"session_{number}"]]
        number += 1
    known = {turn.key for turn in turns}
    asked = [
        Question(row["question"], frozenset(row["evidence"]) & known, CATEGORIES[row["category"]])
        for row in raw["qa"]
        if row["category"] in CATEGORIES
    ]
    return Conversation(raw["sample_id"], turns, [question for question in asked if question.right])


def _as_memory(turn: dict[str, str], said: str) -> str:
    image = f" (image: {turn['blip_caption']})" if turn.get("blip_caption") else ""
    return f"[{said}] {turn['speaker']}: {turn['text']}{image}"


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
