"""The embedders without a model: none at all, and the one for tests."""

import pytest

from archivist.domain.errors import EmbedderUnavailable
from archivist.embedders.hashed import HashedEmbedder
from archivist.embedders.none import NoEmbedder

pytestmark = pytest.mark.anyio


async def test_without_an_embedder_every_text_is_refused_with_the_mend():
    embedder = NoEmbedder()
    await embedder.start()
    await embedder.settle()
    assert embedder.state == "none"
    assert embedder.space == ""
    with pytest.raises(EmbedderUnavailable, match="embedder"):
        await embedder.passages(["a"])
    with pytest.raises(EmbedderUnavailable, match="by words alone"):
        await embedder.query("a")
    await embedder.close()


async def test_the_stand_in_finds_texts_by_shared_words():
    embedder = HashedEmbedder()
    await embedder.start()
    near, far = await embedder.passages(["The blue bicycle is in the shed.", "Rent is paid monthly."])
    asked = await embedder.query("where is the BLUE bicycle")
    assert near[0] @ asked > 0.5 > far[0] @ asked
