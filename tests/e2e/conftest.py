"""Whole processes on folders of their own, with the built-in model as it is prepared once."""

from pathlib import Path

import pytest

from tests.e2e.processes import Place
from tests.fixtures_models import models as models


@pytest.fixture
def place(tmp_path: Path, models: Path) -> Place:
    """A data folder that is not there yet, and the prepared model."""
    return Place(tmp_path / "data", {"ARCHIVIST_MODELS": str(models)})
