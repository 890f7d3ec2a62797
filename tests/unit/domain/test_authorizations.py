"""Authorization requests: read strictly, asked for less than all, and proven by their verifier."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.access import Scope
from archivist.domain.authorizations import addressed, asked_scopes, proves, read, ticked_at_first
from archivist.domain.rejections import Rejected, Unanswerable
from archivist.domain.roles import CAPS

ORIGINS = frozenset({"http://127.0.0.1:8765"})
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
"""Both from RFC 7636, appendix B."""

SCOPES = st.frozensets(st.sampled_from(Scope))
ASKED = {
    "response_type": ["code"],
    "client_id": ["app"],
    "redirect_uri": ["http://127.0.0.1/cb"],
    "code_challenge": [CHALLENGE],
    "code_challenge_method": ["S256"],
}


def reading(**changes: list[str]) -> object:
    given_ones = {name: values for name, values in {**ASKED, **changes}.items() if values}
    return read(given_ones, addressed(given_ones), ORIGINS, resource_required=False)


def test_a_whole_request_is_read_as_it_is():
    request = reading(state=["s"], scope=["memories:write"], resource=["http://127.0.0.1:8765/mcp/coding"])
    assert (request.client_id, request.redirect_uri, request.state) == ("app", "http://127.0.0.1/cb", "s")
    assert (request.challenge, request.toolset, request.asked) == (CHALLENGE, "coding", {Scope.WRITE})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"client_id": []}, "request"),
        ({"redirect_uri": []}, "request"),
        ({"client_id": ["a", "a"]}, "repeated"),
        ({"redirect_uri": ["a", "b"]}, "repeated"),
        ({"state": ["x" * 4097]}, "request"),
        ({"state": ["ü" * 2049]}, "request"),
        ({"client_id": ["x" * 2049]}, "request"),
        ({"redirect_uri": ["x" * 2049]}, "request"),
    ],
)
def test_what_cannot_be_addressed_is_answered_by_a_page(changes, reason):
    with pytest.raises(Unanswerable) as refused:
        reading(**changes)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": []}, "invalid_request"),
        ({"response_type": ["token"]}, "unsupported_response_type"),
        ({"response_mode": ["fragment"]}, "invalid_request"),
        ({"code_challenge": []}, "invalid_request"),
        ({"code_challenge_method": ["plain"]}, "invalid_request"),
        ({"prompt": ["none"]}, "interaction_required"),
        ({"request": ["x"]}, "invalid_request"),
        ({"request_uri": ["x"]}, "invalid_request"),
        ({"scope": ["nothing"]}, "invalid_scope"),
        ({"resource": ["https://elsewhere.example"]}, "invalid_target"),
        ({"state": ["a", "b"]}, "invalid_request"),
    ],
)
def test_what_cannot_be_granted_is_told_in_the_words_of_the_rfc(changes, error):
    with pytest.raises(Rejected) as refused:
        reading(**changes)
    assert refused.value.error == error


@given(SCOPES, st.lists(st.text(string.ascii_lowercase + ":*,", max_size=12), max_size=4))
def test_words_that_are_no_scopes_add_nothing(scopes, others):
    words = " ".join([*others, *scopes])
    known = frozenset(scope for scope in Scope if scope.value in [*others, *scopes])
    if known or not words.strip():
        assert asked_scopes(words) == known
    else:
        with pytest.raises(Rejected, match="scope"):
            asked_scopes(words)


@given(SCOPES, SCOPES, st.sampled_from(list(CAPS.values())))
def test_what_is_ticked_at_first_is_reading_and_what_is_held_and_within_the_role(asked, held, cap):
    ticked = ticked_at_first(asked, held, cap)
    assert ticked <= cap
    assert ticked <= held | {Scope.READ}
    assert held & cap <= ticked
    assert (Scope.READ in ticked) == (Scope.READ in cap and (not asked or Scope.READ in asked | held))


def test_a_verifier_proves_its_challenge():
    assert proves(VERIFIER, CHALLENGE)


@given(st.text(max_size=140))
def test_nothing_else_proves_it(verifier):
    assert proves(verifier, CHALLENGE) == (verifier == VERIFIER)


@pytest.mark.parametrize("verifier", ["", VERIFIER[:-1], VERIFIER + "x" * 86, CHALLENGE, VERIFIER + "\n", "é" * 43])
def test_a_verifier_of_another_form_proves_nothing(verifier):
    assert not proves(verifier, CHALLENGE)
