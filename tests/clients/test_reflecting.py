"""The whole cycle of a memory through real clients: stored, reflected on, asked for its reasons, deleted, forgotten.

The memories are those of the tutorial, and 200 turns of LoCoMo as well if that is at hand: `make test DATA=folder`
with locomo10.json in it, as for `make bench`.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from benchmarks import datasets
from tests.clients.assistant import Assistant, piece
from tests.clients.programs import ROOT
from tests.clients.serving import Clocked, clocked
from tests.clients.talking import Answer, Talker, python, typescript

MEMORIES = 200
BATCH_TOKENS = 1_000
"""So small that enough reflections come together for those to be reflected on."""

A_WHILE = 20 * 60
"""Seconds after which a conversation is old enough to be reflected on."""

CLIENTS = {"python": python, "typescript v2": typescript}
SAMPLE = ROOT / "docs" / "tutorial" / "a-year.jsonl"
LOCOMO = Path(os.environ.get("DATA") or ROOT, "locomo10.json")
SETS = ["the tutorial's", *(["locomo"] if LOCOMO.exists() else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the assistant was answered, in the order of the fields. Looks are inspections."""

    texts: Sequence[str]
    young: dict[str, Any]
    before: dict[str, Any]
    offered: dict[str, Any]
    commits: Sequence[dict[str, Any]]
    after: dict[str, Any]
    settled: dict[str, Any]
    reasons: Sequence[dict[str, Any]]
    raw_deleted: dict[str, Any]
    raw_missed: dict[str, Any]
    reflection_deleted: dict[str, Any]
    reflection_missed: dict[str, Any]
    left: dict[str, Any]
    forgotten: dict[str, Any]
    empty: dict[str, Any]
    nothing: dict[str, Any]
    none_waits: dict[str, Any]
    gone: Answer


@pytest.fixture(scope="module")
def aging(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clocked]:
    with clocked(tmp_path_factory.mktemp("reflecting"), f'models = "{models}"\n') as aging:
        yield aging


@pytest.fixture(scope="module", params=[(name, texts) for texts in SETS for name in CLIENTS], ids=" with ".join)
def seen(request: pytest.FixtureRequest, aging: Clocked, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    client, texts = request.param
    stored = _locomo() if texts == "locomo" else _sample()
    return anyio.run(_cycle, CLIENTS[client], stored, aging, f"{client} {texts}", tmp_path_factory.mktemp("home"))


def _sample() -> Sequence[str]:
    return [json.loads(line)["text"] for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


def _locomo() -> Sequence[str]:
    return [turn.text for turn in datasets.conversations(LOCOMO)[0].turns[:MEMORIES]]


async def _cycle(client: Talker, texts: Sequence[str], aging: Clocked, vault: str, home: Path) -> Seen:
    aging.server.said("vaults", "create", vault)
    web = aging.server.web("--vault", vault, "--scopes", "read,write,reflect,delete")
    async with client(web, home) as talk:
        here = Assistant(talk)
        await here.remember(texts)
        young = await here.ask("memory_status")
        aging.put_forward(A_WHILE)
        before = await here.ask("memory_status")
        offered = await here.ask("search_memories", query=texts[0])
        commits = await here.reflect(BATCH_TOKENS)
        after = await here.ask("memory_status")
        settled = await here.ask("search_memories", query=texts[0])
        top, event, raw = reasons = await here.reasons(texts[0], 3)
        known = dict(texts=texts, young=young, before=before, offered=offered, commits=commits, after=after)
        deletions = dict(
            raw_deleted=await _delete(here, raw),
            raw_missed=await here.ask("inspect_memory", memory_id=event["memory_id"]),
            reflection_deleted=await _delete(here, event),
            reflection_missed=await here.ask("inspect_memory", memory_id=top["memory_id"]),
            left=await here.ask("memory_status"),
            forgotten=await here.ask("forget_all_memories", confirmation="DELETE ALL MEMORIES"),
        )
    async with client(web, home) as talk:
        later = Assistant(talk)
        return Seen(
            **known,
            settled=settled,
            reasons=reasons,
            **deletions,
            empty=await later.ask("memory_status"),
            nothing=await later.ask("search_memories", query=texts[0]),
            none_waits=await later.ask("consolidate_memories", max_tokens=BATCH_TOKENS),
            gone=await talk("inspect_memory", {"memory_id": top["memory_id"]}),
        )


async def _delete(assistant: Assistant, look: dict[str, Any]) -> dict[str, Any]:
    return await assistant.ask(
        "delete_memories", memory_ids=[look["memory_id"]], confirmation="DELETE SELECTED MEMORIES"
    )


def test_all_that_was_stored_waits_to_be_reflected_on(seen):
    assert len(seen.texts) == len(set(seen.texts)) == seen.before["totalMemories"] == MEMORIES
    assert seen.before["reflection"]["unconsolidated_memories"] == MEMORIES
    assert seen.before["tiers"] == {"1": MEMORIES, "2": 0, "3": 0}


def test_reflecting_is_offered_once_the_conversation_is_over(seen):
    assert not seen.young["reflection"]["consolidation_available"]
    assert seen.before["reflection"]["consolidation_available"]
    assert seen.offered["consolidation_available"] is True


def test_the_debt_falls_with_every_batch_until_it_is_under_the_threshold(seen):
    debts = [seen.before["reflection"], *(commit["debt"] for commit in seen.commits)]
    for earlier, later, commit in zip(debts[:-1], debts[1:], seen.commits, strict=True):
        source = "unconsolidated_memories" if commit["tier"] == 2 else "unconsolidated_reflections"
        assert later[source] == earlier[source] - commit["sources_consolidated"]
    assert all(debt["consolidation_available"] for debt in debts[:-1])
    assert not debts[-1]["consolidation_available"]
    assert debts[-1]["unconsolidated_tokens"] < debts[-1]["threshold_tokens"]
    assert seen.after["reflection"] == debts[-1]
    assert not seen.settled.get("consolidation_available")


def test_reflections_are_reflected_on_once_enough_have_come_together(seen):
    made = {2: 0, 3: 0}
    for commit in seen.commits:
        made[commit["tier"]] += commit["entries_created"]
    assert made[3] >= 5
    assert seen.after["tiers"] == {"1": MEMORIES, "2": made[2], "3": made[3]}


def test_a_belief_is_followed_down_to_the_very_words_that_were_stored(seen):
    top, event, raw = seen.reasons
    assert [look["tier"] for look in seen.reasons] == [3, 2, 1]
    assert raw["text"] in seen.texts
    assert raw["sources"] == []
    assert piece(raw["text"]) in event["text"]
    assert piece(event["text"]) in top["text"]
    assert all(source["text"] in seen.texts for source in event["sources"])
    assert [above["id"] for above in raw["consolidated_into"]] == [event["memory_id"]]


def test_what_was_built_on_a_deleted_memory_stays_and_says_that_it_misses_it(seen):
    top, event, raw = seen.reasons
    assert seen.raw_deleted["deleted_ids"] == [raw["memory_id"]]
    assert set(seen.raw_deleted["reflections_kept"]) == {event["memory_id"], top["memory_id"]}
    assert (event["sources_deleted"], seen.raw_missed["sources_deleted"]) == (0, 1)
    assert seen.raw_missed["sources_total"] == event["sources_total"]
    assert raw["memory_id"] not in [source["id"] for source in seen.raw_missed["sources"]]


def test_a_deleted_reflection_leaves_its_sources_consolidated(seen):
    top, event, _ = seen.reasons
    assert seen.reflection_deleted["deleted_ids"] == [event["memory_id"]]
    assert seen.reflection_missed["sources_deleted"] == 1
    assert seen.reflection_deleted["reflections_kept"] == [top["memory_id"]]
    assert seen.left["totalMemories"] == seen.after["totalMemories"] - 2
    waiting = "unconsolidated_memories"
    assert seen.left["reflection"][waiting] == seen.after["reflection"][waiting]


def test_deletions_are_confirmed_by_the_data_and_by_its_mirror(seen):
    for done in (seen.raw_deleted, seen.reflection_deleted, seen.forgotten):
        assert (done["primary_cleared"], done["mirror_cleared"], done["mirror"]) == (True, True, "cleared")


def test_after_everything_is_forgotten_a_new_connection_finds_nothing(seen):
    assert seen.forgotten["memories_deleted"] == seen.left["totalMemories"]
    assert seen.empty["totalMemories"] == seen.empty["totalTokens"] == 0
    assert seen.nothing["results"] == []
    assert seen.none_waits["batch_id"] is None
    assert "not_found" in seen.gone.error
