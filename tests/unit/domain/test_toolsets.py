"""The addresses of the tool sets, as apps spell them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.rejections import Rejected
from archivist.domain.toolsets import PATHS, TOOLSETS, toolset_of

ORIGINS = frozenset({"https://memory.example.org", "http://127.0.0.1:8765"})


@pytest.mark.parametrize("origin", sorted(ORIGINS))
@pytest.mark.parametrize("toolset", TOOLSETS)
@pytest.mark.parametrize("slash", ["", "/"])
def test_each_address_means_its_tool_set_with_and_without_a_slash(origin, toolset, slash):
    assert toolset_of([origin + PATHS[toolset] + slash], ORIGINS) == toolset
    scheme, rest = origin.split("://")
    assert toolset_of([f"{scheme.upper()}://{rest.upper()}{PATHS[toolset]}{slash}"], ORIGINS) == toolset


@pytest.mark.parametrize("origin", sorted(ORIGINS))
@pytest.mark.parametrize("slash", ["", "/"])
def test_the_bare_origin_means_the_memory_tools(origin, slash):
    assert toolset_of([origin + slash], ORIGINS) == "vault"


def test_no_resource_means_the_memory_tools_unless_one_is_required():
    assert toolset_of([], ORIGINS) == "vault"
    with pytest.raises(Rejected, match="resource"):
        toolset_of([], ORIGINS, required=True)


@given(st.lists(st.sampled_from([origin + path for origin in ORIGINS for path in PATHS.values()]), min_size=2))
def test_several_resources_mean_nothing_even_if_they_are_equal(resources):
    with pytest.raises(Rejected) as refused:
        toolset_of(resources, ORIGINS)
    assert refused.value.error == "invalid_target"


@given(st.text(), st.sampled_from(sorted(ORIGINS)), st.sampled_from(["", *PATHS.values()]))
def test_anything_in_front_or_behind_makes_it_another_resource(more, origin, path):
    for spelt in (more + origin + path, origin + path + more):
        if more not in ("", "/", *PATHS.values(), "/coding", "/coding/", "/mcp/", "/mcp/coding/"):
            with pytest.raises(Rejected):
                toolset_of([spelt], ORIGINS)


@given(st.text())
def test_no_text_at_all_breaks_the_comparison(text):
    assert found(text) in (*TOOLSETS, "invalid_target")


def found(resource: str) -> str:
    try:
        return toolset_of([resource], ORIGINS)
    except Rejected as refused:
        return refused.error
