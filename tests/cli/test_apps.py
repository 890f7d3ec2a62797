"""`archivist clients`, `connections` and `end`: which apps there are, what they were allowed, and its end."""

import json

import pytest

from archivist.app import OWNER
from archivist.domain.access import ALL_SCOPES
from archivist.domain.clients import client_digest
from archivist.domain.errors import Unauthenticated
from archivist.domain.rejections import Rejected, Unanswerable
from tests.builders import Clock
from tests.cli.inside import inside
from tests.cli.test_commands import out
from tests.cli.test_mistakes import line
from tests.people import arrived, connected, founded

pytestmark = pytest.mark.anyio
TARGET = "https://web.example.org/callback"


def a_client(typed, *words: str) -> dict[str, str]:
    return json.loads(out(typed("clients", "create", "Web", "--redirect-uri", TARGET, "--json", *words)))


@pytest.mark.parametrize(("method", "sent"), [("basic", "client_secret_basic"), ("post", "client_secret_post")])
async def test_an_app_with_a_secret_proves_itself_in_the_one_way_that_was_chosen(typed, method, sent):
    made = a_client(typed, "--method", method)
    async with inside(typed) as app:
        client = await app.clients.authenticated(made["client_id"], made["client_secret"], sent)
        assert (client.kind, client.redirect_uris) == ("confidential", (TARGET,))
        other = "client_secret_post" if method == "basic" else "client_secret_basic"
        with pytest.raises(Rejected):
            await app.clients.authenticated(made["client_id"], made["client_secret"], other)
        with pytest.raises(Rejected):
            await app.clients.authenticated(made["client_id"], made["client_secret"] + "x", sent)


async def test_the_secret_of_an_app_is_shown_once_and_never_listed(typed):
    done = typed("clients", "create", "Web", "--redirect-uri", TARGET)
    id, secret = [text.split()[1] for text in out(done).splitlines()]
    assert b"only time" in done.stderr
    for listed in (out(typed("clients", "list")), out(typed("clients", "list", "--json"))):
        assert id in listed
        assert secret not in listed
    held = b"".join(path.read_bytes() for path in typed.data.rglob("*") if path.is_file())
    assert secret.encode() not in held


async def test_an_app_needs_a_target_that_answers_may_go_to(typed):
    assert typed("clients", "create", "Web").returncode == 2
    assert "redirect_uris" in line(typed("clients", "create", "Web", "--redirect-uri", "http://web.example.org/"))
    assert "name: must be" in line(typed("clients", "create", "", "--redirect-uri", TARGET))


async def test_a_blocked_app_loses_its_connections_and_gets_no_new_ones_until_it_is_unblocked(typed):
    clock = Clock()
    async with inside(typed, clock) as app:
        ana = await founded(app, await arrived(app, "Ana"), "garden")
        ready = await connected(app, clock, ana)
        await app.entering.authenticate(ready.access, "vault")
        out(typed("clients", "block", ready.client.client_id))
        with pytest.raises(Unauthenticated):
            await app.entering.authenticate(ready.access, "vault")
        with pytest.raises(Unanswerable):
            await app.clients.asking(ana, ready.client.client_id)
        assert "blocked" in out(typed("clients", "list"))
        out(typed("clients", "unblock", ready.client.client_id))
        assert await app.clients.asking(ana, ready.client.client_id)
        with pytest.raises(Unauthenticated):
            await app.entering.authenticate(ready.access, "vault")
    assert "clients list" in line(typed("clients", "block", "app-nobody"))


async def test_connections_are_listed_for_everybody_or_for_one_and_end_by_their_id(typed):
    clock = Clock()
    async with inside(typed, clock) as app:
        ana = await founded(app, await arrived(app, "Ana"), "garden")
        bo = await founded(app, await arrived(app, "Bo"), "shed")
        hers, his = await connected(app, clock, ana, name="Reader"), await connected(app, clock, bo, name="Writer")
        listed = json.loads(out(typed("connections", "list", "--json")))
        assert sorted((one["app"], one["user"]) for one in listed) == [("Reader", "Ana"), ("Writer", "Bo")]
        assert "Writer" not in out(typed("connections", "list", "--user", "ana"))
        out(typed("connections", "end", his.grant))
        with pytest.raises(Unauthenticated):
            await app.entering.authenticate(his.access, "vault")
        assert await app.entering.authenticate(hers.access, "vault")
        assert "connections list" in line(typed("connections", "end", his.grant))


async def test_what_is_to_end_is_said_by_conditions_or_by_all_and_not_by_both_or_neither(typed):
    out(typed("keys", "create"))
    for words in ([], ["--all", "--user", "Ana"], ["--since", "yesterday"]):
        assert typed("end", *words).returncode == 2, words
    assert "users list" in line(typed("end", "--user", "nobody"))
    assert "clients list" in line(typed("end", "--client", "app-nobody"))
    assert "no vault of that name" in line(typed("end", "--vault", "nowhere"))
    assert "revoked" not in out(typed("keys", "list"))


@pytest.mark.parametrize(
    ("words", "ended"),
    [
        (["--user", "Bo"], {"connections": 1, "keys": 1, "sessions": 1}),
        (["--vault", "shed"], {"connections": 1, "keys": 1, "sessions": 0}),
        (["--client", "Reader"], {"connections": 1, "keys": 0, "sessions": 0}),
        (["--user", "Ana", "--vault", "shed"], {"connections": 0, "keys": 0, "sessions": 0}),
        (["--since", "2026-12-01"], {"connections": 1, "keys": 1, "sessions": 1}),
        (["--until", "2026-11-30"], {"connections": 1, "keys": 1, "sessions": 1}),
        (["--all"], {"connections": 2, "keys": 2, "sessions": 2}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_sec_132_one_command_ends_what_is_meant_and_the_trail_counts_the_same(typed, words, ended):
    """Ana and Reader come on the first day, Bo and Writer on the next one."""
    clock, apps = Clock(), {}
    async with inside(typed, clock) as app:
        for name, vault, called in (("Ana", "garden", "Reader"), ("Bo", "shed", "Writer")):
            person = await founded(app, await arrived(app, name), vault)
            await app.keys.create(person, name="", scopes=ALL_SCOPES)
            apps[called] = (await connected(app, clock, person, name=called)).client.client_id
            clock.move(days=1)
        given = [apps.get(word, word) for word in words]
        assert json.loads(out(typed("end", *given, "--json"))) == ended
        assert json.loads(out(typed("end", *given, "--json"))) == {"connections": 0, "keys": 0, "sessions": 0}
        acts = [act for act in (await app.trail.of_server(OWNER)).entries if act.action == "end all"]
        assert [act.count for act in acts] == [0, sum(ended.values())]
        if "--client" in words:
            assert client_digest(apps["Reader"]).startswith(acts[-1].target)
