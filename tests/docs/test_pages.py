"""The pages agree with the tree: links lead somewhere, targets exist, decisions have their parts."""

import os
import re
import subprocess

import pytest

from tests.docs.pages import ROOT, links

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))


def _name(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_leads_somewhere(page):
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", DECISIONS, ids=_name)
def test_a_decision_has_its_four_parts_and_fits_on_a_page(page):
    text = page.read_text(encoding="utf-8")
    assert re.match(rf"# {page.name[:4]}: .+\n\n\*Status:\* \w+", text)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    assert len(text.split()) <= 700


def test_decisions_are_numbered_without_gaps():
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_every_make_target_that_is_named_is_in_the_menu():
    menu = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = set(re.findall(r"^make (\w+)", menu, re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"`make (\w+)", page.read_text(encoding="utf-8"))}
    assert named <= targets
    assert {"run", "test", "check"} <= targets


def test_the_menu_is_aligned_and_has_one_line_for_a_target():
    lines = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len({re.match(r"make \w+ +", line).end() for line in lines}) == 1
    assert len(lines) == len(set(lines)) >= 7


def test_the_suite_that_guards_a_change_is_the_one_that_people_run():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
