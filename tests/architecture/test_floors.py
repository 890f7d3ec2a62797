"""The floors of the package, as pyproject.toml lists them: what is above may import what is below."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.modules import ROOT, SRC


def contracts(root: Path) -> subprocess.CompletedProcess[str]:
    """Checks the import contracts of root/pyproject.toml on root/src."""
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(root / "src"), "NO_COLOR": "1"}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def test_every_import_contract_is_kept():
    done = contracts(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("domain/ids.py", "import archivist.storage.schema", "floors"),
        ("domain/ids.py", "import pydantic", "the ground imports nothing"),
        ("services/vaults.py", "import archivist.workers", "floors"),
        ("mcp/__init__.py", "import archivist.storage.schema", "faces use services"),
    ],
)
def test_an_import_that_climbs_breaks_its_contract(tmp_path, module, line, contract):
    shutil.copytree(SRC, tmp_path / "src")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "src/archivist" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    done = contracts(tmp_path)
    assert done.returncode == 1
    assert f"{contract} BROKEN" in done.stdout
