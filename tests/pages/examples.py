"""What each page may have to show: the usual, the emptiest, the longest, the other way round, very many, a mistake."""

from collections.abc import Iterator, Mapping

from archivist.domain.access import Scope
from archivist.web.words import MISTAKES
from tests.pages.samples import (
    ACCOUNT,
    APPROVAL,
    ARABIC,
    ASKED,
    BLOCKED,
    CLIENT,
    CONNECTIONS,
    CONSENT,
    HOSTILE,
    IN,
    INVITATION,
    KEYS,
    LONG_HOST,
    LONG_IN,
    LONGEST,
    ME,
    NOW,
    ONE_VAULT,
    OPEN,
    OTHERS,
    OUT,
    OUTSIDE,
    PASSWORDS,
    PEOPLE,
    PERSON,
    PUBLIC,
    ROLES,
    SECRET,
    SESSION,
    SIGN_IN,
    VAULT,
    WAITING,
    Context,
    before,
    connection,
    doing,
    entry,
    key,
    link,
    member,
    pager,
    qr,
    scopes,
    vault,
)

SIGNED_OUT: Mapping[str, Mapping[str, Context]] = {
    "sign-in": {
        "usual": SIGN_IN,
        "waiting": {**SIGN_IN, "waiting": "Claude Code", "provider": "Keycloak"},
        "longest": {**SIGN_IN, "waiting": LONGEST[:64], "provider": LONGEST[:40], "values": {"name": LONGEST}},
        "right to left": {**SIGN_IN, "waiting": ARABIC, "values": {"name": ARABIC}},
        "mistake": {**SIGN_IN, "errors": {"form": MISTAKES["credentials"]}, "values": {"name": "ana"}},
    },
    "second-factor": {
        "usual": {**OUT, "waiting": "Claude Code", "person": "ana"},
        "longest": {**OUT, "waiting": LONGEST[:64], "person": LONGEST},
        "mistake": {
            **OUT,
            "waiting": None,
            "person": "ana",
            "errors": {"code": "That code is not right, or is too old."},
        },
        "other mistake": {
            **OUT,
            "waiting": None,
            "person": "ana",
            "errors": {"recovery_code": "That is none of your unused codes."},
        },
    },
    "set-up": {
        "usual": {**OUT, "found": {"vaults": 2, "memories": 1284}},
        "emptiest": {**OUT, "found": {"vaults": 0, "memories": 0}},
        "mistake": {**OUT, "found": {"vaults": 1, "memories": 1}, "values": {"name": "ana"}, "errors": PASSWORDS},
    },
    "invitation": {
        "usual": {**OUT, "now": NOW, "invitation": INVITATION, "me": None},
        "signed in": {**OUT, "now": NOW, "invitation": INVITATION, "me": {"name": "Ólafur Arnalds"}},
        "account only": {
            **OUT,
            "now": NOW,
            "invitation": {**INVITATION, "vault": None, "kind": None, "role": None},
            "me": None,
        },
        "longest": {
            **OUT,
            "now": NOW,
            "invitation": {**INVITATION, "vault": LONGEST, "by": LONGEST},
            "me": {"name": LONGEST},
        },
        "right to left": {**OUT, "now": NOW, "invitation": {**INVITATION, "vault": ARABIC, "by": "مريم"}, "me": None},
        "mistake": {
            **OUT,
            "now": NOW,
            "invitation": INVITATION,
            "me": None,
            "errors": {"name": "That name is taken here.", **PASSWORDS},
        },
    },
    "recovery": {
        "usual": {**OUT, "person": "ana", "needs_code": True},
        "longest": {**OUT, "person": LONGEST, "needs_code": False},
        "mistake": {
            **OUT,
            "person": "ana",
            "needs_code": True,
            "errors": {"form": "Nothing was changed.", "code": "Not right."},
        },
    },
    "consent": {
        "usual": CONSENT,
        "not verified": {**CONSENT, "client": OUTSIDE, "tools": "/mcp/coding"},
        "app scheme": {**CONSENT, "client": {**OUTSIDE, "name": "Cursor", "where": "scheme", "host": "com.cursor.app"}},
        "by an administrator": {**CONSENT, "client": {**OUTSIDE, "kind": "confidential"}},
        "resembles": {**CONSENT, "client": {**OUTSIDE, "name": "Claude", "resembles": "Claude"}},
        "every warning": {
            **CONSENT,
            "client": {
                **CLIENT,
                "where": "host",
                "host": "xn--80ak6aa92e.example",
                "resembles": "Claude Code",
                "other_site": True,
                "copy_of": before(days=60),
                "changed": ["name", "addresses"],
            },
        },
        "step up": {**CONSENT, "locked": True, "scopes": scopes(ticked="rw", asked="d", held="rw", new="d")},
        "emptiest": {**CONSENT, "vaults": [], "scopes": scopes()},
        "longest": {
            **CONSENT,
            "me": {"name": LONGEST},
            "client": {**OUTSIDE, "name": LONGEST[:64], "host": LONG_HOST},
            "vaults": [{**VAULT, "name": LONGEST, "role": "member", "chosen": True}],
        },
        "right to left": {
            **CONSENT,
            "me": {"name": "مريم"},
            "client": {**OUTSIDE, "name": ARABIC},
            "vaults": [{**VAULT, "name": ARABIC, "chosen": True}],
        },
        "very many": {
            **CONSENT,
            "vaults": [{**VAULT, "id": f"v{n}", "name": f"Vault {n}", "chosen": n == 0} for n in range(200)],
        },
        "mistake": {**CONSENT, "errors": {"scope": MISTAKES["nothing_ticked"]}, "scopes": scopes(ticked="")},
        "other mistakes": {
            **CONSENT,
            "errors": {
                "form": "Allow was pressed before the page could be read.",
                "vault": "Choose one from the list.",
                "new_vault": "You have a vault of that name.",
            },
            "values": {"vault": "new", "new_vault": "personal"},
        },
    },
    "denied": {
        "usual": {"client": CLIENT, "address": None},
        "way back": {"client": OUTSIDE, "address": "https://chat.example.com/back?error=access_denied&state=x"},
        "longest": {"client": {**OUTSIDE, "name": LONGEST, "host": LONG_HOST}, "address": "https://a.example/"},
    },
    "authorization-error": {
        "usual": {"reason": "redirect_uri"},
        "unknown": {"reason": "something_else"},
    },
    "error": {
        "usual": {"me": None, "reason": None, "retry_after": None, "status": 404},
        "signed in": {**IN, "reason": None, "retry_after": None, "status": 403},
        "too many": {"me": None, "reason": None, "retry_after": 40, "status": 429},
        "link": {"me": None, "reason": "link", "retry_after": None, "status": 404},
        "unheard of": {"me": None, "reason": None, "retry_after": None, "status": 418},
    },
}

SIGNED_IN: Mapping[str, Mapping[str, Context]] = {
    "fresh": {
        "usual": {
            **IN,
            "action": "/app/keys",
            "act": "make this key",
            "carried": [("name", "laptop hook"), ("scope", Scope.READ)],
            "needs_code": True,
            "cancel": "/app/keys",
        },
        "mistake": {
            **LONG_IN,
            "action": "/app/keys",
            "act": "make this key",
            "carried": [],
            "needs_code": False,
            "cancel": "/app/keys",
            "errors": {"password": "That is not your password."},
        },
    },
    "app/connections": {
        "usual": {
            **CONNECTIONS,
            "connections": [
                connection(0),
                connection(1),
                connection(2),
                connection(5, ended=before(days=2), why="reused"),
            ],
        },
        "emptiest": {**CONNECTIONS, "me": {**ME, "administrator": False}, "connections": []},
        "longest": {
            **CONNECTIONS,
            **LONG_IN,
            "connections": [connection(1, app=LONGEST, vault=LONGEST, host=LONG_HOST), connection(0)],
        },
        "right to left": {**CONNECTIONS, "connections": [connection(3, vault=ARABIC)]},
        "very many": {**CONNECTIONS, "connections": [connection(n) for n in range(200)]},
        "done": {
            **CONNECTIONS,
            "notice": {"kind": "good", "text": "Claude Code has no access to personal any more."},
            "connections": [connection(1)],
        },
    },
    "app/connection": {
        "usual": {
            **IN,
            "connection": connection(2),
            "activity": [entry(n) for n in range(5)],
            "sums": [doing(0), doing(1)],
        },
        "emptiest": {**IN, "connection": connection(0, vault_id=None, scopes=[], last_used=None), "activity": []},
        "ended": {**IN, "connection": connection(1, ended=before(days=2), why="reused"), "activity": []},
        "unheard of": {**IN, "connection": connection(1, ended=before(days=2), why="other"), "activity": []},
        "longest": {**LONG_IN, "connection": connection(1, app=LONGEST, vault=LONGEST, host=LONG_HOST), "activity": []},
        "right to left": {**IN, "connection": connection(3, vault=ARABIC), "activity": [entry(0)]},
    },
    "app/keys": {
        "usual": {**KEYS, "keys": [key(0), key(1, expires=None), key(2, last_used=None, revoked=before(days=1))]},
        "emptiest": {**KEYS, "keys": []},
        "longest": {
            **KEYS,
            **LONG_IN,
            "keys": [key(0, name=LONGEST, vault=LONGEST)],
            "vaults": [vault(0, name=LONGEST)],
        },
        "right to left": {**KEYS, "keys": [key(0, name=ARABIC, vault=ARABIC)]},
        "very many": {**KEYS, "keys": [key(n) for n in range(200)]},
        "mistake": {
            **KEYS,
            "keys": [],
            "errors": {
                "name": "A name has 1 to 100 characters that can be seen.",
                "scope": "Nothing is ticked.",
                "form": "No key was made.",
            },
            "values": {"name": "", "scope": [], "vault": "vault-1", "expires": "365"},
        },
    },
    "app/key-made": {
        "usual": {**IN, "key": key(0), "secret": SECRET, "rotated": False, "address": PUBLIC},
        "longest": {
            **LONG_IN,
            "key": key(1, name=LONGEST, vault=LONGEST, expires=None),
            "secret": "mk_" + "x" * 49,
            "rotated": True,
            "address": PUBLIC,
        },
    },
    "app/vaults": {
        "usual": {**IN, "vaults": [vault(0), vault(1), vault(2)]},
        "emptiest": {**IN, "vaults": []},
        "longest": {**LONG_IN, "vaults": [vault(0, name=LONGEST)]},
        "right to left": {**IN, "vaults": [vault(0, name=ARABIC), vault(1, memories=0, last_used=None)]},
        "very many": {**IN, "vaults": [vault(n) for n in range(200)]},
        "mistake": {
            **IN,
            "vaults": [vault(0)],
            "errors": {"name": "You have a vault of that name already."},
            "values": {"name": "personal", "kind": "personal"},
        },
    },
    "app/vault": {
        "usual": {
            **ONE_VAULT,
            "roles": ROLES,
            "members": [member(0), member(1), member(2), member(3)],
            "invitations": OPEN,
            "waiting": WAITING,
        },
        "emptiest": {
            **ONE_VAULT,
            "roles": ROLES,
            "vault": vault(0, memories=0, last_used=None),
            "members": [member(0)],
        },
        "viewer": {**ONE_VAULT, "roles": [], "mine": "viewer", "members": [member(0, me=False), member(3, me=True)]},
        "link": {**ONE_VAULT, "roles": ROLES, "members": [member(0)], "link": link()},
        "longest": {
            **ONE_VAULT,
            **LONG_IN,
            "roles": ROLES,
            "vault": vault(2, name=LONGEST),
            "members": [member(0), member(4, role="member")],
            "link": link(name=LONGEST),
        },
        "right to left": {
            **ONE_VAULT,
            "roles": ROLES,
            "vault": vault(2, name=ARABIC),
            "members": [member(0, name=ARABIC), member(2)],
        },
        "very many": {**ONE_VAULT, "roles": ROLES, "members": [member(n) for n in range(200)]},
        "mistake": {
            **ONE_VAULT,
            "roles": ROLES,
            "members": [member(0)],
            "errors": {"form": "A vault keeps at least one owner."},
        },
    },
    "app/approval": {
        "usual": ASKED,
        "emptiest": {**ASKED, "approval": {**APPROVAL, "by": "", "through": "", "memories": 1}},
        "approved": {**ASKED, "approval": {**APPROVAL, "approved": before(minutes=1)}},
        "longest": {
            **ASKED,
            **LONG_IN,
            "vault": vault(1, name=LONGEST),
            "approval": {**APPROVAL, "by": LONGEST, "through": LONGEST},
        },
        "right to left": {
            **ASKED,
            "vault": vault(1, name=ARABIC),
            "approval": {**APPROVAL, "by": ARABIC, "through": ARABIC},
        },
        "mistake": {**ASKED, "errors": {"word": MISTAKES["word"]}, "values": {"word": "yes"}},
    },
    "app/account": {
        "usual": ACCOUNT,
        "emptiest": {
            **ACCOUNT,
            "two_factor": {"on": False, "since": None, "codes_left": 0},
            "sessions": [SESSION],
            "outside": None,
        },
        "linked": {**ACCOUNT, "outside": {"provider": "Keycloak", "linked": True, "since": before(days=3)}},
        "longest": {**ACCOUNT, **LONG_IN, "sessions": [{**SESSION, "browser": LONGEST}]},
        "very many": {**ACCOUNT, "sessions": [SESSION, *({**OTHERS[0], "id": f"s{n}"} for n in range(200))]},
        "mistake": {
            **ACCOUNT,
            "errors": {
                "current": "That is not your password. Nothing was changed.",
                "again": "The two passwords differ.",
            },
        },
    },
    "app/two-factor": {
        "usual": {**IN, "qr": qr(), "secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "account": "ana"},
        "mistake": {
            **LONG_IN,
            "qr": qr(),
            "secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
            "account": LONGEST,
            "errors": {"code": "That code is not right, or is too old."},
        },
    },
    "app/recovery-codes": {
        "usual": {**IN, "codes": [f"{n}k7f-9qx{n}-m2p{n}" for n in range(10)], "next": "/app/account"},
    },
    "app/people": {
        "usual": {**IN, "people": PEOPLE, "blocked": BLOCKED, "link": None},
        "emptiest": {**IN, "people": PEOPLE[:1], "blocked": [], "link": None},
        "link": {
            **IN,
            "people": PEOPLE,
            "blocked": [],
            "link": link(purpose="recovery", name="Ólafur Arnalds", role=None),
        },
        "invited": {**IN, "people": PEOPLE, "blocked": [], "link": link(name="", role=None)},
        "longest": {
            **LONG_IN,
            "people": [{**PERSON, "name": LONGEST}],
            "blocked": [{**BLOCKED[0], "app": "https://app.example/" + "long/" * 100, "by": LONGEST}],
            "link": None,
        },
        "very many": {
            **IN,
            "people": [{**PERSON, "id": f"u{n}", "name": f"person {n}"} for n in range(200)],
            "blocked": BLOCKED * 5,
            "link": None,
        },
        "mistake": {
            **IN,
            "people": PEOPLE,
            "blocked": [],
            "link": None,
            "errors": {"app": "Name an app by its address or its id."},
            "values": {"app": "?"},
        },
    },
    "app/activity": {
        "usual": {
            **IN,
            "entries": [entry(n) for n in range(12)],
            "sums": [doing(0), doing(1)],
            "vaults": [vault(0), vault(1)],
            "vault": "vault-1",
            "pager": pager(50, 1_234, older="/app/activity?before=9"),
        },
        "emptiest": {**IN, "entries": [], "vaults": [], "vault": None, "pager": pager(0, 0)},
        "filtered": {**IN, "entries": [], "vaults": [vault(0)], "vault": "vault-0", "pager": pager(0, 0)},
        "longest": {
            **LONG_IN,
            "entries": [entry(0, user=LONGEST, through=LONGEST, vault=LONGEST)],
            "sums": [doing(0, through=LONGEST)],
            "vaults": [vault(0, name=LONGEST)],
            "vault": None,
            "pager": pager(1, 1),
        },
        "right to left": {
            **IN,
            "entries": [entry(0, user=ARABIC, through=ARABIC, vault=ARABIC)],
            "vaults": [],
            "vault": None,
            "pager": pager(1, 1),
        },
        "very many": {
            **IN,
            "entries": [entry(n) for n in range(200)],
            "vaults": [vault(0)],
            "vault": None,
            "pager": pager(200, None, newer="/app/activity", older="/app/activity?before=9"),
        },
    },
}

PAGES = {**SIGNED_OUT, **SIGNED_IN}


def every() -> Iterator[tuple[str, str, Context]]:
    """Template, what the example is about, its context."""
    for name, examples in PAGES.items():
        for about, context in examples.items():
            yield name, about, context


def hostile(value: object) -> object:
    """The same value with every text that a stranger may have written replaced by markup."""
    if isinstance(value, Mapping):
        return {
            name: HOSTILE if name in STRANGERS and isinstance(part, str) else hostile(part)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [hostile(part) for part in value]
    return value


STRANGERS = {
    "name",
    "app",
    "vault",
    "waiting",
    "provider",
    "person",
    "by",
    "user",
    "through",
    "browser",
    "account",
    "target",
    "action",
    "outcome",
    "reason",
    "resembles",
    "host",
    "start",
    "new_vault",
    "secret",
    "url",
    "text",
}
