"""Attempts to break the door: what changes while it decides, what strangers can make it keep, and a full disk."""

import asyncio
from dataclasses import astuple, replace
from datetime import timedelta

import pytest

from archivist.app import OWNER
from archivist.domain.access import Scope
from archivist.domain.errors import ArchivistError, NotFound, Unauthenticated, Unavailable
from archivist.domain.rejections import Rejected
from archivist.services.connections import Which
from archivist.services.passwords import Hashing, Passwords
from archivist.services.sign_in import Visitor
from archivist.services.throttling import HARD
from archivist.workers.tidying import Tidying
from tests.faces.web.browsing_in_process import ANA, BOB, PASSWORD
from tests.faces.web.browsing_in_process import ana as ana
from tests.faces.web.browsing_in_process import bare as bare
from tests.faces.web.browsing_in_process import hall as hall
from tests.people import joined, visiting
from tests.security.meanwhile import Between, Checking
from tests.security.signing_in import LOOPBACK, VERIFIER
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow

pytestmark = pytest.mark.anyio

NEW_PASSWORD = "another good password"
HERE = Visitor(address="198.51.100.9")


def interrupted(app, act):
    """The door, where something happens while a password is checked."""
    return replace(app.sign_in, passwords=Checking(app.passwords, act))


async def opens(app, entered):
    """What a session lets in: `full`, `half`, or nothing."""
    try:
        session, _, _ = await app.sign_in.session(entered.secret)
    except Unauthenticated:
        return ""
    return session.stage


# What changes while somebody signs in


async def test_sec_010_a_password_changed_while_it_is_checked_opens_nothing(hall):
    link = await hall.app.accounts.recovery_link(OWNER, ANA)
    door = interrupted(hall.app, lambda: hall.app.accounts.recover(link, NEW_PASSWORD))
    with pytest.raises(Unauthenticated):
        await door.password(HERE, ANA, PASSWORD)
    assert await hall.rows("sessions") == []


async def test_sec_010_somebody_disabled_while_they_sign_in_is_not_in_once_they_are_enabled(hall):
    await hall.joined()

    async def shut_out_and_let_in():
        for disabled in (True, False):
            await hall.app.accounts.set_disabled(OWNER, BOB, disabled=disabled)

    async def shut_out():
        await hall.app.accounts.set_disabled(OWNER, BOB, disabled=True)

    with pytest.raises(Unauthenticated):
        await interrupted(hall.app, shut_out).password(HERE, BOB, PASSWORD)
    await hall.app.accounts.set_disabled(OWNER, BOB, disabled=False)
    bob = await hall.user(BOB)
    assert [row for row in await hall.rows("sessions") if row["user"] == bob.id] == []


async def test_sec_019_a_second_factor_set_while_somebody_signs_in_is_asked_for(hall, ana):
    door = interrupted(hall.app, lambda: hall.with_factor(ana))
    with pytest.raises(Unauthenticated):
        await door.password(HERE, ANA, PASSWORD)
    entered = await hall.app.sign_in.password(HERE, ANA, PASSWORD)
    assert await opens(hall.app, entered) == "half"


async def test_sec_019_nor_does_a_link_or_an_outside_provider_go_round_one_that_is_being_set(hall, ana):
    user = await hall.user()
    for way in ("outside", "by_link"):
        door = replace(hall.app.sign_in, stores=Between(hall.app.stores, lambda: hall.with_factor(ana)))
        with pytest.raises(Unauthenticated):
            await getattr(door, way)(user.id, HERE)
        await ana.get("/app/account")
        assert (await ana.post("/app/two-factor/off")).status_code == 303


async def test_sec_001_a_hash_that_is_renewed_does_not_undo_a_change_of_the_password(hall):
    costlier = Passwords(Hashing(memory_kib=16, time=1, at_once=1))
    link = await hall.app.accounts.recovery_link(OWNER, ANA)
    checking = Checking(costlier, lambda: hall.app.accounts.recover(link, NEW_PASSWORD))
    with pytest.raises(Unauthenticated):
        await replace(hall.app.sign_in, passwords=checking).password(HERE, ANA, PASSWORD)
    costlier.close()
    assert await opens(hall.app, await hall.app.sign_in.password(HERE, ANA, NEW_PASSWORD)) == "full"


async def test_sec_018_a_password_that_is_changed_during_a_recovery_does_not_win_over_it(hall):
    who = await visiting(hall.app, (await hall.user()).id)
    link = await hall.app.accounts.recovery_link(OWNER, ANA)
    checking = Checking(hall.app.passwords, lambda: hall.app.accounts.recover(link, NEW_PASSWORD))
    with pytest.raises(Unauthenticated):
        await replace(hall.app.accounts, passwords=checking).change_password(who, PASSWORD, "the thief chose this")
    assert await opens(hall.app, await hall.app.sign_in.password(HERE, ANA, NEW_PASSWORD)) == "full"


async def test_sec_130_a_sign_in_goes_on_while_secrets_are_exchanged(hall, ana):
    await hall.with_factor(ana)
    door = interrupted(hall.app, lambda: hall.app.sealing.rotate(OWNER))
    assert await opens(hall.app, await door.password(HERE, ANA, PASSWORD)) == "half"


# Guesses, and who is counted


def wrong_code(hall, totp):
    """A code that no clock near this one shows."""
    near = {totp.at(int(hall.clock.now.timestamp()) + 30 * step) for step in range(-40, 41)}
    return next(code for code in (f"{number:06}" for number in range(200)) if code not in near)


async def test_sec_019_guesses_at_a_second_factor_are_counted_for_its_person_wherever_it_is_asked_for(hall, ana):
    totp, _ = await hall.with_factor(ana)
    who = await visiting(hall.app, (await hall.user()).id)
    session = await hall.app.sign_in.second_factor(*await waiting(hall, totp))
    _, who, _ = await hall.app.sign_in.session(session.secret)
    wrong, said = wrong_code(hall, totp), []
    for number in range(HARD + 2):
        hall.clock.move(seconds=20)
        try:
            elsewhere = Visitor(address=f"203.0.113.{number}")
            await hall.app.sign_in.confirm(who, session.session, elsewhere, PASSWORD, wrong)
        except ArchivistError as error:
            said.append(error.code)
    assert said == ["unauthenticated"] * HARD + ["rate_limited"] * 2


async def waiting(hall, totp):
    """A session that waits for its second factor, where it waits, and the code."""
    hall.clock.move(seconds=60)
    entered = await hall.app.sign_in.password(HERE, ANA, PASSWORD)
    return entered.session, HERE, hall.code(totp)


async def test_sec_232_a_proof_that_was_wrong_stands_in_the_trail(hall, ana):
    totp, _ = await hall.with_factor(ana)
    hall.clock.move(minutes=11)
    await ana.get("/app/people")
    for proof in ({"password": "not the password"}, {"password": PASSWORD, "code": wrong_code(hall, totp)}):
        assert (await ana.post("/app/people/invitations", proof)).status_code == 401
    refusals = [row for row in await hall.rows("audit") if row["action"] == "confirm"]
    assert [row["outcome"] for row in refusals] == ["refused", "refused"]
    assert {row["user"] for row in refusals} == {(await hall.user()).id}


async def test_sec_006_who_is_sent_away_because_others_wait_has_not_failed(hall):
    class Full(Checking):
        async def verify(self, kept, password):
            raise Unavailable("too many people sign in at this moment; try again in some seconds")

    door = replace(hall.app.sign_in, passwords=Full(hall.app.passwords, None))
    for _ in range(HARD + 1):
        with pytest.raises(Unavailable):
            await door.password(HERE, ANA, PASSWORD)
    assert await hall.rows("attempts") == []
    assert await opens(hall.app, await hall.app.sign_in.password(HERE, ANA, PASSWORD)) == "full"


async def test_sec_005_failures_of_a_time_that_never_was_lock_nobody_out(hall, clock):
    """The clock ran years ahead, and was put right."""
    clock.move(days=800)
    for _ in range(HARD):
        clock.move(seconds=20)
        with pytest.raises(Unauthenticated):
            await hall.app.sign_in.password(HERE, ANA, "not the password")
    clock.move(days=-800)
    assert await opens(hall.app, await hall.app.sign_in.password(HERE, ANA, PASSWORD)) == "full"
    await Tidying(hall.app.stores, clock).tidy()
    assert await hall.rows("attempts") == []


async def test_sec_005_a_clock_that_is_put_back_a_little_forgives_nothing(hall, clock):
    for _ in range(HARD):
        clock.move(seconds=20)
        with pytest.raises(Unauthenticated):
            await hall.app.sign_in.password(HERE, ANA, "not the password")
    clock.move(minutes=-10)
    with pytest.raises(ArchivistError, match="too many tries"):
        await hall.app.sign_in.password(HERE, ANA, PASSWORD)


async def test_sec_152_made_up_apps_leave_no_more_rows_than_one(flow):
    before = len(await flow.rows("attempts"))
    answers = [await flow.refresh("x", client_id=f"app-nobody-{number}") for number in range(100)]
    assert answers[0].status_code == 401
    assert answers[-1].status_code == 429
    assert len(await flow.rows("attempts")) - before <= 30
    tokens = await flow.tokens()
    assert (await flow.refresh(tokens["refresh_token"])).status_code == 200, "known apps are not held up by it"


# What changes while an app is asked about


async def asked(flow, who, **changes):
    """A question that was looked at for long enough."""
    given = {
        "response_type": ["code"],
        "client_id": [flow.client],
        "redirect_uri": [LOOPBACK],
        "code_challenge": ["c" * 43],
        "code_challenge_method": ["S256"],
    }
    pending = await flow.app.authorizations.begin(who, {**given, **changes})
    flow.clock.move(seconds=1)
    return pending.secret


async def visitor(flow, name=ANA):
    return await visiting(flow.app, (await flow.hall.user(name)).id)


def asking(flow, act):
    """The authorization endpoint's services, where something happens right before a consent is written."""
    return replace(flow.app.authorizations, stores=Between(flow.app.stores, act))


async def shared(flow):
    """Ana in a vault that others can join, and Bob in a browser."""
    await flow.hall.joined()
    await flow.vault("shared")
    return await flow.principal("shared"), await visitor(flow, BOB)


async def test_sec_137_an_app_blocked_at_the_moment_of_consent_gets_no_connection_also_not_later(flow):
    who, vault = await visitor(flow), (await flow.principal()).vault
    secret = await asked(flow, who)

    async def block():
        await flow.app.clients.set_blocked(OWNER, flow.client, blocked=True)

    with pytest.raises(NotFound):
        await asking(flow, block).allow(who, secret, vault, frozenset({Scope.READ}))
    await flow.app.clients.set_blocked(OWNER, flow.client, blocked=False)
    assert await flow.app.connections.everybody(OWNER) == []


async def test_sec_134_who_is_removed_at_the_moment_of_consent_gets_no_connection_also_not_later(flow):
    owner, bob = await shared(flow)
    await joined(flow.app, owner, bob, owner.vault, "member")
    secret = await asked(flow, bob)
    door = asking(flow, lambda: flow.app.members.remove(owner, owner.vault, bob.user))
    with pytest.raises(NotFound):
        await door.allow(bob, secret, owner.vault, frozenset({Scope.READ}))
    await joined(flow.app, owner, bob, owner.vault, "viewer")
    assert await flow.app.connections.everybody(OWNER, bob.user) == []


async def test_sec_044_a_role_that_shrinks_at_the_moment_of_consent_counts(flow):
    owner, bob = await shared(flow)
    await joined(flow.app, owner, bob, owner.vault, "member")
    secret = await asked(flow, bob)
    door = asking(flow, lambda: flow.app.members.set_role(owner, owner.vault, bob.user, "viewer"))
    with pytest.raises(ArchivistError, match="as viewer"):
        await door.allow(bob, secret, owner.vault, frozenset({Scope.WRITE}))
    assert await flow.app.connections.everybody(OWNER, bob.user) == []


async def test_two_windows_that_allow_the_same_app_at_once_make_one_connection(flow):
    who, vault = await visitor(flow), (await flow.principal()).vault
    first, second = await asked(flow, who), await asked(flow, who)
    read = frozenset({Scope.READ})
    door = asking(flow, lambda: flow.app.authorizations.allow(who, first, vault, read))
    await door.allow(who, second, vault, read)
    assert len(await flow.app.connections.everybody(OWNER)) == 1


async def test_sec_036_of_two_posts_of_one_consent_at_once_one_is_a_consent(flow):
    who, vault = await visitor(flow), (await flow.principal()).vault
    secret, read = await asked(flow, who), frozenset({Scope.READ})
    allow = flow.app.authorizations.allow
    done = await asyncio.gather(*(allow(who, secret, vault, read) for _ in range(8)), return_exceptions=True)
    assert len([one for one in done if not isinstance(one, Exception)]) == 1
    assert {type(one) for one in done if isinstance(one, Exception)} == {NotFound}
    assert len(await flow.rows("codes")) == 1


async def test_sec_152_open_questions_of_one_browser_are_few(flow):
    who = await visitor(flow)
    other = await visitor(flow)
    kept = await asked(flow, other)
    secrets = [await asked(flow, who) for _ in range(60)]
    assert len(await flow.rows("transactions")) <= 33
    vault = (await flow.principal()).vault
    with pytest.raises(NotFound):
        await flow.app.authorizations.allow(who, secrets[0], vault, frozenset({Scope.READ}))
    await flow.app.authorizations.allow(who, secrets[-1], vault, frozenset({Scope.READ}))
    await flow.app.authorizations.allow(other, kept, vault, frozenset({Scope.READ}))


# What is ended, while more of it is made


async def a_consent(flow):
    """A connection that comes into being when it is awaited, and its code."""
    who, vault = await visitor(flow), (await flow.principal()).vault
    secret = await asked(flow, who)

    async def allow():
        await flow.app.authorizations.allow(who, secret, vault, frozenset({Scope.READ}))

    return allow


async def test_sec_137_blocking_an_app_ends_also_what_is_allowed_at_that_moment(flow):
    clients = replace(flow.app.clients, stores=Between(flow.app.stores, await a_consent(flow)))
    await clients.set_blocked(OWNER, flow.client, blocked=True)
    await flow.app.clients.set_blocked(OWNER, flow.client, blocked=False)
    assert await flow.app.connections.everybody(OWNER) == []


async def test_blocking_an_app_waits_for_nobody_who_ends_a_connection_of_it_at_that_moment(flow):
    await flow.tokens()
    [connection] = await flow.app.connections.everybody(OWNER)
    act = Between(flow.app.stores, lambda: flow.app.connections.cut(OWNER, connection.grant.id))
    await replace(flow.app.clients, stores=act).set_blocked(OWNER, flow.client, blocked=True)
    assert [row["blocked"] is None for row in await flow.rows("clients")] == [False]


async def test_sec_132_the_kill_switch_also_ends_what_is_made_while_it_is_pressed(flow):
    await flow.tokens()
    connections = replace(flow.app.connections, stores=Between(flow.app.stores, await a_consent(await flow.another())))
    ended = await connections.end_all(OWNER, Which())
    assert (ended.connections, await flow.app.connections.everybody(OWNER)) == (2, [])
    assert sum(row["count"] for row in await flow.rows("audit") if row["action"] == "end all") == sum(astuple(ended))


async def test_sec_132_nothing_that_was_ended_leaves_a_link_behind(flow):
    await flow.hall.joined()
    bob = await visitor(flow, BOB)
    bob = replace(bob, administrator=True)
    made = [await flow.app.accounts.invite(bob), await flow.app.accounts.recovery_link(bob, ANA)]
    others = await flow.app.accounts.invite(OWNER)
    await flow.app.connections.end_all(OWNER, Which(user=bob.user))
    for link in made:
        assert (await flow.hall.browser().get(f"/invitation/{link}")).status_code == 404
        assert (await flow.hall.browser().get(f"/recovery/{link}")).status_code == 404
    assert (await flow.hall.browser().get(f"/invitation/{others}")).status_code == 200


async def test_sec_010_who_is_disabled_has_no_way_back_by_links_that_they_made(hall):
    """An administrator who is shut out must not come back as somebody else."""
    await hall.joined()
    bob = replace(await visiting(hall.app, (await hall.user(BOB)).id), administrator=True)
    links = {
        "invitation": await hall.app.accounts.invite(bob),
        "recovery": await hall.app.accounts.recovery_link(bob, ANA),
    }
    mine = await hall.app.accounts.recovery_link(OWNER, BOB)
    await hall.app.accounts.set_disabled(OWNER, BOB, disabled=True)
    await hall.app.accounts.set_disabled(OWNER, BOB, disabled=False)
    for kind, link in {**links, "recovery/": mine}.items():
        assert (await hall.browser().get(f"/{kind.strip('/')}/{link}")).status_code == 404, kind


# A disk that takes nothing more


@pytest.fixture
async def full(flow):
    """A server in use, whose control database can be read and takes nothing more."""
    await flow.person.get("/app/account")
    control = await flow.app.stores.control()

    async def apply(_batch):
        raise Unavailable("the disk is full; free some space, then try again")

    control.apply = apply
    return flow


@pytest.mark.parametrize("path", ["/", "/sign-in", "/app/account", "/app/connections.json", "/app/keys", "/app/people"])
async def test_sec_252_pages_that_only_show_something_go_on(full, path):
    full.clock.move(minutes=5)  # a session says that it was used, now and then
    assert (await full.person.get(path)).status_code in (200, 303)


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/app/account/name", {"name": "Another"}),
        ("/app/vaults", {"name": "Another", "kind": "project"}),
        ("/app/people/invitations", {}),
        ("/app/sessions/end-others", {}),
        ("/app/account/password", {"current": PASSWORD, "password": NEW_PASSWORD, "again": NEW_PASSWORD}),
        ("/app/two-factor/off", {}),
        ("/sign-out", {}),
        ("/sign-in", {"name": ANA, "password": PASSWORD}),
    ],
)
async def test_sec_252_what_would_change_something_is_answered_by_a_page_that_says_so(full, path, form):
    full.clock.move(minutes=5)
    person = full.person
    if path == "/sign-in":
        person = full.hall.browser()
        await person.get(path)
    answer = await person.post(path, form, accept="text/html")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")


async def test_sec_252_nor_is_an_app_half_let_in(full):
    answers = [await full.ask(), await full.register(redirect_uris=[LOOPBACK]), await full.exchange("avc_" + "A" * 43)]
    assert [answer.status_code for answer in answers] == [503, 503, 503]
    assert {answer.json()["error"] for answer in answers[1:]} == {"temporarily_unavailable"}
    assert await full.rows("transactions") == []
    assert "location" not in answers[0].headers


async def test_sec_232_a_try_that_failed_stands_in_the_trail_and_changes_nothing(hall):
    before = await hall.head()
    assert (await hall.browser().sign_in("Nobody")).status_code == 401
    assert await hall.head() == before
    assert [row["outcome"] for row in await hall.rows("audit")][-1] == "refused"


async def test_sec_152_strangers_with_made_up_credentials_leave_few_lines_in_the_trail(flow):
    before = len(await flow.rows("audit"))
    for _ in range(50):
        assert not await flow.lets_in("ava_" + "A" * 43)
        await flow.request("GET", "/v1/keys", headers={"authorization": "Bearer mk_nonsense"})
        await flow.app.counting.flush()
        flow.clock.move(seconds=1)
    assert len(await flow.rows("audit")) - before == 2


# Keys


async def test_sec_128_a_key_that_was_ended_by_its_renewal_does_not_come_back_by_another_one(flow):
    me = await flow.principal()
    old, shown = await flow.app.keys.create(me, name="", scopes=frozenset({Scope.READ}))
    act = Between(flow.app.stores, lambda: flow.app.keys.rotate(me, old.id, timedelta(0)))
    with pytest.raises(NotFound):
        await replace(flow.app.keys, stores=act).rotate(me, old.id)
    assert not await flow.lets_in(shown)
    assert len(await flow.app.keys.list(me)) == 2


async def test_sec_136_a_code_exchanged_at_the_moment_of_a_sign_off_gives_nothing_that_comes_back(flow):
    first, code = await flow.tokens(), await flow.code()
    act = Between(flow.app.stores, lambda: flow.revoke(first["refresh_token"]))
    client = await flow.app.clients.known(flow.client)
    with pytest.raises(Rejected):
        await replace(flow.app.tokens, stores=act).exchange(
            client, code=code, verifier=VERIFIER, redirect_uri=LOOPBACK, resources=[]
        )
    await flow.code()
    assert len(await flow.rows("grants")) == 1, "the connection goes on"
    assert [row["ended"] is None for row in await flow.rows("tokens")] == [False, False]


async def test_sec_005_a_browser_is_known_for_as_long_as_its_cookie_lasts(hall, clock):
    entered = await hall.app.sign_in.password(HERE, ANA, PASSWORD)
    there = [row["created"] for row in await hall.rows("devices")]
    clock.move(days=179)
    await Tidying(hall.app.stores, clock).tidy()
    assert [row["created"] for row in await hall.rows("devices")] == there
    clock.move(days=2)
    await Tidying(hall.app.stores, clock).tidy()
    assert (entered.device[:4], await hall.rows("devices")) == ("avd_", [])
