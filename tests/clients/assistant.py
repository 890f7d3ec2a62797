"""A scripted assistant: it does with the tools what a model does in a chat, and writes by rule instead of thinking."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.clients.talking import Talk

LEAST, MOST = 5, 10
"""How many reflections a batch is answered with."""

PIECE = 60
"""Characters that a reflection quotes of each of its sources."""

NUMBER = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Assistant:
    """Speaks over one connection."""

    talk: Talk

    async def ask(self, tool: str, **given: Any) -> dict[str, Any]:
        """What the tool answers.

        Raises:
            AssertionError: it refused.
        """
        answer = await self.talk(tool, given)
        assert not answer.error, answer.error
        return answer.values

    async def remember(self, texts: Sequence[str]) -> None:
        for text in texts:
            assert (await self.ask("store_memory", content=text))["stored"]

    async def reflect(self, max_tokens: int) -> list[dict[str, Any]]:
        """Batch after batch, each as the server chooses, until no more is due: what the commits answered."""
        done: list[dict[str, Any]] = []
        while not done or done[-1]["debt"]["consolidation_available"]:
            batch = await self.ask("consolidate_memories", max_tokens=max_tokens)
            entries = written(batch["memories"])
            done.append(await self.ask("commit_reflections", batch_id=batch["batch_id"], entries=entries))
        return done

    async def reasons(self, question: str, tier: int) -> list[dict[str, Any]]:
        """Why something is believed: the reflection of `tier` that is found first, one of its sources, down to raw."""
        found = await self.ask("search_memories", query=question, tiers=[tier], limit=1)
        steps = [await self.ask("inspect_memory", memory_id=found["results"][0]["id"])]
        while sources := steps[-1]["sources"]:
            steps.append(await self.ask("inspect_memory", memory_id=sources[0]["id"]))
        return steps


def written(memories: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What this assistant makes of a batch: neighbours in time go into one entry, which quotes how each begins.

    The more of them hold numbers, the more important the entry.
    """
    count = min(MOST, max(LEAST, len(memories) // 2))
    groups = [
        memories[place * len(memories) // count : (place + 1) * len(memories) // count] or memories[:1]
        for place in range(count)
    ]
    return [
        {
            "text": f"Until {group[-1]['date'][:10]}: " + " … ".join(piece(one["text"]) for one in group),
            "importance": min(10, 1 + 2 * sum(bool(NUMBER.search(one["text"])) for one in group)),
            "source_ids": [one["id"] for one in group],
        }
        for group in groups
    ]


def piece(text: str) -> str:
    """What is quoted of a source: its beginning, on one line."""
    return " ".join(text.split())[:PIECE]
