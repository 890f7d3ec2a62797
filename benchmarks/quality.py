"""How well the search finds: dialogues, languages, exact tokens. Each row beside what it must reach."""

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from archivist.embedders.builtin import BuiltinEmbedder
from archivist.storage.sqlite.stores import SqliteStores
from benchmarks import datasets, recall
from benchmarks.datasets import Conversation, Item, Parallel, Question
from benchmarks.embeddings import RememberedEmbedder
from benchmarks.metrics import mean, ndcg, recall_at, reciprocal_rank
from benchmarks.report import Row
from benchmarks.vaults import Filled, How, Vaults

DEPTHS = (5, 10, 20)
TUNED_ON = 5
"""Whatever is tuned may look at the first so many conversations only; the others are reported apart."""

DRAWS = 10
DAY_ZERO = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Answer:
    """One question, and the keys that came back for it, best first."""

    question: Question
    ranked: Sequence[str]


async def measure(data: Path, cache: Path) -> list[Row]:
    """All quality rows over the data sets in `data`, with the built-in model. Percentages."""
    model = BuiltinEmbedder(cache / "models", on_progress=partial(print, file=sys.stderr))
    await model.start()
    await model.settle()
    embedder = RememberedEmbedder(model, cache / "bench")
    with TemporaryDirectory() as folder:
        stores = SqliteStores(Path(folder) / "data")
        await stores.control()  # makes the folder
        try:
            vaults = Vaults(stores, embedder)
            conversations = datasets.conversations(data / "locomo10.json")
            rows = await dialogues(conversations, vaults)
            rows += await languages(datasets.parallel(data / "multilingual.json"), vaults)
            rows.append(await identifiers(datasets.identifiers(data / "identifiers.json"), vaults))
            return rows + await recall.rows(conversations, embedder)
        finally:
            embedder.save()
            await stores.close()
            await embedder.close()


async def dialogues(conversations: Sequence[Conversation], vaults: Vaults) -> list[Row]:
    ways: dict[str, tuple[How, bool]] = {
        "fused": ("fused", False),
        "keyword alone": ("keyword", False),
        "vectors alone": ("vectors", False),
        "fused, with neighbours": ("fused", True),
    }
    answers: dict[str, list[list[Answer]]] = {name: [] for name in ways}
    for conversation in conversations:
        vault = await vaults.filled(conversation.turns)
        for name, (how, neighbours) in ways.items():
            answers[name].append(
                [
                    Answer(question, await vaults.search(vault, question.text, max(DEPTHS), how, neighbours=neighbours))
                    for question in conversation.questions
                ]
            )
    fused = _summary(_flat(answers["fused"]))
    parts = [_summary(_flat(answers[name])) for name in ("keyword alone", "vectors alone")]
    both = {column: max(part[column] for part in parts) for column in fused}
    least = {"fused": both | {"R@10": 71.5, "nDCG@10": 56.5}, "fused, with neighbours": {"R@10": 73.5}}
    return [
        Row(f"dialogues{part}, {name}", _summary(chosen), least.get(name, {}) if not part else {})
        for name, by_conversation in answers.items()
        for part, chosen in _parts(by_conversation).items()
        if chosen
    ]


def _parts(by_conversation: Sequence[Sequence[Answer]]) -> dict[str, list[Answer]]:
    """All answers, those that nothing was tuned on, and those of each category."""
    everything = _flat(by_conversation)
    parts = {"": everything, f" {TUNED_ON + 1}-10": _flat(by_conversation[TUNED_ON:])}
    for category in datasets.CATEGORIES.values():
        parts[f" ({category})"] = [answer for answer in everything if answer.question.category == category]
    return parts


async def languages(data: Parallel, vaults: Vaults) -> list[Row]:
    same: list[Answer] = []
    cross: list[Answer] = []
    for told in data.languages:
        vault = await vaults.filled([_fact(i, text) for i, text in enumerate(data.facts[told])])
        for asked in data.languages:
            found = await _ask(vaults, vault, data.questions[asked])
            (same if asked == told else cross).extend(found)
    chinese = await vaults.filled([_fact(i, text) for i, text in enumerate(data.facts["zh"])])
    words = await _ask(vaults, chinese, data.questions["zh"], "keyword")
    return [
        Row("same language", _first(same), {"R@1": 79, "R@5": 93}),
        Row("across languages", _first(cross), {"R@1": 76, "R@5": 93}),
        Row("mixed vault", _first(await _mixed(data, vaults)), {"R@1": 70, "R@5": 90}),
        Row("Chinese, keyword alone", _first(words), {"R@5": 80}),
    ]


async def _mixed(data: Parallel, vaults: Vaults) -> list[Answer]:
    """Each fact once, in a random language, asked in all: several draws."""
    answers: list[Answer] = []
    for draw in range(DRAWS):
        dice = random.Random(draw)
        facts = [data.facts[dice.choice(data.languages)][i] for i in range(len(data.facts["en"]))]
        vault = await vaults.filled([_fact(i, text) for i, text in enumerate(facts)])
        for asked in data.languages:
            answers += await _ask(vaults, vault, data.questions[asked])
    return answers


async def identifiers(cases: Sequence[datasets.Identifier], vaults: Vaults) -> Row:
    texts = [text for case in cases for text in (case.memory, *case.near_misses)]
    vault = await vaults.filled([Item(text, text, DAY_ZERO) for text in dict.fromkeys(texts)])
    answers = [
        Answer(Question(case.query, frozenset({case.memory})), await vaults.search(vault, case.query, 5, "fused"))
        for case in cases
    ]
    return Row("identifiers", _first(answers), {"R@1": 100})


async def _ask(vaults: Vaults, vault: Filled, questions: Sequence[str], how: How = "fused") -> list[Answer]:
    return [
        Answer(Question(text, frozenset({str(i)})), await vaults.search(vault, text, 5, how))
        for i, text in enumerate(questions)
    ]


def _fact(number: int, text: str) -> Item:
    return Item(str(number), text, DAY_ZERO)


def _flat(groups: Sequence[Sequence[Answer]]) -> list[Answer]:
    return [answer for group in groups for answer in group]


def _summary(answers: Sequence[Answer]) -> dict[str, float]:
    columns = {f"R@{depth}": [recall_at(a.ranked, a.question.right, depth) for a in answers] for depth in DEPTHS}
    columns["nDCG@10"] = [ndcg(a.ranked, a.question.right, 10) for a in answers]
    columns["MRR"] = [reciprocal_rank(a.ranked, a.question.right) for a in answers]
    return {column: 100 * mean(values) for column, values in columns.items()}


def _first(answers: Sequence[Answer]) -> dict[str, float]:
    return {
        f"R@{depth}": 100 * mean([recall_at(a.ranked, a.question.right, depth) for a in answers]) for depth in (1, 5)
    }
