"""The fixtures of these tests."""

from collections.abc import Iterator

import pytest

from tests.fixtures_models import builtin as builtin
from tests.fixtures_models import models as models
from tests.unit.embedders.stand_in import StandIn


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn() as stand_in:
        yield stand_in
