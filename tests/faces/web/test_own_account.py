"""`/app/account` and the second step: what somebody changes about their own way in."""

import re

import pytest

from tests.faces.web.browsing_in_process import ANA, PASSWORD

pytestmark = pytest.mark.anyio

NEW = "another good password"


async def test_the_page_shows_the_name_the_second_step_and_the_browsers(hall, ana):
    page = await ana.shown("/app/account")
    assert 'value="Ana"' in page
    assert "Off. With it" in page
    assert "Firefox on Linux" in page
    assert "this one" in page
    assert "Sign in with" not in page


async def test_a_new_name_is_the_one_to_sign_in_with(hall, ana):
    assert (await ana.post("/app/account/name", {"name": " Anaïs "})).status_code == 303
    assert "<bdi>Anaïs</bdi>" in await ana.shown("/app/account")
    assert (await hall.browser().sign_in("anaïs")).status_code == 303
    assert (await hall.browser().sign_in(ANA)).status_code == 401


async def test_a_name_that_cannot_be_is_told_beside_the_field(hall, ana):
    answer = await ana.post("/app/account/name", {"name": "x" * 101})
    assert answer.status_code == 400
    assert 'id="f-name-error"' in answer.text


async def test_a_new_password_counts_at_once_and_the_page_says_so(hall, ana):
    answer = await ana.post("/app/account/password", {"current": PASSWORD, "password": NEW, "again": NEW})
    assert answer.status_code == 200
    assert "The password is changed" in answer.text
    assert await ana.is_in()
    assert (await hall.browser().sign_in()).status_code == 401
    assert (await hall.browser().sign_in(password=NEW)).status_code == 303


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"current": "wrong wrong wrong", "password": NEW, "again": NEW}, "current"),
        ({"current": PASSWORD, "password": NEW, "again": f"{NEW}x"}, "again"),
        ({"current": PASSWORD, "password": "short", "again": "short"}, "password"),
    ],
)
async def test_what_is_wrong_with_a_new_password_is_told_beside_its_field(hall, ana, fields, field):
    answer = await ana.post("/app/account/password", fields)
    assert answer.status_code in (400, 401)
    assert f'id="f-{field}-error"' in answer.text
    assert await ana.is_in()


async def test_guessing_the_present_password_is_slowed_down_like_signing_in(hall, ana):
    fields = {"current": "wrong wrong wrong", "password": NEW, "again": NEW}
    statuses = [(await ana.post("/app/account/password", fields)).status_code for _ in range(6)]
    assert statuses == [401] * 5 + [429]


async def test_looking_at_what_a_form_posts_to_leads_to_its_page(hall, ana):
    for path in ("/app/account/name", "/app/account/password", "/app/two-factor/off", "/app/sessions/x/end"):
        assert (await ana.get(path)).headers["location"] == "/app/account"


# The second step


async def test_the_second_step_is_set_up_with_a_drawing_that_brings_no_style(hall, ana):
    page = await ana.shown("/app/two-factor")
    drawing = re.search(r"<svg.*?</svg>", page, re.DOTALL)
    assert drawing
    assert "style" not in drawing[0]
    totp, codes = await hall.with_factor(ana)
    assert len(set(codes)) == 10
    assert "10 recovery codes are left" in await ana.shown("/app/account")
    hall.clock.move(seconds=60)
    person = hall.browser()
    await person.sign_in()
    assert "Signing in as <bdi>Ana</bdi>" in await person.shown("/sign-in")
    assert (await person.post("/sign-in", {"code": hall.code(totp)})).status_code == 303
    assert await person.is_in()


async def test_a_wrong_first_code_shows_the_same_drawing_again(hall, ana):
    page = await ana.shown("/app/two-factor")
    [offer] = re.findall(r'name="offer" value="([^"]+)"', page)
    answer = await ana.post("/app/two-factor", {"offer": offer, "code": "1"})
    assert answer.status_code == 400
    assert re.search(r"<svg.*?</svg>", answer.text, re.DOTALL)[0] == re.search(r"<svg.*?</svg>", page, re.DOTALL)[0]
    assert "That code is not right" in answer.text


async def test_an_offer_that_is_too_old_or_of_somebody_else_is_not_taken(hall, ana):
    bob = await hall.joined()
    offers = [re.findall(r'name="offer" value="([^"]+)"', await bob.shown("/app/two-factor"))[0], "", "nonsense"]
    offers.append(re.findall(r'name="offer" value="([^"]+)"', await ana.shown("/app/two-factor"))[0])
    hall.clock.move(minutes=16)
    await ana.get("/app/account")
    for offer in offers:
        answer = await ana.post("/app/two-factor", {"offer": offer, "code": "123456", "password": PASSWORD})
        assert answer.status_code == 400
        assert "too old to be used" in answer.text
    assert (await hall.user()).factor == ""


async def test_a_proof_in_between_carries_the_first_code_on(hall, ana):
    page = await ana.shown("/app/two-factor")
    [offer] = re.findall(r'name="offer" value="([^"]+)"', page)
    [secret] = re.findall(r'<p class="once" tabindex="0"><code>([A-Z2-7 ]+)</code>', page)
    import pyotp  # here alone is a code needed for a factor that is not in force

    hall.clock.move(minutes=10)
    code = hall.code(pyotp.TOTP(secret.replace(" ", "")))
    asked = await ana.post("/app/two-factor", {"offer": offer, "code": code})
    carried = dict(re.findall(r'type="hidden" name="(offer|code)" value="([^"]+)"', asked.text))
    assert carried == {"offer": offer, "code": code}
    answer = await ana.post("/app/two-factor", {**carried, "password": PASSWORD})
    assert "Recovery codes" in answer.text
    assert (await hall.user()).factor


async def test_new_recovery_codes_take_the_place_of_the_old_ones(hall, ana):
    _, old = await hall.with_factor(ana)
    answer = await ana.post("/app/recovery-codes")
    new = re.findall(r"<li><code>([a-z0-9-]+)</code></li>", answer.text)
    assert len(new) == 10
    for code, status in ((old[0], 401), (new[0], 303)):
        person = hall.browser()
        await person.sign_in()
        await person.get("/sign-in")
        assert (await person.post("/sign-in", {"recovery_code": code})).status_code == status
    assert "9 recovery codes are left" in await ana.shown("/app/account")


async def test_without_a_second_step_there_are_no_recovery_codes(hall, ana):
    assert (await ana.post("/app/recovery-codes")).status_code == 404
    assert (await ana.get("/app/recovery-codes")).headers["location"] == "/app/account"


async def test_the_second_step_is_turned_off_and_on_again(hall, ana):
    await hall.with_factor(ana)
    assert (await ana.get("/app/two-factor")).headers["location"] == "/app/account"
    await ana.get("/app/account")
    assert (await ana.post("/app/two-factor/off")).status_code == 303
    assert "Off. With it" in await ana.shown("/app/account")
    hall.clock.move(seconds=60)
    await hall.with_factor(ana)
