"""What goes with every page: its headers, the files beside it, colours that can be read."""

import re
from pathlib import Path

import httpx2
import pytest
from jinja2 import UndefinedError
from starlette.applications import Starlette

from archivist.domain.access import Scope
from archivist.domain.vaults import KINDS
from archivist.web import words
from archivist.web.rendering import page, static_routes
from tests.pages.examples import PAGES, every

pytestmark = pytest.mark.anyio

STATIC = Path(__file__).parents[2] / "src" / "archivist" / "web" / "static"
OF_APPS = {"sign-in", "second-factor", "consent", "denied", "authorization-error"}
FIRST = [pytest.param(name, next(iter(examples.values())), id=name) for name, examples in PAGES.items()]
TEXTS = ("text", "soft", "accent", "danger", "warning", "good")
CONTRAST, CONTRAST_OF_LINES = 4.5, 3.0
"""WCAG 2.2, success criteria 1.4.3 and 1.4.11."""


def directives(answer) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in answer.headers["content-security-policy"].split(";"))
    return {name: value for name, _, value in parts}


@pytest.mark.parametrize(("name", "context"), FIRST)
async def test_sec_266_a_page_may_load_from_this_server_alone_and_run_nothing_inline(name, context):
    found = directives(page(name, **context))
    assert found.pop("form-action", None) == (None if name == "consent" else "'self'")
    assert found == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


@pytest.mark.parametrize(("name", "context"), FIRST)
async def test_sec_267_a_page_cannot_be_framed_sniffed_or_followed(name, context):
    headers = page(name, **context).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert headers.get("cross-origin-opener-policy") == (None if name in OF_APPS else "same-origin")


@pytest.mark.parametrize(("name", "context"), FIRST)
async def test_sec_268_no_page_is_kept_by_the_browser(name, context):
    assert page(name, **context).headers["cache-control"] == "no-store"


async def test_headers_can_be_added_and_never_replaced():
    answer = page("denied", 403, headers={"Retry-After": "40", "Cache-Control": "public"}, **PAGES["denied"]["usual"])
    assert answer.headers["retry-after"] == "40"
    assert answer.headers.getlist("cache-control") == ["no-store"]


async def test_a_form_may_lead_to_another_origin_only_where_it_is_named():
    answer = page("sign-in", form_to=("https://idp.example",), **PAGES["sign-in"]["waiting"])
    assert directives(answer)["form-action"] == "'self' https://idp.example"


async def test_a_value_that_is_missing_is_an_error_and_never_an_empty_place():
    with pytest.raises(UndefinedError, match="waiting"):
        page("sign-in", csrf="x", provider=None)


@pytest.fixture
async def http():
    transport = httpx2.ASGITransport(Starlette(routes=[*static_routes()]))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


@pytest.mark.parametrize(
    ("name", "type"),
    [("archivist.css", "text/css"), ("consent.js", "text/javascript"), ("archivist.svg", "image/svg+xml")],
)
async def test_a_file_has_a_fixed_type_and_is_asked_for_anew_unless_its_version_is_named(http, name, type):
    answer = await http.get(f"/static/{name}")
    assert answer.headers["content-type"] == f"{type}; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.content == (STATIC / name).read_bytes()


async def test_the_address_on_a_page_names_the_version_and_may_be_kept(http):
    text = bytes(page("consent", **PAGES["consent"]["usual"]).body).decode()
    addresses = set(re.findall(r'"(/static/[^"]+)"', text))
    assert len(addresses) == 3
    for address in addresses:
        assert "immutable" in (await http.get(address)).headers["cache-control"]
        assert "immutable" not in (await http.get(address + "0")).headers["cache-control"]


@pytest.mark.parametrize("path", ["/static/", "/static/../rendering.py", "/static/%2e%2e/words.py", "/static/none.css"])
async def test_nothing_but_these_files_is_served(http, path):
    assert (await http.get(path)).status_code == 404


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_text_colour_can_be_read_on_every_ground(scheme):
    colours = tokens(scheme)
    for ground in ("ground", "surface"):
        low = {name for name in TEXTS if contrast(colours[name], colours[ground]) < CONTRAST}
        assert low == set()
        assert contrast(colours["edge"], colours[ground]) >= CONTRAST_OF_LINES
    assert contrast(colours["on-accent"], colours["accent"]) >= CONTRAST
    assert contrast(colours["surface"], colours["danger"]) >= CONTRAST


async def test_the_look_has_no_gradient_shadow_or_address_elsewhere():
    style = (STATIC / "archivist.css").read_text()
    assert re.findall(r"gradient\(|box-shadow: (?!none)|@import|@font-face|https?:", style) == []
    assert set(re.findall(r"url\(\"([^\"]+)\"\)", style)) <= {f"/static/{path.name}" for path in STATIC.iterdir()}
    assert set(re.findall(r"(?:font-size: |font: (?:\d+ )?)(\d+)px", style)) <= {"14", "16", "20", "26"}


async def test_every_right_and_kind_has_its_words():
    assert list(words.RIGHTS) == list(Scope)
    assert tuple(words.KINDS) == KINDS


async def test_the_script_of_the_consent_page_is_the_only_one():
    assert [path.name for path in STATIC.glob("*.js")] == ["consent.js"]
    assert {name for name, _, context in every() if b"<script" in page(name, **context).body} == {"consent"}


def tokens(scheme: str) -> dict[str, str]:
    """The custom properties that are colours, in one scheme."""
    light, dark = (STATIC / "archivist.css").read_text().split("@media (prefers-color-scheme: dark)")[:2]
    found = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", light))
    return found | (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", dark)) if scheme == "dark" else {})


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio, 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
