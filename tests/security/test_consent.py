"""The consent page: what a person is told about an app, what they can choose, and what follows from it."""

from dataclasses import replace

import pytest

from archivist.app import OWNER
from archivist.domain.access import Scope
from archivist.domain.authorizations import asked_scopes
from archivist.domain.rejections import Rejected
from archivist.domain.roles import CAPS
from tests.security.documents import Shelf, a_document
from tests.security.signing_in import (
    ALL,
    DELETE,
    HERE,
    LOOPBACK,
    OUTSIDE,
    READ,
    REFLECT,
    WRITE,
    Asked,
    Flow,
    answered,
)
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow
from tests.security.signing_in import outside as outside

pytestmark = pytest.mark.anyio

NAMES = [
    ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("\u202egnitirw rorrim", "gnitirw rorrim"),
    ("zero\u200bwidth\u200d\ufeff", "zerowidth"),
    ("x" * 10_000, "x" * 64),
    ("two\r\nlines\x00", "two lines"),
    ('" onclick="x', "&#34; onclick=&#34;x"),
    ("{{ 7 * 7 }}", "{{ 7 * 7 }}"),
]


@pytest.mark.parametrize(("name", "shown"), NAMES, ids=range(len(NAMES)))
async def test_sec_040_a_name_is_plain_short_text_and_never_stands_alone(flow, name, shown):
    app = await flow.another(OUTSIDE, client_name=name)
    page = (await app.ask()).text
    assert f'<h1 dir="auto">{shown}</h1>' in page
    assert name not in page or name == shown
    said = Asked(page).text
    assert "An app that calls itself" in said
    assert "app.example" in said


@pytest.mark.parametrize("name", [None, "", "   ", "\u200b\u202e"])
async def test_sec_040_an_app_without_a_name_is_shown_as_such(flow, name):
    app = await flow.another(OUTSIDE, **({} if name is None else {"client_name": name}))
    assert "An app without a name" in Asked((await app.ask()).text).text


TARGETS = [
    (OUTSIDE, "app.example", ["not verified"]),
    ("https://xn--80ak6aa92e.example/cb", "xn--80ak6aa92e.example", ["not verified"]),
    ("https://APP.example/cb", "app.example", ["not verified"]),
    (LOOPBACK, "127.0.0.1:33418", ["not verified", "a program on this computer", "on this computer"]),
    ("http://localhost/cb", "localhost", ["not verified", "a program on this computer"]),
    ("http://[::1]:1/cb", "[::1]:1", ["not verified", "a program on this computer"]),
    ("com.example.app:/done", "com.example.app", ["not verified", "an app on this device"]),
]


@pytest.mark.parametrize(("target", "host", "said"), TARGETS, ids=range(len(TARGETS)))
async def test_sec_041_the_page_shows_where_the_answer_goes(flow, target, host, said):
    app = await flow.another(target, client_name="An app")
    page = await app.ask()
    assert f"<code>{host}</code>" in page.text
    assert [words for words in said if words not in Asked(page.text).text] == []


async def test_sec_041_a_document_shows_its_own_host_beside_that_of_the_answer(flow, shelf):
    address = shelf.put("https://client.example/app.json", a_document(redirect_uris=[OUTSIDE]))
    app = replace(flow, client=address, target=OUTSIDE)
    page = Asked((await app.ask()).text).text
    assert "client.example" in page
    assert "app.example" in page
    assert "not verified" not in page


async def test_sec_041_what_an_administrator_made_is_told_apart(flow):
    shop, _ = await flow.confidential()
    page = Asked((await shop.ask()).text).text
    assert "set up by an administrator" in page
    assert "not verified" not in page


@pytest.fixture
def shelf(flow: Flow) -> Shelf:
    """Documents that the server finds on the internet."""
    return Shelf.behind(flow.app)


IMPOSTORS = ["Claude", "Cla\u200bude", "СlаudE", "ChatGPT", "Arch1vist", "Visual Studio Code", "GitHub Copilot"]


@pytest.mark.parametrize("name", IMPOSTORS)
async def test_sec_042_a_well_known_name_at_a_host_of_somebody_else_is_warned_of(flow, name):
    app = await flow.another(OUTSIDE, client_name=name)
    assert "This is probably not" in Asked((await app.ask()).text).text


@pytest.mark.parametrize(
    "target", ["https://claude.ai.evil.example/cb", "https://c1aude.example/cb", "https://xn--claud-8ra.example/cb"]
)
async def test_sec_042_a_host_that_looks_like_a_well_known_one_is_warned_of(flow, target):
    app = await flow.another(target, client_name="Notes")
    assert "This is probably not" in Asked((await app.ask()).text).text


OWNERS = [("Claude", "https://claude.ai/api/mcp/auth_callback"), ("Notes", OUTSIDE)]


@pytest.mark.parametrize(("name", "target"), OWNERS)
async def test_sec_042_who_owns_the_name_is_not_warned_of(flow, name, target):
    app = await flow.another(target, client_name=name)
    assert "This is probably not" not in Asked((await app.ask()).text).text


async def test_sec_043_no_logo_is_loaded_from_anywhere(flow, shelf):
    logo = "https://app.example/logo.png"
    app = await flow.another(OUTSIDE, client_name="An app", logo_uri=logo)
    address = shelf.put("https://client.example/app.json", a_document(logo_uri=logo))
    for page in (await app.ask(), await flow.ask(client_id=address)):
        assert page.status_code == 200
        assert logo not in page.text
        assert "img-src 'self'" in page.headers["content-security-policy"]


async def test_sec_044_only_vaults_that_the_person_is_in_are_offered(flow):
    bob = await flow.hall.joined("Bob")
    mine = await flow.vault("Boathouse")
    shown = Asked((await flow.ask()).text).values("vault")
    assert mine in shown
    assert len(shown) == 3
    assert mine not in Asked((await bob.get(flow.question())).text).values("vault")


@pytest.mark.parametrize("vault", ["", "control", "01a22c53-8200-75b2-968c-8b6d72a26759", "../x", "é", "'"])
async def test_sec_044_a_vault_without_a_role_is_refused_as_one_that_does_not_exist(flow, vault):
    """The vault of somebody else first, so that the two answers can be compared."""
    bob = await flow.hall.joined("Bob")
    await bob.get(flow.question())
    theirs = await founded_by(flow, "Bob")
    refused = await flow.decide(await flow.ask(), vault=theirs, scope=[READ])
    missing = await flow.decide(await flow.ask(), vault=vault, scope=[READ])
    assert (refused.status_code, refused.text) == (missing.status_code, missing.text)
    assert refused.status_code == 400
    assert await flow.rows("codes") == await flow.rows("grants") == []


async def founded_by(flow: Flow, name: str) -> str:
    who = replace(OWNER, user=(await flow.hall.user(name)).id)
    return (await flow.app.vaults.create(who, "Theirs", "project")).id


async def test_sec_044_a_role_that_is_lost_between_page_and_answer_is_lost(flow):
    bob = await flow.hall.joined("Bob")
    vault = await flow.vault("Shared")
    bobs = await flow.hall.user("Bob")
    link = await flow.app.members.invite(OWNER, vault, "member")
    await flow.app.accounts.accept(replace(OWNER, user=bobs.id), link)
    app = flow.of(bob)
    page = await app.ask()
    assert vault in Asked(page.text).values("vault")
    await flow.app.members.remove(OWNER, vault, bobs.id)
    answer = await app.decide(page, vault=vault, scope=[READ])
    assert (answer.status_code, await flow.rows("codes")) == (400, [])


async def test_sec_044_the_vault_that_was_chosen_is_the_connection_s(flow):
    vault = await flow.vault("Boathouse")
    token = (await flow.tokens(READ, WRITE, vault=vault))["access_token"]
    await flow.tool(token, "store_memory", content="The boathouse is green.")
    assert (await flow.app.status.of(replace(OWNER, vault=vault))).memories == 1


async def test_sec_044_a_new_vault_can_be_made_and_chosen(flow):
    answer = await flow.decide(await flow.ask(), vault="new", new_vault="Fresh", scope=[READ])
    tokens = (await flow.exchange(answered(answer)["code"])).json()
    made = await flow.app.vaults.named(OWNER, "Fresh")
    assert [row["vault"] for row in await flow.rows("grants")] == [made.id]
    assert await flow.lets_in(tokens["access_token"])


@pytest.mark.parametrize("name", ["", "   ", "personal", "x" * 200])
async def test_sec_044_a_new_vault_that_cannot_be_made_leaves_the_question_open(flow, name):
    page = await flow.ask()
    answer = await flow.decide(page, vault="new", new_vault=name, scope=[READ])
    assert (answer.status_code, await flow.rows("grants")) == (400, [])
    assert len(await flow.app.vaults.list(OWNER)) == 1
    assert (await flow.decide(page)).status_code == 303


ASKED = [
    ({}, [READ]),
    ({"scope": READ}, [READ]),
    ({"scope": ALL}, [READ]),
    ({"scope": f"{WRITE} {READ}"}, [READ]),
    ({"scope": WRITE}, []),
    ({"scope": f"{DELETE} {REFLECT}"}, []),
    ({"scope": f"{READ} offline_access openid"}, [READ]),
]


@pytest.mark.parametrize(("asked", "ticked"), ASKED, ids=range(len(ASKED)))
async def test_sec_045_reading_alone_is_ticked_at_first(flow, asked, ticked):
    page = await flow.ask(**asked)
    assert Asked(page.text).values("scope", ticked=True) == ticked
    answer = await flow.decide(page)
    if ticked:
        assert (await flow.exchange(answered(answer)["code"])).json()["scope"] == READ
    else:
        assert answer.status_code == 400


async def test_sec_045_what_this_app_holds_in_this_vault_is_ticked_again_and_nothing_else(flow, outside):
    vault = await flow.vault("Boathouse")
    await flow.tokens(READ, WRITE, vault=vault)
    again = Asked((await flow.ask(scope=ALL)).text)
    assert again.values("vault", ticked=True) == [vault]
    assert again.values("scope", ticked=True) == [READ, WRITE]
    other = Asked((await outside.ask(scope=ALL)).text)
    assert other.values("scope", ticked=True) == [READ]


async def test_sec_045_another_tool_set_is_another_connection(flow):
    await flow.tokens(READ, WRITE)
    page = Asked((await flow.ask(scope=ALL, resource=f"{HERE}/mcp/coding")).text)
    assert page.values("scope", ticked=True) == [READ]


async def test_sec_045_a_connection_that_has_ended_ticks_nothing(flow):
    await flow.tokens(READ, WRITE)
    [grant] = await flow.rows("grants")
    await flow.app.connections.end(await flow.principal(), grant["id"])
    assert Asked((await flow.ask(scope=ALL)).text).values("scope", ticked=True) == [READ]


async def test_sec_045_a_person_can_give_more_or_less_than_was_asked_for(flow):
    """RFC 6749 §3.3: the owner decides, and the answer says what they decided."""
    for scopes in ([WRITE], [READ, DELETE], [READ, WRITE, REFLECT, DELETE]):
        code = answered(await flow.decide(await flow.ask(scope=READ), scope=scopes))["code"]
        assert (await flow.exchange(code)).json()["scope"].split() == scopes


async def test_sec_045_nothing_ticked_shows_the_page_again(flow):
    page = await flow.ask()
    answer = await flow.decide(page, scope=[])
    assert (answer.status_code, await flow.rows("grants")) == (400, [])
    assert Asked(answer.text).one("transaction") == Asked(page.text).one("transaction")


@pytest.mark.parametrize("role", ["viewer", "member", "admin"])
async def test_sec_045_nobody_gives_more_than_their_role_has(flow, role):
    bob = await flow.hall.joined("Bob")
    vault = await flow.vault("Shared")
    link = await flow.app.members.invite(OWNER, vault, role)
    await flow.app.accounts.accept(replace(OWNER, user=(await flow.hall.user("Bob")).id), link)
    app = flow.of(bob)
    page = await app.ask(scope=ALL)
    for scope in Scope:
        answer = await app.decide(page, vault=vault, scope=[READ, scope])
        assert answer.status_code == (303 if scope in CAPS[role] else 400)
        if answer.status_code == 303:
            page = await app.ask(scope=ALL)


UNKNOWN = ["MEMORIES:WRITE", "memories:*", "memories:read,memories:write", "memories:Write", "openid", "*", "admin"]


@pytest.mark.parametrize("scope", UNKNOWN)
async def test_sec_046_words_that_are_no_scopes_grant_nothing(flow, outside, scope):
    assert answered(await flow.ask(scope=scope))["error"] == "invalid_scope"
    page = await flow.ask(scope=f"{scope} {READ}")
    assert Asked(page.text).values("scope", ticked=True) == [READ]
    answer = await flow.decide(page, scope=[scope, READ])
    assert (await flow.exchange(answered(answer)["code"])).json()["scope"] == READ
    only = await flow.decide(await flow.ask(), scope=[scope])
    assert (only.status_code, "location" in only.headers) == (400, False)
    assert (await outside.ask(scope=scope)).status_code == 400


async def test_sec_046_a_scope_that_is_no_scope_cannot_be_asked_for():
    assert asked_scopes(f"x {WRITE}  {READ} y") == {Scope.READ, Scope.WRITE}
    with pytest.raises(Rejected):
        asked_scopes("memories:read\tmemories:write")


async def test_sec_047_who_is_demoted_loses_it_at_the_next_request(flow):
    bob = await flow.hall.joined("Bob")
    vault = await flow.vault("Shared")
    user = (await flow.hall.user("Bob")).id
    link = await flow.app.members.invite(OWNER, vault, "member")
    await flow.app.accounts.accept(replace(OWNER, user=user), link)
    tokens = await flow.of(bob).tokens(READ, WRITE, vault=vault)
    token = tokens["access_token"]
    assert (await flow.tool(token, "store_memory", content="one")).status_code == 200
    await flow.app.members.set_role(OWNER, vault, user, "viewer")
    assert (await flow.tool(token, "store_memory", content="two")).status_code == 403
    assert (await flow.tool(token)).status_code == 200
    assert (await flow.refresh(tokens["refresh_token"])).json()["scope"] == READ
    await flow.app.members.set_role(OWNER, vault, user, "admin")
    assert (await flow.tool(token, "store_memory", content="three")).status_code == 200
    assert (await flow.tool(token, "forget_all_memories", confirmation="DELETE ALL MEMORIES")).status_code == 403


CHOICES = [[one] for one in (READ, WRITE, REFLECT, DELETE)] + [[READ, WRITE], [READ, WRITE, REFLECT, DELETE]]


@pytest.mark.parametrize("scopes", CHOICES, ids=range(len(CHOICES)))
async def test_sec_048_the_answer_states_what_is_enforced(flow, scopes):
    tokens = await flow.tokens(*scopes)
    assert tokens["scope"].split() == scopes
    who = await flow.app.entering.authenticate(tokens["access_token"], "vault")
    assert {scope.value for scope in who.scopes} == set(scopes)


async def test_sec_048_a_renewed_connection_narrows_the_tokens_that_are_out(flow):
    before = await flow.tokens(READ, WRITE)
    await flow.tokens(READ)
    assert (await flow.tool(before["access_token"], "store_memory", content="x")).status_code == 403
    assert (await flow.refresh(before["refresh_token"])).json()["scope"] == READ


async def test_sec_048_a_connection_that_was_widened_widens_no_token_that_is_out(flow):
    before = await flow.tokens(READ)
    await flow.tokens(READ, WRITE)
    assert (await flow.tool(before["access_token"], "store_memory", content="x")).status_code == 403
    assert (await flow.refresh(before["refresh_token"])).json()["scope"] == READ
    assert len(await flow.rows("grants")) == 1


async def test_sec_049_a_program_on_this_computer_is_told_of_a_refusal_at_once(flow):
    assert answered(await flow.decide(await flow.ask(), "deny"))["error"] == "access_denied"


@pytest.mark.parametrize("target", [OUTSIDE, "com.example.app:/done"])
async def test_sec_049_elsewhere_a_refusal_ends_here_with_a_link(flow, target):
    app = await flow.another(target)
    answer = await app.decide(await app.ask(state="mine"), "deny")
    assert (answer.status_code, "location" in answer.headers) == (200, False)
    assert "refresh" not in answer.headers
    assert "http-equiv" not in answer.text
    [link] = [link for link in Asked(answer.text).links if link.startswith(target)]
    assert "error=access_denied" in link
    assert "state=mine" in link
    assert await app.rows("grants") == []


async def test_sec_049_refusing_is_one_button_beside_the_other(flow):
    buttons = [one for one in Asked((await flow.ask()).text).inputs if one.get("name") == "decision"]
    assert {one["value"] for one in buttons} == {"allow", "deny", "another-account"}


async def test_sec_050_each_right_is_explained_and_deleting_stands_out(flow):
    page = await flow.ask()
    said = Asked(page.text).text
    for words in ("Read what is remembered", "Save new memories", "Summarise memories", "Delete memories"):
        assert words in said
    assert "Nobody can undo that" in said
    assert 'class="row danger"' in page.text
    assert "60 days" in said
    assert "180 days" in said
    assert "Connections" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"client_name": "Another name"}, "its name"),
        ({"redirect_uris": [LOOPBACK, "http://127.0.0.1/other"]}, "the addresses it may return to"),
        ({"client_name": "Another name", "redirect_uris": [LOOPBACK]}, "its name"),
    ],
)
async def test_sec_051_an_app_that_has_changed_is_shown_as_such_and_nothing_is_filled_in(flow, shelf, changes, said):
    address = shelf.put("https://client.example/app.json", a_document())
    app = replace(flow, client=address)
    vault = await flow.vault("Boathouse")
    await app.tokens(READ, WRITE, vault=vault)
    shelf.put(address, a_document(**changes))
    flow.clock.move(hours=1)
    page = Asked((await app.ask(scope=ALL)).text)
    assert "It has changed since you last allowed it" in page.text
    assert said in page.text
    assert ("its name" in page.text) == ("client_name" in changes)
    assert page.values("scope", ticked=True) == [READ]
    await app.tokens(READ, WRITE, vault=vault)
    assert "It has changed" not in Asked((await app.ask()).text).text


async def test_sec_051_an_app_that_is_the_same_is_not_said_to_have_changed(flow, shelf):
    address = shelf.put("https://client.example/app.json", a_document())
    app = replace(flow, client=address)
    await app.tokens(READ)
    shelf.put(address, a_document(logo_uri="https://client.example/new.png", contacts=["a@client.example"]))
    flow.clock.move(hours=1)
    assert "It has changed" not in Asked((await app.ask()).text).text
