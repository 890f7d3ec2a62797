"""The first account of a real server: through the link that it prints, once, and never again."""

import json
import re
from pathlib import Path

import httpx2
import pytest

from tests.clients.fake_browser import Page, Window
from tests.e2e.processes import Place, Server
from tests.waiting import SECONDS

LINK = re.compile(r"sign up: +(\S+)")
LAST = re.compile(r"(sign up|see it work): ")
NAME, PASSWORD = "Ana", "correct horse battery"


@pytest.fixture
def plain(tmp_path: Path) -> Place:
    """Without a model: nothing is searched here."""
    return Place(tmp_path / "data", {"ARCHIVIST_EMBEDDER": "none"})


def printed(server: Server) -> str:
    """The link that a server prints, when it is ready."""
    return server.started.line(LINK)[1]


def opened(http: httpx2.Client, link: str) -> Page:
    page = Window(http).open(link)
    assert isinstance(page, Page)
    return page


def set_up(http: httpx2.Client, link: str, name: str = NAME) -> Page | str:
    window = Window(http)
    page = window.open(link)
    assert isinstance(page, Page)
    assert page.status == 200, page.text
    return window.send(page, name=name, password=PASSWORD, again=PASSWORD)


def people(place: Place) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(place.said("users", "list", "--json"))
    return found


def test_sec_016_the_link_that_a_server_prints_makes_the_first_account_and_then_there_is_none_any_more(plain: Place):
    with httpx2.Client(timeout=SECONDS, trust_env=False) as http:
        with plain.serving() as server:
            link = printed(server)
            assert link.startswith(f"{server.origin}/set-up/avl_")
            for wrong in (link[:-1] + ("A" if link[-1] != "A" else "B"), f"{server.origin}/set-up/x"):
                assert opened(http, wrong).status == 404
            set_up(http, link)
            assert [(one["name"], one["administrator"]) for one in people(plain)] == [(NAME, True)]
            assert opened(http, link).status == 404
            assert server.stop() == 0
            assert link.rpartition("/")[2] not in server.started.everything().partition(link)[2], "the log keeps it"
        with plain.serving() as again:
            assert opened(http, f"{again.origin}/set-up/{link.rpartition('/')[2]}").status == 404
            again.stop()
            assert LINK.search(again.started.everything()) is None


def test_sec_016_of_several_starts_the_newest_link_works_and_no_other(plain: Place):
    with (
        httpx2.Client(timeout=SECONDS, trust_env=False) as http,
        plain.serving() as first,
        plain.serving() as second,
    ):
        older, newer = printed(first), printed(second)
        secret = older.rpartition("/")[2]
        for origin in (first.origin, second.origin):
            assert opened(http, f"{origin}/set-up/{secret}").status == 404
        set_up(http, f"{first.origin}/set-up/{newer.rpartition('/')[2]}")
        assert opened(http, newer).status == 404
        assert len(people(plain)) == 1


def test_the_server_of_a_proof_leaves_the_printed_link_alone(plain: Place):
    with httpx2.Client(timeout=SECONDS, trust_env=False) as http, plain.serving() as server:
        link = printed(server)
        plain.said("prove")  # does not find this server, which has a port of its own, and starts another
        set_up(http, link)
    assert len(people(plain)) == 1


def test_an_account_that_a_command_made_ends_the_printed_link_too(plain: Place):
    with httpx2.Client(timeout=SECONDS, trust_env=False) as http, plain.serving() as server:
        link = printed(server)
        plain.said("users", "create", NAME)
        assert opened(http, link).status == 404


def test_sec_018_the_printed_link_has_the_configured_address_and_opens_under_no_foreign_host(plain: Place):
    with plain.serving("--public-url", "https://memory.example.org") as server:
        link = printed(server)
        assert link.startswith("https://memory.example.org/set-up/avl_")
    with plain.serving() as server, httpx2.Client(timeout=SECONDS, trust_env=False) as http:
        link = printed(server)
        spoofed = {"host": "evil.example.org", "x-forwarded-host": "evil.example.org"}
        assert http.get(link, headers=spoofed).status_code == 421
        told = http.get(link, headers={"x-forwarded-host": "evil.example.org", "forwarded": "host=evil.example.org"})
        assert told.status_code == 200
        assert "evil" not in told.text


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda key: key.chmod(0o644), "chmod 600"),
        (lambda key: key.write_text("changeme"), "restore it from a backup, or remove it"),
        (lambda key: key.write_text(""), "restore it from a backup, or remove it"),
    ],
    ids=["readable by others", "a placeholder", "empty"],
)
def test_sec_129_a_server_does_not_start_on_a_secret_that_is_none(plain: Place, spoil, said: str):
    with plain.serving() as server:
        server.started.line(LAST)
        assert server.stop() == 0
    key = plain.data / "server.key"
    assert key.stat().st_mode & 0o777 == 0o600
    spoil(key)
    done = plain.run("serve", "--port", "0")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
