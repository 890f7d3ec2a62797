"""Values for the pages to show: people, apps, vaults, keys, as the templates take them."""

import io
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import segno
from markupsafe import Markup

from archivist.domain.access import Scope

Context = Mapping[str, Any]

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LONGEST = f"{'Wolfeschlegelsteinhausenbergerdorff, Verwalterin der Aufzeichnungen von Ostfriesland':.<100}"
ARABIC = "أرشيف الذكريات المشتركة"
HOSTILE = """<script>alert('x')</script>"'&</title><img src=x onerror=alert(1)>"""
LONG_HOST = "a-very-long-name-of-a-host." * 4 + "example.com"
SECRET, PUBLIC = "mk_ro_7QkR2vXbN8sT4yLmW0cJ5hZgP9dFaE1uK6oVi3CxBnqY2Mt", "https://memory.example.org/mcp"
PASSWORDS = {"password": "A password needs at least 12 characters.", "again": "The two passwords differ."}


def before(**span: float) -> datetime:
    return NOW - timedelta(**span)


def qr() -> Markup:
    drawn = io.BytesIO()
    address = "otpauth://totp/Archivist:ana?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Archivist"
    segno.make(address, micro=False).save(drawn, kind="svg", xmldecl=False, svgns=True, omitsize=True, border=0)
    return Markup(drawn.getvalue().decode())


def member(number: int, **more: Any) -> Context:
    names = ["ana", "Ólafur Arnalds", "مريم", "山田太郎", LONGEST]
    usual = {
        "id": f"user-{number}",
        "name": names[number % 5],
        "role": ["owner", "admin", "member", "viewer"][number % 4],
    }
    return {**usual, "joined": before(days=3 * number + 1), "last_owner": number == 0, "me": number == 0, **more}


def connection(number: int = 0, **more: Any) -> Context:
    apps = [
        ("Claude Code", "127.0.0.1:33418"),
        ("Claude", "claude.ai"),
        ("Cursor", "cursor.sh"),
        (ARABIC, "xn--mgbh0fb.example"),
    ]
    app, host = apps[number % 4]
    usual = {"id": f"grant-{number}", "app": app, "host": host, "tools": ["/mcp", "/mcp/coding"][number % 2]}
    place = {"vault": ["personal", "Archivist", "Team notes"][number % 3], "vault_id": f"vault-{number % 3}"}
    scopes = [[Scope.READ], [Scope.READ, Scope.WRITE], list(Scope)][number % 3]
    times = {
        "created": before(days=41 + number),
        "first_used": before(days=40 + number),
        "last_used": before(hours=3 * number + 1),
    }
    return {**usual, **place, "scopes": scopes, **times, "ended": None, "why": None, **more}


def key(number: int = 0, **more: Any) -> Context:
    usual = {"id": f"key-{number}", "name": ["laptop hook", "nightly export", ""][number % 3], "start": "mk_ro_7Qk"}
    place = {"vault": ["personal", "Archivist"][number % 2], "scopes": [[Scope.READ], list(Scope)][number % 2]}
    times = {"created": before(days=12), "expires": NOW + timedelta(days=78), "last_used": before(minutes=number + 2)}
    return {**usual, **place, **times, "revoked": None, **more}


def vault(number: int = 0, **more: Any) -> Context:
    usual = {"id": f"vault-{number}", "name": ["personal", "Archivist", "Team notes"][number % 3]}
    kinds = {
        "kind": ["personal", "project", "organization"][number % 3],
        "role": ["owner", "admin", "viewer"][number % 3],
    }
    sizes = {
        "members": number + 1,
        "memories": [1284, 1, 23_907][number % 3],
        "last_used": before(hours=5 * number + 1),
    }
    return {**usual, **kinds, **sizes, "approval": ["off", "on", "page"][number % 3], **more}


def entry(number: int = 0, **more: Any) -> Context:
    actions = ["save_memory", "search_memories", "keys create", "delete_memories", "sign-in"]
    usual = {"at": before(minutes=7 * number), "user": "ana", "through": ["Claude Code", "laptop hook", ""][number % 3]}
    what = {
        "action": actions[number % 5],
        "vault": ["personal", ""][number % 2],
        "target": ["0199f3c2-7b1e", ""][number % 2],
    }
    return {
        **usual,
        **what,
        "count": [1, 12, 1, 500][number % 4],
        "outcome": ["done", "done", "refused"][number % 3],
        **more,
    }


def doing(number: int = 0, **more: Any) -> Context:
    usual = {"through": "Claude Code", "action": ["search_memories", "save_memory"][number % 2], "count": 1_234}
    return {
        **usual,
        "outcome": ["done", "refused"][number % 2],
        "first": before(days=30),
        "last": before(hours=1),
        **more,
    }


def pager(last: int, total: int | None, *, newer: str | None = None, older: str | None = None) -> Context:
    return {"first": 1, "last": last, "total": total, "newer": newer, "older": older}


def link(**more: Any) -> Context:
    url = "https://memory.example.org/invitation/Vb8xkq3o0N1mF2yZr6TtWJ9cUeL5hGd4aS7pQiXwBnM"
    usual = {"url": url, "purpose": "invitation", "name": "Team notes", "role": "member"}
    return {**usual, "expires": NOW + timedelta(hours=72), **more}


ME = {"name": "ana", "administrator": True}
IN = {"me": ME, "csrf": "token-of-this-session", "now": NOW}
LONG_IN = {**IN, "me": {"name": LONGEST, "administrator": True}}
OUT = {"csrf": "token-of-this-session"}

PERSON = {
    "id": "user-2", "name": "Ólafur Arnalds", "administrator": False, "disabled": False, "me": False,
    "created": before(days=90), "last_used": before(days=2), "connection_count": 3, "key_count": 1,
}  # fmt: skip
PEOPLE = [
    {**PERSON, "id": "user-1", "name": "ana", "administrator": True, "me": True},
    PERSON,
    {
        **PERSON,
        "id": "user-3",
        "name": ARABIC,
        "disabled": True,
        "last_used": None,
        "connection_count": 0,
        "key_count": 0,
    },
]
SESSION = {"id": "s1", "browser": "Firefox on Linux", "started": before(days=2), "last_used": NOW, "current": True}
OTHERS = [
    {**SESSION, "id": "s2", "browser": "Safari on iPhone", "last_used": before(hours=4), "current": False},
    {**SESSION, "id": "s3", "browser": "", "last_used": before(days=1), "current": False},
]

SIGN_IN = {**OUT, "waiting": None, "provider": None}
INVITATION = {
    "vault": "Team notes",
    "kind": "organization",
    "role": "member",
    "by": "ana",
    "expires": NOW + timedelta(hours=70),
}

CLIENT = {
    "name": "Claude Code", "kind": "document", "document_host": "claude.ai", "where": "computer",
    "host": "127.0.0.1:33418", "resembles": None, "other_site": False, "copy_of": None, "changed": [],
}  # fmt: skip
OUTSIDE = {
    **CLIENT,
    "kind": "registered",
    "document_host": None,
    "where": "host",
    "host": "chat.example.com",
    "name": "Chat",
}
VAULT = {
    "id": "v1",
    "name": "personal",
    "kind": "personal",
    "role": "owner",
    "memories": 1284,
    "last_used": before(hours=2),
}
VAULTS = [
    {**VAULT, "chosen": True},
    {
        **VAULT,
        "id": "v2",
        "name": "Archivist",
        "kind": "project",
        "memories": 1,
        "last_used": before(days=9),
        "chosen": False,
    },
    {
        **VAULT,
        "id": "v3",
        "name": "Team notes",
        "kind": "organization",
        "role": "viewer",
        "last_used": None,
        "chosen": False,
    },
]


def scopes(ticked: str = "r", asked: str = "", held: str = "", new: str = "") -> list[Context]:
    letters = zip("rwfd", Scope, strict=True)
    return [
        {
            "scope": scope,
            "ticked": letter in ticked,
            "asked": letter in asked,
            "held": letter in held,
            "new": letter in new,
        }
        for letter, scope in letters
    ]


CONSENT = {
    **OUT, "now": NOW, "me": {"name": "ana"}, "transaction": "t-1", "tools": "/mcp",
    "lasts": {"idle_days": 60, "total_days": 180}, "client": CLIENT, "vaults": VAULTS, "new_vault": True,
    "scopes": scopes(asked="rw"), "locked": False,
}  # fmt: skip

TWO_FACTOR = {"on": True, "since": before(days=30), "codes_left": 8}
ACCOUNT = {
    **IN, "two_factor": TWO_FACTOR, "sessions": [SESSION, *OTHERS],
    "outside": {"provider": "Keycloak", "linked": False, "since": None},
}  # fmt: skip
EXPIRIES = [("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("never", "until I end it")]
CONNECTIONS = {**IN, "address": PUBLIC}
KEYS = {**IN, "vaults": [vault(0), vault(1)], "expiries": EXPIRIES}
ONE_VAULT = {**IN, "vault": vault(2), "mine": "owner", "link": None, "invitations": [], "waiting": []}
ROLES = ["viewer", "member", "admin", "owner"]
OPEN = [{"id": "i1", "role": "member", "by": "ana", "expires": NOW + timedelta(hours=70)}]
WAITING = [
    {"id": "q1", "approved": False, "expires": NOW + timedelta(minutes=8)},
    {"id": "q2", "approved": True, "expires": NOW + timedelta(minutes=3)},
]
APPROVAL = {
    "id": "q1", "by": "ana", "through": "Claude Code", "memories": 23_907, "asked": before(minutes=2),
    "expires": NOW + timedelta(minutes=8), "approved": None,
}  # fmt: skip
ASKED = {**IN, "vault": vault(2), "approval": APPROVAL}
BLOCKED = [{"app": "https://app.example/oauth/client.json", "name": "App", "by": "ana", "since": before(days=5)}]
