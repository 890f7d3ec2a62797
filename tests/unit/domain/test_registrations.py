"""What is kept of a registration."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.redirects import verdict
from archivist.domain.registrations import Registration, registration
from archivist.domain.rejections import Rejected

TARGET = "https://app.example/cb"
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just(TARGET)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
)
NAMES = st.sampled_from([
    "client_name", "redirect_uris", "scope", "grant_types", "client_uri", "jwks", "contacts", "unheard of",
])  # fmt: skip


@given(st.dictionaries(NAMES, VALUES))
def test_whatever_comes_is_refused_or_kept_clean(metadata):
    kept = kept_or_refused(metadata)
    if isinstance(kept, Rejected):
        assert kept.error in ("invalid_client_metadata", "invalid_redirect_uri")
        assert kept.http_status == 400
    else:
        assert kept.redirect_uris
        assert all(verdict(uri, frozenset()) == "allowed" for uri in kept.redirect_uris)
        assert kept.name.isprintable()
        assert len(kept.name) <= 64


def kept_or_refused(metadata: dict[str, object]) -> Registration | Rejected:
    try:
        return registration(metadata, frozenset())
    except Rejected as refused:
        return refused


def test_null_is_nothing_and_an_unknown_member_is_passed_over():
    kept = registration({"redirect_uris": [TARGET], "client_name": None, "jwks": None, "x": {"y": 1}}, frozenset())
    assert (kept.name, kept.redirect_uris) == ("", (TARGET,))


@pytest.mark.parametrize("name", ["client_uri", "logo_uri", "tos_uri", "policy_uri"])
def test_an_address_for_people_is_https_or_empty(name):
    for fine in ("", "https://app.example"):
        assert registration({"redirect_uris": [TARGET], name: fine}, frozenset()).redirect_uris == (TARGET,)
    with pytest.raises(Rejected) as refused:
        registration({"redirect_uris": [TARGET], name: "http://app.example"}, frozenset())
    assert refused.value.error == "invalid_client_metadata"
