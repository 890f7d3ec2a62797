"""What signing in costs everybody else: the check of a token on each request, and the status while others sign in."""

import asyncio
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from archivist.app import OWNER, App, build
from archivist.domain import secrets
from archivist.domain.access import Scope
from archivist.domain.clients import Client, client_digest
from archivist.domain.grants import AuthorizationCode, Grant, access_token
from archivist.domain.ids import VaultId
from archivist.services.connections import Which
from archivist.settings import Settings
from archivist.storage import grants, tokens
from archivist.storage.people import clients
from benchmarks import servers
from benchmarks.report import Row
from benchmarks.servers import Connection
from benchmarks.signing_in import PASSWORD, PEOPLE

MOST_CHECK = 0.3
LEAST_RATE = 60.0
_CHECKS = 2_000
_ROUNDS = 5
_SECONDS = 3.0


async def measure(_data: Path, cache: Path) -> list[Row]:
    """Milliseconds of processor time for a check; the rate of `memory_status` beside sign-ins, in percent of idle."""
    folder = cache / "bench" / "sign-in"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    app = build(Settings(data=folder, embedder="none"))
    await app.start()
    try:
        token = await _token(app)
        warm, cold = await _checks(app, token), await _cold_checks(app, token)
        await _people(app)
    finally:
        await app.close()
    check = Row("token check", {"cpu": warm, "cpu after a change": cold}, most={"cpu": MOST_CHECK}, digits=3)
    return [check, _beside_sign_ins(folder, cache)]


async def _checks(app: App, token: str) -> float:
    """Of a token that was seen before, as nearly all are."""
    return await _each(app, token, change=False)


async def _cold_checks(app: App, token: str) -> float:
    """Right after something changed in the control database, so that everything is looked up anew."""
    return await _each(app, token, change=True)


async def _each(app: App, token: str, *, change: bool) -> float:
    spent = []
    for _ in range(50 if change else _CHECKS):
        if change:
            await app.connections.end_all(OWNER, Which(client="nobody's"))
        before = time.process_time()
        await app.entering.authenticate(token, "vault")
        spent.append((time.process_time() - before) * 1000)
    return median(spent)


async def _token(app: App) -> str:
    """An access token with all that stands behind one."""
    link = await app.accounts.set_up_link(OWNER)
    await app.accounts.set_up(link or "", "owner", PASSWORD)
    vault = (await app.vaults.personal(OWNER)).id
    now, control = app.connections.now(), await app.stores.control()
    client = Client(
        digest=client_digest("bench"), client_id="bench", kind="registered", name="bench",
        redirect_uris=("http://127.0.0.1/",), secret="", method="none", created=now, approved=now,
    )  # fmt: skip
    grant = Grant(
        vault=vault, id=app.connections.new_id(), user=OWNER.user, client=client.digest, client_name="bench",
        host="127.0.0.1", shown="", toolset="vault", scopes=frozenset(Scope), created=now, approved=now,
    )  # fmt: skip
    secret = secrets.new("access")
    token = access_token(_code(grant, vault), secrets.digest(secret), frozenset(Scope), now)
    await control.apply([clients.insert(client), grants.insert(grant), tokens.insert(token)])
    return secret


def _code(grant: Grant, vault: VaultId) -> AuthorizationCode:
    return AuthorizationCode(
        vault=vault, digest="", grant=grant.id, family=grant.id, client=grant.client, redirect_uri="", challenge="",
        toolset="vault", scopes=grant.scopes, session="", created=grant.created, expires=grant.created,
    )  # fmt: skip


async def _people(app: App) -> None:
    for number in range(PEOPLE):
        _, link = await app.accounts.create(OWNER, f"person-{number}")
        await app.accounts.join(link, "", PASSWORD)


def _beside_sign_ins(folder: Path, cache: Path) -> Row:
    """Idle and busy in turns, so that both meet the same machine."""
    key = servers.new_key(folder, cache)
    command = [*servers.ARCHIVIST, "serve", "--data", str(folder), "--port", "0"]
    idle, busy, signed = [], [], []
    with servers.started(command, folder / "serve.log", cache) as (_pid, port):
        _rate(port, key)
        for _ in range(_ROUNDS):
            idle.append(_rate(port, key))
            crowd = subprocess.Popen([sys.executable, "-m", "benchmarks.signing_in", str(port)], stdout=subprocess.PIPE)
            assert crowd.stdout is not None
            crowd.stdout.readline()  # all of them have begun
            busy.append(_rate(port, key))
            crowd.terminate()
            signed.append(float(crowd.communicate()[0].split()[-1]))
    percent = median(b / i * 100 for b, i in zip(busy, idle, strict=True))
    values = {"idle /s": median(idle), "busy /s": median(busy), "percent": percent, "sign-ins": median(signed)}
    return Row("status beside sign-ins", values, least={"percent": LEAST_RATE}, digits=1)


def _rate(port: int, key: str) -> float:
    """Answers to one client in a second."""
    with Connection(port, key) as connection:
        message, count, begun = connection.spelled("memory_status", {}), 0, time.monotonic()
        while (spent := time.monotonic() - begun) < _SECONDS:
            connection.exchange(message)
            count += 1
    return count / spent


if __name__ == "__main__":
    for one in asyncio.run(measure(Path(), Path(sys.argv[1]))):
        print(one.name, one.values, one.misses)
