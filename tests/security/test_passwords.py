"""Passwords and guesses: what is kept of a password, which ones are taken, and how many tries there are."""

import asyncio
import re
import threading
from collections.abc import Iterator

import httpx2
import pytest
from argon2 import extract_parameters

from archivist.app import OWNER
from archivist.domain.access import Scope
from archivist.server import asgi
from archivist.services.passwords import WAITING, Hashing, Passwords, common_passwords
from archivist.settings import Settings
from tests.faces.mcp.conversations import Person as Assistant
from tests.faces.web.browsing_in_process import ANA, BOB, PASSWORD, Hall, Person, an_app
from tests.faces.web.browsing_in_process import ana as ana
from tests.faces.web.browsing_in_process import bare as bare
from tests.faces.web.browsing_in_process import clock as clock
from tests.faces.web.browsing_in_process import hall as hall
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

FLOOR_KIB, FLOOR_TIME = 19 * 1024, 2
STRONG = Hashing(memory_kib=16, time=2, at_once=1)


async def kept(hall: Hall, name: str = ANA) -> str:
    return next(row["password"] for row in await hall.rows("users") if row["name"] == name)


def without_tokens(answer: httpx2.Response) -> tuple[int, str, list[tuple[str, str]]]:
    """All of an answer that somebody could learn from: what is random in every answer is left out."""
    text = re.sub(r'(name="csrf" value=")[^"]+', r"\1", answer.text)
    headers = [(name, value) for name, value in answer.headers.multi_items() if name != "set-cookie"]
    return answer.status_code, text, headers


# What is kept of a password


async def test_sec_001_passwords_are_kept_as_argon2id_strings_above_the_floor_each_with_its_own_salt():
    passwords = Passwords()
    strings = [await passwords.hash(PASSWORD) for _ in range(2)]
    passwords.close()
    found = extract_parameters(strings[0])
    assert all(text.startswith("$argon2id$") for text in strings)
    assert strings[0] != strings[1]
    assert (found.memory_cost, found.time_cost, found.parallelism) == (65536, 3, 1)
    assert (found.memory_cost, found.time_cost) >= (FLOOR_KIB, FLOOR_TIME)


async def test_sec_001_the_table_holds_no_password_but_its_hash(hall):
    await hall.joined()
    assert [row["password"][:10] for row in await hall.rows("users")] == ["$argon2id$"] * 2


async def test_sec_001_a_hash_is_renewed_at_the_next_good_sign_in_when_more_is_asked_for(hall, tmp_path):
    before = await kept(hall)
    app = an_app(tmp_path / "data", hall.clock, STRONG)
    later = Hall(app, asgi(app, Settings(data=tmp_path / "data")), hall.clock)
    await later.browser().sign_in(password="not the password")
    assert await kept(hall) == before
    assert (await later.browser().sign_in()).status_code == 303
    assert extract_parameters(await kept(hall)).memory_cost == STRONG.memory_kib
    assert (await later.browser().sign_in()).status_code == 303
    await app.close()


async def recovered(hall: Hall, password: str) -> None:
    link = await hall.app.accounts.recovery_link(OWNER, ANA)
    await hall.app.accounts.recover(link, password)


async def test_sec_002_two_passwords_that_differ_at_the_ninetieth_character_are_two(hall):
    long = "x1 " * 30 + "abcdefghij"
    await recovered(hall, long)
    assert (await hall.browser().sign_in(password=long[:89] + "?" + long[90:])).status_code == 401
    assert (await hall.browser().sign_in(password=long)).status_code == 303


@pytest.mark.parametrize("typed", [" {} ", "{} ", " {}", "{}\n"])
async def test_sec_002_blanks_around_a_password_are_part_of_it(hall, typed):
    assert (await hall.browser().sign_in(password=typed.format(PASSWORD))).status_code == 401
    await recovered(hall, typed.format(PASSWORD))
    assert (await hall.browser().sign_in(password=typed.format(PASSWORD))).status_code == 303


async def test_sec_002_upper_and_lower_case_are_different(hall):
    assert (await hall.browser().sign_in(password=PASSWORD.upper())).status_code == 401


@pytest.mark.parametrize(("length", "status"), [(257, 401), (1025, 401), (2**20, 413)])
async def test_sec_002_a_password_that_is_too_long_is_refused_without_hashing(hall, length, status):
    before = hall.app.passwords.computed
    assert (await hall.browser().sign_in(password="x" * length)).status_code == status
    assert hall.app.passwords.computed == before


def listed() -> list[str]:
    return sorted(word for word in common_passwords() if len(word) >= 12)[:10]


async def test_sec_003_the_list_of_common_passwords_is_long_and_lies_here():
    assert len(common_passwords()) >= 10_000
    assert len(listed()) == 10


@pytest.mark.parametrize(
    "password", [*listed(), "Archibald2026!", "archivist2026", "12archivist!!", "memorymemory", "1" * 14]
)
async def test_sec_003_a_password_that_others_try_first_is_refused_with_a_reason(bare, password):
    link = await bare.app.accounts.set_up_link(OWNER)
    person = bare.browser()
    await person.get(f"/set-up/{link}")
    fields = {"name": "Archibald", "password": password, "again": password}
    answer = await person.post(f"/set-up/{link}", fields)
    assert answer.status_code == 400
    assert "others try first" in answer.text
    assert await bare.rows("users") == []


async def test_sec_003_it_is_refused_wherever_a_password_is_set(hall, ana):
    link = await hall.app.accounts.recovery_link(OWNER, ANA)
    await ana.get(f"/recovery/{link}")
    weak = listed()[0]
    answers = [await ana.post(f"/recovery/{link}", {"password": weak, "again": weak})]
    invitation = await hall.app.accounts.invite(OWNER)
    fields = {"decision": "new", "name": BOB, "password": weak, "again": weak}
    answers.append(await ana.post(f"/invitation/{invitation}", fields))
    answers.append(await ana.post("/app/account/password", {"current": PASSWORD, "password": weak, "again": weak}))
    assert [(answer.status_code, "others try first" in answer.text) for answer in answers] == [(400, True)] * 3


# Guessing


async def test_sec_004_unknown_disabled_and_wrong_are_told_alike_and_cost_alike(hall):
    await hall.joined(BOB)
    await hall.app.accounts.set_disabled(OWNER, BOB, disabled=True)
    await hall.app.accounts.create(OWNER, "Cyd")
    answers, costs = [], []
    for name in ("Nobody", BOB, "Cyd", ANA):
        before = hall.app.passwords.computed
        answer = await hall.browser().sign_in(name, PASSWORD if name == BOB else "wrong wrong wrong")
        answers.append(without_tokens(answer)[1].replace(name, "NAME"))
        costs.append(hall.app.passwords.computed - before)
        assert answer.status_code == 401
    assert len(set(answers)) == 1
    assert costs == [1, 1, 1, 1]


async def test_sec_004_a_name_that_nobody_has_is_slowed_down_like_one_that_somebody_has(hall):
    for name in ("Nobody", ANA):
        statuses = [(await hall.browser().sign_in(name, "wrong wrong wrong")).status_code for _ in range(6)]
        assert statuses == [401] * 5 + [429]


@pytest.mark.parametrize("kind", ["set-up", "recovery", "invitation"])
async def test_sec_004_links_that_do_not_work_are_told_alike(hall, kind):
    used = await hall.app.accounts.recovery_link(OWNER, ANA)
    await hall.app.accounts.recover(used, "another good password")
    expired = await hall.app.accounts.recovery_link(OWNER, ANA)
    hall.clock.move(minutes=31)
    of_another_kind = await hall.app.accounts.invite(OWNER) if kind != "invitation" else used
    shown = [
        without_tokens(await hall.browser().get(f"/{kind}/{link}"))
        for link in ("x", "avl_" + "A" * 43, used, expired, of_another_kind)
    ]
    assert shown[0][0] == 404
    assert all(one == shown[0] for one in shown)


async def failures(hall: Hall, count: int, address: str = "192.0.2.9") -> list[int]:
    """Statuses of wrong tries, each as soon as it may be made."""
    statuses = []
    for _ in range(count):
        hall.clock.move(seconds=35)
        statuses.append((await hall.browser(address).sign_in(password="wrong wrong wrong")).status_code)
    return statuses


async def test_sec_005_the_eleventh_failure_is_refused_and_a_restart_forgives_nothing(hall, tmp_path):
    assert await failures(hall, 11) == [401] * 10 + [429]
    app = an_app(tmp_path / "data", hall.clock)
    later = Hall(app, asgi(app, Settings(data=tmp_path / "data")), hall.clock)
    answer = await later.browser("192.0.2.9").sign_in()
    await app.close()
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0


async def test_sec_005_further_tries_have_to_wait_ever_longer_before_that(hall):
    browser, waits = hall.browser(), []
    for _ in range(8):
        answer = await browser.sign_in(password="wrong wrong wrong")
        while answer.status_code == 429:
            waits.append(int(answer.headers["retry-after"]))
            hall.clock.move(seconds=waits[-1])
            answer = await browser.sign_in(password="wrong wrong wrong")
    assert waits == [1, 2, 4]


async def test_sec_005_guesses_of_others_lock_out_neither_a_known_browser_nor_another_network(hall, ana):
    known = {name: value for name, value in ana.cookies.items() if "device" in name}
    await failures(hall, 10, ana.address)
    assert (await hall.browser(ana.address).sign_in()).status_code == 429
    at_home = Person(hall.server, ana.address, cookies=known)
    assert (await at_home.sign_in()).status_code == 303
    assert (await hall.browser("198.51.100.7").sign_in()).status_code == 303


async def test_sec_005_the_addresses_of_one_network_are_counted_together(hall):
    statuses = []
    for number in range(11):
        hall.clock.move(seconds=35)
        answer = await hall.browser(f"2001:db8::{number}").sign_in(password="wrong wrong wrong")
        statuses.append(answer.status_code)
    assert statuses == [401] * 10 + [429]


async def test_sec_005_it_is_over_after_a_quarter_of_an_hour(hall):
    await failures(hall, 10)
    hall.clock.move(minutes=15)
    assert (await hall.browser("192.0.2.9").sign_in()).status_code == 303


class Busy:
    """Takes the place of checking a password: says how many are checked at once, and ends none before it is told."""

    def __init__(self) -> None:
        self.free, self.now, self.most, self._lock = threading.Event(), 0, 0, threading.Lock()

    def __call__(self, *_: object) -> bool:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.free.wait(60)
        with self._lock:
            self.now -= 1
        return False


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Busy]:
    busy = Busy()
    monkeypatch.setattr(Passwords, "_is_right", busy)
    yield busy
    busy.free.set()


async def test_sec_006_few_hashes_run_at_once_a_bounded_number_waits_and_others_go_on(bare, clock, tmp_path, busy):
    app = an_app(tmp_path / "data", clock, Hashing(memory_kib=8, time=1, at_once=2))
    server = asgi(app, Settings(data=tmp_path / "data"))
    hall = Hall(app, server, clock)
    await hall.set_up()
    people = [hall.browser(f"192.0.2.{number}") for number in range(WAITING + 8)]
    for person in people:
        await person.get("/sign-in")
    wrong = [{"name": f"n{number}", "password": "wrong wrong wrong"} for number in range(len(people))]
    tries = [asyncio.create_task(one.post("/sign-in", form)) for one, form in zip(people, wrong, strict=True)]

    async def refused() -> bool:
        return sum(one.done() for one in tries) == 8

    await eventually(refused, "those that may not wait are told so")
    assert [one.result().status_code for one in tries if one.done()] == [503] * 8
    async with Assistant.connected(app, server, Scope.READ, Scope.WRITE) as assistant:
        await assistant.store("Others are not held up.")
        assert len(await assistant.ids("held")) == 1
    assert (await hall.browser().get("/health")).status_code == 200
    assert busy.now == 2
    busy.free.set()
    assert sorted([answer.status_code for answer in await asyncio.gather(*tries)]) == [401] * WAITING + [503] * 8
    assert busy.most == 2
    await app.close()
