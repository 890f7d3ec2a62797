"""The guarded fetch with nothing replaced, in a network of its own where public addresses can be had."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.modules import ROOT
from tests.security.public_internet import HOSTS

ALONE = ["unshare", "--net", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net", "--mount"]


@pytest.fixture(scope="module")
def happened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What came of it. Names are found in a hosts file that only this process sees."""
    folder: Path = tmp_path_factory.mktemp("network")
    hosts = folder / "hosts"
    hosts.write_text(HOSTS, encoding="utf-8")
    script = f'mount --bind "{hosts}" /etc/hosts && exec "$0" -m tests.security.public_internet "{folder}"'
    command = [*ALONE, "sh", "-c", script, sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_sec_097_a_site_at_a_public_address_is_fetched_with_the_defaults(happened):
    assert happened["client"] == '"outer"'


def test_sec_097_a_site_at_an_inner_address_or_with_one_among_others_is_not_connected_to(happened):
    assert (happened["inner"], happened["mixed"], happened["absent"]) == ("not_public", "not_public", "not_resolved")


def test_sec_097_a_name_that_turns_inwards_after_the_check_leads_nowhere_else(happened):
    assert (happened["before turning"], happened["asked"]) == ('"outer"', 1)
    assert happened["after turning"] == "not_public"


def test_sec_097_nothing_ever_connected_to_an_inner_address(happened):
    assert happened["connections"] == [2, 0, 0]
