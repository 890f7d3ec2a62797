"""A small fixed sample of the quality rows. Each bound is missed when the part that it is about does not work."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from archivist.embedders.builtin import BuiltinEmbedder
from archivist.storage.sqlite.stores import SqliteStores
from benchmarks import datasets, quality
from benchmarks.vaults import Vaults
from tests.fixtures_models import builtin as builtin
from tests.fixtures_models import models as models

pytestmark = pytest.mark.anyio

DATA = Path(__file__).parent / "data"


@pytest.fixture
async def vaults(builtin: BuiltinEmbedder, tmp_path: Path) -> AsyncIterator[Vaults]:
    stores = SqliteStores(tmp_path / "data")
    await stores.control()  # makes the folder
    yield Vaults(stores, builtin)
    await stores.close()


async def test_meaning_and_words_together_find_more_of_a_dialogue_than_each_alone(vaults):
    rows = await quality.dialogues(datasets.conversations(DATA / "dialogue.json"), vaults)
    score = {row.name.removeprefix("dialogues, "): row.values["nDCG@10"] for row in rows}
    assert score["keyword alone"] > 47
    assert score["vectors alone"] > 75
    assert score["fused"] > max(score["keyword alone"], score["vectors alone"]) + 1
    # Equal if neighbours do nothing. By how much they help rests on one rank or two of twenty questions, and these on
    # how a processor rounds: 0.7 on one, more than 1 on another.
    assert score["fused, with neighbours"] > score["fused"]


async def test_a_fact_is_found_in_any_language_also_where_languages_are_mixed(vaults):
    rows = {row.name: row.values for row in await quality.languages(datasets.parallel(DATA / "parallel.json"), vaults)}
    assert rows["same language"]["R@1"] > 97
    assert rows["across languages"]["R@1"] > 95
    assert rows["mixed vault"]["R@1"] > 93
    assert rows["Chinese, keyword alone"]["R@5"] > 95


async def test_an_exact_token_is_found_above_its_near_misses(vaults):
    row = await quality.identifiers(datasets.identifiers(DATA / "identifiers.json"), vaults)
    assert row.values["R@1"] == 100
