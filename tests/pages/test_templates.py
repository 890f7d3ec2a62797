"""Every template with everything it may have to show: it renders, keeps to the rules of all pages, and escapes."""

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from archivist.web.rendering import page
from tests.pages.examples import PAGES, SIGNED_OUT, every, hostile
from tests.pages.samples import HOSTILE

WEB = Path(__file__).parents[2] / "src" / "archivist" / "web"
CASES = [pytest.param(name, context, id=f"{name}: {about}") for name, about, context in every()]
VOID = {"input", "meta", "link", "path", "img"}
LOADS = {"script": "src", "link": "href", "img": "src"}


class Element:
    """A start tag: its name, its attributes, the elements around it."""

    def __init__(self, tag: str, attributes: Mapping[str, str], around: tuple["Element", ...]) -> None:
        self.tag, self.attributes, self.around, self.text = tag, attributes, around, ""

    def get(self, name: str) -> str | None:
        return self.attributes.get(name)


class Tree(HTMLParser):
    """The elements of a page in their order; an element that is not closed in order is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute of <{tag}> is given twice"
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}, tuple(self._open)))
        if tag not in VOID:
            self._open.append(self.elements[-1])

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str) -> Iterator[Element]:
        return (element for element in self.elements if element.tag == tag)

    def inside(self, outer: Element, tag: str) -> list[Element]:
        return [element for element in self.all(tag) if outer in element.around]


def drawn(name: str, context: Mapping[str, object]) -> str:
    return bytes(page(name, **context).body).decode()


def tree(name: str, context: Mapping[str, object]) -> Tree:
    return Tree(drawn(name, context))


def classes(*texts: str) -> set[str]:
    found = (word for text in texts for names in re.findall(r'class="([^"]*)"', text) for word in names.split())
    return set(found)


def test_every_template_of_a_page_has_examples():
    templates = {
        path.relative_to(WEB / "templates").with_suffix("").as_posix() for path in (WEB / "templates").rglob("*.html")
    }
    pages = {name for name in templates if not name.startswith("_")} - {"base", "app"}
    assert pages == PAGES.keys()


@pytest.mark.parametrize("name", PAGES)
def test_a_template_says_first_what_it_takes(name):
    assert (WEB / "templates" / f"{name}.html").read_text().startswith("{# Context: ")


@pytest.mark.parametrize(("name", "context"), CASES)
def test_a_page_has_one_heading_one_main_part_a_title_and_a_way_past_the_navigation(name, context):
    found = tree(name, context)
    assert [len(list(found.all(tag))) for tag in ("h1", "main", "title")] == [1, 1, 1]
    assert next(found.all("h1")).text.strip()
    assert next(found.all("html")).get("lang") == "en"
    assert next(found.all("a")).get("href") == "#" + (next(found.all("main")).get("id") or "")


@pytest.mark.parametrize(("name", "context"), CASES)
def test_a_page_holds_no_script_style_or_handler_of_its_own(name, context):
    found = tree(name, context)
    assert [element.tag for element in found.elements if "style" in element.attributes] == []
    assert [part for element in found.elements for part in element.attributes if part.startswith("on")] == []
    assert list(found.all("style")) == []
    assert [script.text for script in found.all("script")] == [""] * (name == "consent")


@pytest.mark.parametrize(("name", "context"), CASES)
def test_sec_269_a_page_loads_from_this_server_only(name, context):
    found = tree(name, context)
    loaded = [element.get(part) for tag, part in LOADS.items() for element in found.all(tag)]
    assert loaded
    assert [address for address in loaded if not (address or "").startswith("/static/")] == []


@pytest.mark.parametrize(("name", "context"), CASES)
def test_sec_012_every_form_is_posted_with_its_token_to_a_path_of_this_site(name, context):
    found = tree(name, context)
    for form in found.all("form"):
        if form.get("method") == "get":  # asks, and changes nothing
            assert name == "app/activity"
            continue
        assert form.get("method") == "post"
        assert (form.get("action") or "/").startswith("/")
        tokens = [field.get("value") for field in found.inside(form, "input") if field.get("name") == "csrf"]
        assert tokens == [context["csrf"]]


@pytest.mark.parametrize(("name", "context"), CASES)
def test_every_input_has_a_label_and_its_mistake_is_tied_to_it(name, context):
    found = tree(name, context)
    ids = [element.get("id") for element in found.elements if element.get("id")]
    assert len(ids) == len(set(ids))
    labelled = {label.get("for") for label in found.all("label")}
    for field in [*found.all("input"), *found.all("select")]:
        if field.get("type") == "hidden" or "hidden" in field.attributes:
            continue
        wrapped = any(outer.tag == "label" for outer in field.around)
        assert wrapped or field.get("id") in labelled or field.get("aria-label"), field.get("name")
        assert set((field.get("aria-describedby") or "").split()) <= set(ids)
        if field.get("aria-invalid"):
            assert field.get("aria-describedby")


@pytest.mark.parametrize(("name", "context"), CASES)
def test_a_field_for_a_secret_says_which_and_is_never_filled_in(name, context):
    for field in tree(name, context).all("input"):
        if field.get("type") == "password":
            assert field.get("autocomplete") in {"current-password", "new-password"}
            assert field.get("value") is None


@pytest.mark.parametrize(("name", "context"), CASES)
def test_sec_270_what_strangers_wrote_is_never_markup(name, context):
    text = drawn(name, dict(hostile(context)))
    assert HOSTILE not in text
    assert "<script>alert" not in text
    assert "<img" not in text
    found = Tree(text)  # a quote that was let through would make attributes and elements that are refused there
    assert all(set(element.attributes) <= {*KNOWN, "d", "stroke", "transform", "viewbox"} for element in found.elements)


KNOWN = {
    "action", "aria-current", "aria-describedby", "aria-invalid", "aria-label", "autocapitalize", "autocomplete",
    "charset", "checked", "class", "content", "data-inert", "data-label", "datetime", "defer", "dir", "disabled", "for",
    "hidden", "href", "id", "inputmode", "lang", "maxlength", "method", "name", "open", "placeholder", "rel",
    "required", "role", "scope", "selected", "spellcheck", "src", "tabindex", "title", "type", "value", "xmlns",
}  # fmt: skip


@pytest.mark.parametrize("about", SIGNED_OUT["consent"])
def test_sec_014_the_approving_control_has_no_id_no_focus_and_is_not_what_enter_presses(about):
    found = tree("consent", SIGNED_OUT["consent"][about])
    buttons = list(found.all("button"))
    allow = [button for button in buttons if button.get("value") == "allow"]
    assert len(allow) == 1
    assert set(allow[0].attributes) == {"class", "name", "value", "data-inert"}
    assert "disabled" in buttons[0].attributes
    assert [element for element in found.elements if "autofocus" in element.attributes] == []


def test_sec_040_the_name_of_an_app_is_said_to_be_its_own_and_stands_with_its_host():
    for context in SIGNED_OUT["consent"].values():
        text = drawn("consent", context)
        assert "An app that calls itself" in text
        assert f"<code>{context['client']['host']}</code>" in text


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ("usual", ["on this computer", "any program here could be the one", "claude.ai"]),
        ("not verified", ["not verified", "chat.example.com", "Coding tools"]),
        ("app scheme", ["an app on this device", "com.cursor.app"]),
        ("by an administrator", ["set up by an administrator"]),
        ("resembles", ["This is probably not Claude."]),
        (
            "every warning",
            [
                "probably not Claude Code",
                "It answers elsewhere.",
                "xn--80ak6aa92e.example",
                "has changed",
                "1 October 2026",
            ],
        ),
        ("step up", ["Change vault", "allowed now", ">newly asked for<"]),
        ("mistake", ["Nothing is ticked"]),
    ],
)
def test_sec_041_the_consent_page_says_where_the_answer_goes_and_what_is_odd_about_it(about, words):
    text = drawn("consent", SIGNED_OUT["consent"][about])
    assert [word for word in words if word not in text] == []


def test_sec_045_only_what_the_server_ticked_is_ticked():
    found = tree("consent", SIGNED_OUT["consent"]["usual"])
    ticked = [
        box.get("value") for box in found.all("input") if box.get("name") == "scope" and "checked" in box.attributes
    ]
    assert ticked == ["memories:read"]


def test_sec_050_each_right_is_explained_and_the_page_says_how_long_access_lasts_and_where_it_ends():
    text = drawn("consent", SIGNED_OUT["consent"]["usual"])
    for words in ("Nobody can undo that", "even without the right to read", "60 days", "180 days", "Connections"):
        assert words in text


def test_a_locked_vault_stays_chosen_until_another_one_is():
    found = tree("consent", SIGNED_OUT["consent"]["step up"])
    vaults = [radio for radio in found.all("input") if radio.get("name") == "vault"]
    assert [radio.get("value") for radio in vaults if "checked" in radio.attributes] == ["v1"]
    assert [any(outer.tag == "details" for outer in radio.around) for radio in vaults] == [False, True, True, True]


def test_sec_024_a_page_about_a_broken_request_has_no_way_to_an_address():
    for context in SIGNED_OUT["authorization-error"].values():
        assert [a.get("href") for a in tree("authorization-error", context).all("a")] == ["#content"]


def test_sec_049_a_refusal_ends_here_with_a_visible_way_back():
    links = list(tree("denied", SIGNED_OUT["denied"]["way back"]).all("a"))
    assert links[-1].get("href") == "https://chat.example.com/back?error=access_denied&state=x"
    assert "chat.example.com" in links[-1].text


def test_only_administrators_are_shown_the_way_to_people():
    shown = [drawn("app/connections", PAGES["app/connections"][about]) for about in ("usual", "emptiest")]
    assert ['href="/app/people"' in text for text in shown] == [True, False]


def test_every_class_in_a_template_has_a_look_and_the_other_way_round():
    style = (WEB / "static" / "archivist.css").read_text()
    looks = set(re.findall(r"\.([a-z-]+)(?=[\s,:.{\[>)+])", style))
    used = classes(*(drawn(name, context) for name, _, context in every()))
    assert used - looks == {"segno", "qrline"}  # of the drawing's maker
    assert looks - used == set()
