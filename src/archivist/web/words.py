"""What the pages say about things that are data: rights, tool sets, vaults, roles, endings, mistakes.

Sentences that belong to one page stand in its template. Whoever translates the pages needs these two places only.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from archivist.domain.access import Scope
from archivist.domain.vaults import Kind


@dataclass(frozen=True, slots=True)
class Right:
    """A right in plain words, and what follows from giving it away."""

    does: str
    short: str
    consequence: str
    danger: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """Something with a name and one sentence."""

    name: str
    means: str


@dataclass(frozen=True, slots=True)
class Explained:
    """A page that ends something: what happened, why, and what to do now."""

    what: str
    why: str
    now: str


RIGHTS: Mapping[str, Right] = {
    Scope.READ: Right("Read what is remembered", "read", "It can search and read every memory in the vault."),
    Scope.WRITE: Right("Save new memories", "save", "It can add memories."),
    Scope.REFLECT: Right(
        "Summarise memories (it reads their text)",
        "summarise",
        "It is handed the text of memories to write summaries from, even without the right to read.",
    ),
    Scope.DELETE: Right(
        "Delete memories",
        "delete",
        "It can remove memories for good, even all of them. Nobody can undo that.",
        danger=True,
    ),
}

TOOL_SETS: Mapping[str, Named] = {
    "/mcp": Named("Memory tools", "which serve any conversation"),
    "/mcp/coding": Named("Coding tools", "which serve assistants that write programs"),
}

KINDS: Mapping[Kind, Named] = {
    "personal": Named("Personal", "Yours alone."),
    "project": Named("Project", "For one piece of work, alone or with others."),
    "organization": Named("Organisation", "Shared by a team."),
}

ROLES: Mapping[str, Named] = {
    "viewer": Named("Viewer", "May read."),
    "member": Named("Member", "May read, save and summarise."),
    "admin": Named("Administrator", "May also delete, and choose who is a member."),
    "owner": Named("Owner", "May do everything, and give the vault away."),
}

CLIENT_CHANGES: Mapping[str, str] = {
    "name": "its name",
    "addresses": "the addresses it may return to",
    "keys": "its keys",
}

ENDINGS: Mapping[str, str] = {
    "revoked": "You ended it.",
    "administrator": "An administrator ended it.",
    "reused": "A spent token was shown again. Somebody may have copied it, so everything it opened was closed.",
    "signed_off": "The app gave up its access itself.",
    "membership": "You are no longer a member of the vault.",
    "vault": "The vault is gone.",
    "blocked": "An administrator blocked the app.",
}
ENDED = "It is over."
"""For an ending that this list does not know."""

APPROVALS: Mapping[str, Named] = {
    "off": Named("Do not ask", "An app that may delete can empty the vault by itself."),
    "on": Named("Ask here, or in the app", "An app that can ask you does so. You trust it to pass on your answer."),
    "page": Named("Ask here only", "You approve on a page of this server, signed in."),
}
"""Whether an owner is asked before a program empties a vault."""

UNNAMED = "a program without a name"
LOCAL = "the owner of this computer"
NAMELESS_APP = "An app without a name"
NOBODY = "nobody known"
"""Where an act has no person: a sign-in with a name that nobody has."""

SERVER = "this server"
"""Where a list of vaults goes on with what belongs to none."""

THROUGH: Mapping[str, str] = {
    "session": "a browser",
    "cli": "the command line",
    "stdio": "a program on this computer",
    "link": "a one-time link",
    "key": "a key",
    "account": "an account key",
    "oauth": "an app",
    "client": "an app",
}
"""How an act came in, if it has no name of its own."""

DONE: Mapping[str, str] = {
    "done": "done",
    "new device": "done, in a new browser",
    "half": "waits for the second step",
}
"""How an act ended that went well."""

NOT_DONE: Mapping[str, str] = {
    "insufficient_scope": "lacked the right",
    "ended": "its connection was ended",
    "rate_limited": "was too much at once",
    "unauthenticated": "was not signed in",
    "unavailable": "the store did not answer",
}
"""How one ended that did not; of others the name says enough."""

MISTAKES: Mapping[str, str] = {
    "credentials": "That name and password do not belong together. Nothing was changed; check both and try again.",
    "attempts": "There were too many attempts in a short time. Wait a few minutes, then try again.",
    "stale": "This page was too old to be used. It is a new one now; press the button again.",
    "password": "That is not your password. Nothing was changed.",
    "name_taken": "That name, or one that looks like it, is taken here. Choose another one.",
    "code": "That code is not right, or is too old. Wait for the next one and type it.",
    "recovery_code": "That is none of your unused recovery codes.",
    "nothing_ticked": "Nothing is ticked, so nothing was allowed. Tick what it may do, or choose “Don’t allow”.",
    "scope": "Your role in that vault does not allow everything that you ticked. Untick it, or choose another vault.",
    "vault": "You have no vault of that kind here. Choose one from the list.",
    "vault_taken": "You have a vault of that name already. Choose another name.",
    "early": "Allow was pressed on this page before it could be read. Nothing was allowed; read it, then press again.",
    "expires": "Choose one of the periods in the list.",
    "key_nothing": "Nothing is ticked, so no key was made. Tick what it may do.",
    "role": "Choose one of the roles in the list.",
    "last_owner": "A vault keeps at least one owner. Make somebody else an owner first.",
    "word": "Type the word delete. Nothing was approved.",
    "approval": "Choose one of the answers in the list.",
    "app": "Name an app by its address or its id.",
    "app_unknown": "No app of that address, host or id has asked to be connected here yet.",
}

REASONS: Mapping[str, Explained] = {
    "404": Explained(
        "There is nothing here", "The address is wrong, or what stood here is gone or not yours to see.", "Go back."
    ),
    "403": Explained(
        "That is not allowed", "Your account lacks the right for it. Nothing was changed.", "Ask an administrator."
    ),
    "429": Explained(
        "Too much at once", "There were too many requests in a short time. Nothing was changed.", "Wait, then go on."
    ),
    "500": Explained(
        "Something broke here",
        "The server met a fault of its own. It may or may not have done what you asked.",
        "Look whether it was done before you try again. The server’s log says more.",
    ),
    "503": Explained(
        "The server is not ready", "Its store did not answer, or it is not set up yet.", "Try again in a minute."
    ),
    "400": Explained(
        "That could not be read", "Something was missing or not in its form. Nothing was changed.", "Go back, try anew."
    ),
    "409": Explained(
        "That cannot be done now",
        "It contradicts what is there, perhaps because somebody changed it meanwhile. Nothing was changed.",
        "Go back, reload, and look again.",
    ),
    "stale": Explained(
        "This page was too old", "You signed in or out since it was opened. Nothing was changed.", "Go back, reload."
    ),
    "link": Explained(
        "This link does not work",
        "It was used already, has run out, or was not copied whole.",
        "Ask whoever sent it for a new one.",
    ),
    "outside": Explained(
        "Signing in elsewhere did not work",
        "The other side refused, or its answer did not belong to this browser. You are not signed in.",
        "Start again from the sign-in page.",
    ),
    "no_set_up": Explained(
        "This server is not set up yet",
        "Its first account is made through the one-time link that the server printed when it started.",
        "Open that link, or start the server again to get a new one.",
    ),
}

AUTHORIZATION_ERRORS: Mapping[str, Explained] = {
    "unknown_client": Explained(
        "This app is not known here",
        "It gave an id that this server never handed out, or that was cleared away.",
        "Remove the server from the app and add it again; it then introduces itself anew.",
    ),
    "redirect_uri": Explained(
        "This app asks to return to another address than it announced",
        "Sending you there could hand your permission to somebody else, so it was stopped here.",
        "Remove the server from the app and add it again. If that does not help, tell the app’s maker.",
    ),
    "client_blocked": Explained(
        "This app is blocked here",
        "An administrator of this server has blocked it.",
        "Ask the administrator if you need it.",
    ),
    "document_unreachable": Explained(
        "The app’s description could not be fetched",
        "The app is known by an address whose document did not arrive.",
        "Try again in a few minutes. A server without internet access cannot connect this app.",
    ),
    "document_invalid": Explained(
        "The app’s description is not right",
        "Its document is broken, or speaks of another app.",
        "Tell the app’s maker; nothing can be done here.",
    ),
    "document_refused": Explained(
        "The app’s address is not allowed",
        "This server does not fetch descriptions from there.",
        "Ask the administrator of this server.",
    ),
    "repeated": Explained(
        "The app’s request contradicts itself",
        "It names its id or its address more than once.",
        "Start again from the app. If it happens again, tell the app’s maker.",
    ),
    "request": Explained(
        "The app’s request is incomplete",
        "Something that every app must send is missing or not in its form.",
        "Update the app and start again.",
    ),
    "scope": Explained(
        "The app asks for rights that do not exist here",
        "None of the rights in its request is known to this server.",
        "Update the app and start again.",
    ),
    "resource": Explained(
        "The app wants to reach another server",
        "Its request names an address that does not belong to this one.",
        "Check the address in the app: it ends in /mcp or /mcp/coding.",
    ),
    "transaction": Explained(
        "This request is over",
        "It was answered already, waited for more than ten minutes, or began in another browser.",
        "Start again from the app.",
    ),
}
AUTHORIZATION_ERROR = Explained(
    "The app’s request cannot go on",
    "It does not keep to the rules for connecting. Nothing was allowed.",
    "Start again from the app. If it happens again, tell the app’s maker.",
)
"""For a reason that the list above does not know."""
