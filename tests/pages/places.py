"""Every page of the furnished house, and the way that leads a person there."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from playwright.async_api import Page, StorageState, expect

from archivist.app import OWNER
from tests.pages.furnishing import OLAFUR, Home, emptying
from tests.pages.house import ANA, LOOPBACK, PASSWORD, House
from tests.pages.walking import ready

DOCUMENT = "https://app.example/oauth/client.json"
DOCUMENTED = (
    b'{"client_id": "https://app.example/oauth/client.json", "client_name": "Letters", '
    b'"redirect_uris": ["https://letters.app.example/back"], "token_endpoint_auth_method": "none"}'
)
CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"


@dataclass(frozen=True, slots=True)
class Visited:
    """What leads to a page: the house, what stands in it, and the cookies of who is in it by name."""

    house: House
    home: Home
    browsers: dict[str, StorageState]

    async def enter(self, name: str, page: Page) -> None:
        """Lead a page there, in a browser of whoever may see it."""
        place = ALL[name]
        await place.way(page, self)
        await expect(page.get_by_role("heading", level=1)).to_have_text(place.heading)


Way = Callable[[Page, Visited], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Place:
    """A page and its heading. who: whose browser it is; "" is one that nobody is signed in with."""

    heading: str
    way: Way
    who: str = ANA


def at(path: str) -> Way:
    """By its address; names in braces stand for ids of the furnished house."""

    async def way(page: Page, visited: Visited) -> None:
        ids = {name: getattr(visited.home, name) for name in ("shared", "ours", "connection", "idle")}
        await page.goto(f"{visited.house.address}{path.format(**ids)}")

    return way


def pressing(path: str, *buttons: str) -> Way:
    """By pressing buttons of another page, one after the other."""

    async def way(page: Page, visited: Visited) -> None:
        await at(path)(page, visited)
        for button in buttons[:-1]:
            await page.locator("summary", has_text=button).first.click()
        async with page.expect_navigation():
            await page.get_by_role("button", name=buttons[-1], exact=True).first.click()

    return way


def opening(path: str, button: str) -> Way:
    """By pressing a button that opens what it will do."""

    async def way(page: Page, visited: Visited) -> None:
        await at(path)(page, visited)
        await page.locator("summary", has_text=button).first.click()

    return way


def link(kind: str) -> Way:
    """By a new one-time link."""

    async def way(page: Page, visited: Visited) -> None:
        accounts = visited.house.app.accounts
        made = await (accounts.invite(OWNER) if kind == "invitation" else accounts.recovery_link(OWNER, OLAFUR))
        await page.goto(f"{visited.house.address}/{kind}/{made}")

    return way


async def into_a_vault(page: Page, visited: Visited) -> None:
    """By an invitation that an owner made."""
    made = await visited.house.app.members.invite(await visited.house.person(ANA), visited.home.shared, "member")
    await page.goto(f"{visited.house.address}/invitation/{made}")


async def key_made(page: Page, visited: Visited) -> None:
    await at("/app/keys")(page, visited)
    await page.get_by_label("Name", exact=True).fill("nightly export of everything")
    await page.get_by_label("Save new memories").check()
    async with page.expect_navigation():
        await page.get_by_role("button", name="Make the key").click()


async def asked_to_empty(page: Page, visited: Visited) -> None:
    """By the link that an app was given."""
    question = await emptying(visited.house, visited.home)
    await at(f"/app/vaults/{{shared}}/approvals/{question}")(page, visited)


def approving(word: str) -> Way:
    """By typing a word where everything is about to be deleted."""

    async def way(page: Page, visited: Visited) -> None:
        await asked_to_empty(page, visited)
        await page.get_by_label("Type “delete”").fill(word)
        async with page.expect_navigation():
            await page.get_by_role("button", name="Approve: delete").click()

    return way


new_codes = pressing("/app/account", "New recovery codes", "Make ten new codes")


async def half_signed_in(page: Page, visited: Visited) -> None:
    await at("/sign-in")(page, visited)
    await page.get_by_label("Name").fill(OLAFUR)
    await page.get_by_label("Password").fill(PASSWORD)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Sign in").click()


async def refused(page: Page, visited: Visited) -> None:
    await at("/sign-in")(page, visited)
    await page.get_by_label("Name").fill(ANA)
    await page.get_by_label("Password").fill("not the right one")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Sign in").click()


def asked(name: str, redirect_uri: str, scope: str = "", *, coding: bool = False) -> Way:
    """By an app that has introduced itself a moment ago."""

    async def way(page: Page, visited: Visited) -> None:
        client = await visited.house.register(name, redirect_uri)
        question = visited.house.asked(client, redirect_uri, scope, "coding" if coding else "vault")
        await page.goto(question.address)

    return way


def asked_by_document(client_id: str, redirect_uri: str) -> Way:
    """By an app that is known by its document; that of Letters can be had, others cannot."""

    async def way(page: Page, visited: Visited) -> None:
        visited.house.library.documents[DOCUMENT] = DOCUMENTED
        await page.goto(visited.house.asked(client_id, redirect_uri).address)

    return way


async def asked_for_more(page: Page, visited: Visited) -> None:
    """By an app that is connected, and wants to delete, too."""
    connections = await visited.house.app.connections.list(await visited.house.person(ANA))
    [grant] = [one.grant for one in connections if one.grant.id == visited.home.connection]
    [client] = [one for one in await visited.house.app.clients.list(OWNER) if one.digest == grant.client]
    scope = "memories:read memories:write memories:delete"
    await page.goto(visited.house.asked(client, client.redirect_uris[0], scope).address)


async def nothing_ticked(page: Page, visited: Visited) -> None:
    await asked("Reader", LOOPBACK)(page, visited)
    await page.get_by_label("Read what is remembered").uncheck()
    await ready(page, visited.house)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Allow", exact=True).click()


async def denied(page: Page, visited: Visited) -> None:
    await asked("Chat", "https://chat.example/back")(page, visited)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Don’t allow").click()


OLD = "Ana, a while ago"
"""Who signed in so long ago that they are asked for their password again."""

PLACES: Mapping[str, Place] = {
    "sign-in": Place("Sign in", at("/sign-in"), ""),
    "sign-in-refused": Place("Sign in", refused, ""),
    "sign-in-waiting": Place("Sign in", asked("Reader", LOOPBACK), ""),
    "second-factor": Place("Second step", half_signed_in, ""),
    "invitation": Place("Join this server", link("invitation"), ""),
    "invitation-vault": Place("Join Boathouse", into_a_vault, ""),
    "invitation-signed-in": Place("Join Boathouse", into_a_vault, OLAFUR),
    "recovery": Place("Set a new password", link("recovery"), ""),
    "error-link": Place("This link does not work", at("/recovery/none"), ""),
    "error": Place("There is nothing here", at("/app/vaults/none")),
    "consent": Place("Reader", asked("Reader", LOOPBACK, "memories:read memories:write")),
    "consent-elsewhere": Place("Claude", asked("Claude", "https://claude-help.example/back", coding=True)),
    "consent-document": Place("Letters", asked_by_document(DOCUMENT, "https://letters.app.example/back")),
    "consent-copy": Place("Claude Code", asked_by_document(CLAUDE_CODE, LOOPBACK)),
    "consent-step-up": Place("Claude Code", asked_for_more),
    "consent-mistake": Place("Reader", nothing_ticked),
    "denied": Place("Nothing was allowed", denied),
    "authorization-error": Place("This app is not known here", asked_by_document("app-that-nobody-knows", LOOPBACK)),
    "fresh": Place("Confirm it is you", key_made, OLD),
    "connections": Place("Connections", at("/app/connections")),
    "connection": Place("Claude Code", at("/app/connections/{connection}")),
    "connection-idle": Place("Notes that find themselves again", at("/app/connections/{idle}")),
    "keys": Place("Keys", at("/app/keys")),
    "key-made": Place("Your new key", key_made),
    "vaults": Place("Vaults", at("/app/vaults")),
    "vault": Place("Boathouse", at("/app/vaults/{shared}")),
    "vault-link": Place("Boathouse", pressing("/app/vaults/{shared}", "Make the link")),
    "approval": Place("Delete everything in Boathouse?", asked_to_empty),
    "approval-fresh": Place("Confirm it is you", approving("delete"), OLD),
    "approval-mistake": Place("Delete everything in Boathouse?", approving("yes")),
    "vault-viewer": Place("Harbour notes", at("/app/vaults/{ours}")),
    "account": Place("Account", at("/app/account")),
    "account-two-steps": Place("Account", at("/app/account"), OLAFUR),
    "two-factor": Place("Set up the second step", at("/app/two-factor")),
    "recovery-codes": Place(
        "Recovery codes", pressing("/app/account", "New recovery codes", "Make ten new codes"), OLAFUR
    ),
    "activity": Place("Activity", at("/app/activity")),
    "activity-vault": Place("Activity", at("/app/activity?vault={shared}")),
    "activity-server": Place("Activity", at("/app/activity?vault=server")),
    "people": Place("People", at("/app/people")),
    "people-link": Place("People", pressing("/app/people", "Invite somebody")),
}

OPENED: Mapping[str, Place] = {
    "connections-ending": Place("Connections", opening("/app/connections", "End")),
    "vault-removing": Place("Boathouse", opening("/app/vaults/{shared}", "Remove")),
    "people-changing": Place("People", opening("/app/people", "Change")),
    "keys-renewing": Place("Keys", opening("/app/keys", "Renew")),
}
"""Pages that say what a button will do, before it does it."""

ALL = {**PLACES, **OPENED}
