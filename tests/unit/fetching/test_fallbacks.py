"""The metadata documents that ship with the server."""

from datetime import date

import pytest

from archivist.domain.client_names import resembles
from archivist.domain.documents import is_document_address, read_document
from archivist.domain.redirects import matches
from archivist.fetching.fallbacks import fallback

CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"
CODEX = "https://chatgpt.com/oauth/codex/client.json"


@pytest.mark.parametrize(
    ("address", "name", "target"),
    [
        (CLAUDE_CODE, "Claude Code", "http://localhost:54545/callback"),
        (CLAUDE_CODE, "Claude Code", "http://127.0.0.1:54545/callback"),
        (CODEX, "Codex", "http://127.0.0.1:41999/callback"),
        (CODEX, "Codex", "http://localhost:41999/callback"),
    ],
)
def test_a_shipped_document_is_valid_and_takes_what_its_app_sends(address, name, target):
    shipped = fallback(address)
    assert shipped is not None
    document = read_document(address, shipped.body, frozenset())
    assert is_document_address(address)
    assert document.name == name
    assert any(matches(registered, target) for registered in document.redirect_uris)
    assert resembles(document.name, document.host) is None


def test_a_shipped_document_is_dated_in_the_past():
    assert {shipped.dated for one in (CLAUDE_CODE, CODEX) if (shipped := fallback(one))} <= {date(2026, 9, 16)}


@pytest.mark.parametrize(
    "address", ["", CLAUDE_CODE + "/", CLAUDE_CODE.replace("claude.ai", "claude.com"), CODEX.upper(), CODEX + "?"]
)
def test_no_document_ships_for_another_spelling(address):
    assert fallback(address) is None
