"""The browser of a person who is not there: it opens the address that an app gave it, signs in there, and decides.

`python -m tests.clients.fake_browser ADDRESS`, under the names by which apps start a browser: see `people`. From the
environment: PERSON_NAME and PERSON_PASSWORD; PERSON_VAULT, the name of the vault to pick; PERSON_ALLOWS, the rights to
tick, each time that it is asked those after the next `;`, the last ones for ever; PERSON_JOURNAL, a file that gets one
line of JSON for each question that was decided.

It does what browsers do: it keeps cookies, says where a form was sent from, and follows redirects. An app that opened
it before it listened is asked again.
"""

import json
import os
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import httpx2

from tests.waiting import until


class Page(HTMLParser):
    """What a person sees: the fields of the forms, the vaults by name, and the words between them."""

    def __init__(self, address: str, status: int, html: str) -> None:
        super().__init__()
        self.address, self.status = address, status
        self.fields: dict[str, str] = {}
        self.vaults: dict[str, str] = {}
        self._words: list[str] = []
        self._vault = self._unseen = ""
        self.feed(html)
        self.text = " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name, value = given.get("name", ""), given.get("value", "")
        if tag in ("script", "style"):
            self._unseen = tag
        if tag != "input" or not name:
            return
        if name == "vault":
            self._vault = value
        if given.get("type") not in ("radio", "checkbox") or "checked" in given:
            self.fields[name] = value

    def handle_endtag(self, tag: str) -> None:
        if tag == self._unseen:
            self._unseen = ""

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        self._words.append(data)
        if self._vault and data.strip():
            self.vaults.setdefault(data.strip(), self._vault)
            self._vault = ""


@dataclass(slots=True)
class Window:
    """A window with the cookies of its visit."""

    http: httpx2.Client
    cookies: dict[str, str] = field(default_factory=dict)

    def open(self, address: str) -> Page | str:
        """The page there; or the address that leads away from the server, which nobody has followed yet."""
        return self._seen(self.http.get(address, headers=self._headers("none")))

    def send(self, page: Page, **filled: str | list[str]) -> Page | str:
        """What comes after the form of `page` is sent with these fields filled in."""
        form = {**page.fields, **filled}
        return self._seen(self.http.post(page.address, data=form, headers=self._headers("same-origin")))

    def _seen(self, response: httpx2.Response) -> Page | str:
        for cookie in response.headers.get_list("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        if not response.has_redirect_location:
            return Page(str(response.url), response.status_code, response.text)
        to = urljoin(str(response.url), response.headers["location"])
        here = response.url.netloc.decode()
        return self.open(to) if httpx2.URL(to).netloc.decode() == here else to

    def _headers(self, site: str) -> dict[str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items() if value.strip('"'))
        return {"sec-fetch-site": site, **({"cookie": cookies} if cookies else {})}


@dataclass(frozen=True, slots=True)
class Consent:
    """The page that asks; `shown` is what it is now, for it comes back if it was answered too early to be read."""

    window: Window
    shown: list[Page]

    def allowed(self, scopes: list[str], vault: str) -> str | None:
        """Where the browser is sent with the permission; None if the page came back."""
        page = self.shown[-1]
        chosen = {"scope": scopes, "vault": page.vaults[vault], "decision": "allow"}
        answer = self.window.send(page, **chosen)
        if isinstance(answer, str):
            return answer
        assert answer.status == 400, answer.text
        assert "before it could be read" in answer.text, answer.text
        self.shown.append(answer)
        return None


def arrived(http: httpx2.Client, address: str) -> httpx2.Response | None:
    """What the app answered at its own address; None if it does not listen yet."""
    try:
        return http.get(address, follow_redirects=True)
    except httpx2.ConnectError:
        return None


def main(address: str) -> None:
    """One question, from opening it to where the app says that this window can be closed."""
    journal = Path(os.environ["PERSON_JOURNAL"])
    with httpx2.Client(timeout=60, trust_env=False) as http:
        window = Window(http)
        page = window.open(address)
        assert isinstance(page, Page), page
        if "password" in page.fields:
            who = {"name": os.environ["PERSON_NAME"], "password": os.environ["PERSON_PASSWORD"]}
            page = window.send(page, **who)
        assert isinstance(page, Page), page
        assert "transaction" in page.fields, page.text
        decided = len(journal.read_text().splitlines()) if journal.exists() else 0
        allows = os.environ["PERSON_ALLOWS"].split(";")
        scopes = allows[min(decided, len(allows) - 1)].split()
        consent = Consent(window, [page])
        answer = until(lambda: consent.allowed(scopes, os.environ["PERSON_VAULT"]), "the button is not inert any more")
        line = {"asked": address, "page": page.text, "allowed": scopes, "answer": answer}
        with journal.open("a") as lines:
            lines.write(f"{json.dumps(line)}\n")
        until(lambda: arrived(http, answer), "the app listens")


if __name__ == "__main__":
    main(sys.argv[1])
