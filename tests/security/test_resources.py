"""What a token is for: one address of this server, agreed on at both endpoints, and good for nothing else."""

import re
import shutil
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from archivist.domain.access import ALL_SCOPES
from archivist.server import asgi
from archivist.settings import Settings
from archivist.storage.schema_people import tokens
from tests.builders import Clock
from tests.security.signing_in import HERE, READ, WRITE, Answer, Asked, Flow, answered, opened
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow

pytestmark = pytest.mark.anyio

PORT = 8765
VAULT, CODING = f"{HERE}/mcp", f"{HERE}/mcp/coding"


def challenge(answer: Answer) -> dict[str, str]:
    """The parameters of a Bearer challenge, read strictly."""
    assert answer.headers.get_list("www-authenticate") == [answer.headers["www-authenticate"]]
    scheme, _, rest = answer.headers["www-authenticate"].partition(" ")
    assert scheme == "Bearer"
    parts = rest.split(", ")
    assert all(re.fullmatch(r'[a-z_]+="[^"\\]*"', part) for part in parts), rest
    pairs = [part.rstrip('"').split('="', 1) for part in parts]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@pytest.mark.parametrize("scopes", [[READ], [READ, WRITE]])
async def test_sec_071_a_token_whose_record_is_for_something_else_opens_nothing(flow, scopes):
    token = (await flow.tokens(*scopes))["access_token"]
    assert await flow.lets_in(token)
    await flow.execute(sa.update(tokens).values(toolset="coding"))
    answer = await flow.tool(token)
    assert (answer.status_code, challenge(answer)["error"]) == (401, "invalid_token")
    assert await flow.lets_in(token, "/mcp/coding")


async def test_sec_071_each_address_takes_the_tokens_that_were_made_for_it(flow):
    here = (await flow.tokens(READ))["access_token"]
    there = (await flow.tokens(READ, resource=CODING))["access_token"]
    for token, path, right in (
        (here, "/mcp", True), (here, "/mcp/", True), (here, "/mcp/coding", False), (here, "/mcp/coding/", False),
        (there, "/mcp", False), (there, "/mcp/", False), (there, "/mcp/coding", True), (there, "/mcp/coding/", True),
    ):  # fmt: skip
        assert await flow.lets_in(token, path) is right


# (what an app names, the tool set that it means; None is refused)
RESOURCES: list[tuple[Any, str | None]] = [
    (VAULT, "vault"),
    (VAULT + "/", "vault"),
    (HERE, "vault"),
    (HERE + "/", "vault"),
    (VAULT.replace("http", "HTTP"), "vault"),
    (VAULT.replace("127.0.0.1", "localhost"), "vault"),
    (VAULT.replace("127.0.0.1", "LocalHost"), "vault"),
    (VAULT.replace("127.0.0.1", "[::1]"), "vault"),
    (CODING, "coding"),
    (CODING + "/", "coding"),
    (VAULT + "//", None),
    (VAULT + "/x", None),
    (VAULT.replace("mcp", "MCP"), None),
    (VAULT.replace("mcp", "%6dcp"), None),
    (VAULT + "#", None),
    (VAULT + "#x", None),
    (VAULT + "?x=1", None),
    (VAULT + "?", None),
    (VAULT.replace("8765", "8766"), None),
    (VAULT.replace("8765", "08765"), None),
    (VAULT.replace(":8765", ""), None),
    (VAULT.replace("http", "https"), None),
    (VAULT.replace("127.0.0.1", "127.0.0.1.evil.example"), None),
    (VAULT.replace("127.0.0.1", "x@127.0.0.1"), None),
    (VAULT.replace("127.0.0.1", "127.0.0.2"), None),
    (VAULT.replace("/mcp", "\\mcp"), None),
    (VAULT.replace("/mcp", "/x/../mcp"), None),
    ("https://elsewhere.example/mcp", None),
    ("mcp", None),
    ("/mcp", None),
    (" " + VAULT, None),
    (VAULT + "\n", None),
    ("é", None),
    ([VAULT, CODING], None),
    ([VAULT, VAULT + "/"], None),
    ([VAULT, "https://elsewhere.example"], None),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    async with opened(tmp_path_factory.mktemp("shared") / "data", Clock()) as flow:
        yield flow


@pytest.mark.parametrize(("named", "toolset"), RESOURCES, ids=range(len(RESOURCES)))
async def test_sec_072_only_our_own_addresses_are_taken_at_both_endpoints(shared, named, toolset):
    asked = await shared.ask(resource=named)
    if toolset is None:
        assert answered(asked)["error"] == "invalid_target"
    else:
        assert asked.status_code == 200
    code = await shared.code(resource=CODING if toolset == "coding" else VAULT)
    answer = await shared.exchange(code, resource=named)
    if toolset is None:
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_target")
        answer = await shared.exchange(code)
    assert await shared.lets_in(answer.json()["access_token"], "/mcp/coding" if toolset == "coding" else "/mcp")


PUBLIC = "https://memory.example.org"


@pytest.mark.parametrize(
    ("named", "right"),
    [
        (f"{PUBLIC}/mcp", True), (f"{PUBLIC}/mcp/", True), (PUBLIC, True), ("https://MEMORY.example.org/mcp", True),
        (f"{PUBLIC}:443/mcp", False), (VAULT, False), (HERE, False), ("http://memory.example.org/mcp", False),
    ],
)  # fmt: skip
async def test_sec_072_a_public_address_is_the_only_one_there_is(tmp_path, clock, named, right):
    async with opened(tmp_path / "data", clock, public_url=PUBLIC) as flow:
        assert (await flow.ask(resource=named)).status_code == (200 if right else 303)


async def test_sec_073_an_app_that_names_nothing_gets_the_memory_tools(flow):
    token = (await flow.tokens(READ))["access_token"]
    assert [row["toolset"] for row in await flow.rows("tokens")] == ["vault", "vault"]
    assert (await flow.lets_in(token), await flow.lets_in(token, "/mcp/coding")) == (True, False)


async def test_sec_073_a_strict_server_refuses_an_app_that_names_nothing(tmp_path, clock):
    async with opened(tmp_path / "data", clock, require_resource=True) as flow:
        assert answered(await flow.ask())["error"] == "invalid_target"
        assert answered(await flow.ask(resource=""))["error"] == "invalid_target"
        token = (await flow.tokens(READ, resource=VAULT))["access_token"]
        assert await flow.lets_in(token)


@pytest.mark.parametrize("asked", [None, VAULT, HERE, CODING])
async def test_sec_074_the_exchange_must_name_what_was_allowed_or_nothing(flow, asked):
    code = await flow.code(resource=asked)
    mine, others = (CODING, VAULT) if asked == CODING else (VAULT, CODING)
    for wrong in (others, "https://elsewhere.example/mcp"):
        answer = await flow.exchange(code, resource=wrong)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_target")
    right = await flow.exchange(code, resource=mine)
    assert right.status_code == 200
    refreshed = await flow.refresh(right.json()["refresh_token"], resource=others)
    assert refreshed.json()["error"] == "invalid_target"


async def secrets_of(flow: Flow) -> dict[str, str]:
    """One live secret of each kind that can be shown to a server."""
    tokens = await flow.tokens(READ, WRITE)
    who = replace(await flow.app.local(), scopes=ALL_SCOPES)
    _, key = await flow.app.keys.create(who, name="k", scopes=ALL_SCOPES)
    transaction = Asked((await flow.ask()).text).one("transaction")
    return {
        "access": tokens["access_token"],
        "refresh": tokens["refresh_token"],
        "code": await flow.code(),
        "key": key,
        "session": flow.person.cookies["__Host-archivist-session"],
        "transaction": transaction,
    }


async def test_sec_075_what_another_installation_made_is_worth_nothing_here(tmp_path, clock):
    """Both begin as copies of one folder, the server's own secret included."""
    async with opened(tmp_path / "one", clock) as image:
        await image.app.close()
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        await image.restart()
        async with opened(tmp_path / "two", clock) as other:
            other.client, image.person = image.client, image.hall.browser()
            await image.person.sign_in()
            given = await secrets_of(image)
            for token in (given["access"], given["key"], given["refresh"]):
                assert not await other.lets_in(token)
            assert (await other.exchange(given["code"])).status_code == 400
            assert (await other.refresh(given["refresh"])).status_code == 400
            visitor = other.hall.browser()
            visitor.cookies["__Host-archivist-session"] = given["session"]
            assert not await visitor.is_in()
            answer = await other.decide(await other.ask(), transaction=given["transaction"])
            assert answer.status_code == 400


async def test_sec_076_a_credential_is_passed_on_to_nobody_and_logged_nowhere(flow, caplog, monkeypatch):
    caplog.set_level("DEBUG")
    passed: list[Any] = []

    class Recording:
        """An embedder that keeps what it is given."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(flow.app.embedder, name)
            if not callable(found):
                return found

            def call(*args: Any, **more: Any) -> Any:
                passed.append((args, more))
                return found(*args, **more)

            return call

    for service in (flow.app.memories, flow.app.search):
        object.__setattr__(service, "embedder", Recording())
    flow.hall.server = asgi(flow.app, Settings(data=flow.data))
    tokens = await flow.tokens(READ, WRITE)
    token = tokens["access_token"]
    assert (await flow.tool(token, "store_memory", content="The boathouse is green.")).status_code == 200
    assert (await flow.tool(token, "search_memories", query="boathouse")).status_code == 200
    await flow.refresh(tokens["refresh_token"])
    await flow.revoke(tokens["refresh_token"])
    assert passed
    logged = " ".join(record.getMessage() for record in caplog.records)
    for secret in (token, tokens["refresh_token"]):
        assert secret not in str(passed) + logged
        files = [path for path in flow.data.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
        assert files == []
