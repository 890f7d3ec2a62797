"""What an app calls itself, made harmless to show, and whether it passes for an app that people know.

A name is self-declared and proves nothing. The host that an answer goes to is the only thing that its owner cannot
make up, so a famous name beside a host of somebody else deserves a warning.
"""

import re
import unicodedata
from collections.abc import Collection

from archivist.domain.limits import CLIENT_NAME_LENGTH

OURSELVES = "Archivist"
_LOOKED_AT = 1024
"""Characters of a raw name that are looked at; the shown ones come from these."""

_MARKS = 5
"""Combining marks in a row that a letter keeps: words of Burmese need four, and a tower of them covers other lines."""

_SHORTEST = 3
"""Letters of a name that can be imitated; shorter ones are found in half of all words."""

_BLANK = re.compile("[\\s\u2028\u2029\u2800]+")
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\ufffc\U0001d159\U000e0000-\U000e0fff]"
)
"""Shown as nothing although their category is that of letters or marks: fillers, joiners, variation selectors."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "[::1]"})

_KNOWN: dict[str, tuple[str, ...]] = {
    "Claude": ("claude.ai", "claude.com", "anthropic.com"),
    "Anthropic": ("anthropic.com", "claude.ai", "claude.com"),
    "ChatGPT": ("chatgpt.com", "openai.com"),
    "OpenAI": ("openai.com", "chatgpt.com"),
    "Codex": ("chatgpt.com", "openai.com"),
    "Cursor": ("cursor.com", "cursor.sh"),
    "Windsurf": ("windsurf.com", "codeium.com"),
    "Gemini": ("google.com", "gemini.google"),
    "Google": ("google.com", "gemini.google"),
    "VS Code": ("vscode.dev", "visualstudio.com", "microsoft.com"),
    "Visual Studio": ("vscode.dev", "visualstudio.com", "microsoft.com"),
    "GitHub": ("github.com", "vscode.dev", "visualstudio.com", "microsoft.com"),
    "Copilot": ("github.com", "githubcopilot.com", "vscode.dev", "visualstudio.com", "microsoft.com"),
    "Microsoft": ("microsoft.com", "vscode.dev", "visualstudio.com", "github.com"),
    "Perplexity": ("perplexity.ai",),
    "Mistral": ("mistral.ai",),
    "Grok": ("grok.com", "x.ai", "x.com"),
    "DeepSeek": ("deepseek.com",),
    "JetBrains": ("jetbrains.com",),
}
"""Names that people trust, and the hosts, subdomains included, of those who may use them."""

_LOOKALIKES = {
    "a": "аАαΑɑ@4", "b": "вВβΒьЬ8", "c": "сСϲϹ", "d": "ԁđ", "e": "еЕεΕєЄ3", "g": "ɡ9", "h": "нНΗһҺ", "j": "јЈ",
    "k": "кКκΚ", "l": "iIіІιΙӏӀıł1!|", "m": "мМΜ", "n": "пηΝո", "o": "оОοΟσøØ0օ", "p": "рРρΡ", "q": "ԛ", "r": "гГ",
    "s": "ѕЅ5$", "t": "тТτΤ7", "u": "υцս", "v": "νѵ", "w": "ԝωѡ", "x": "хХχΧ", "y": "уУγΥ", "z": "ζΖ2",
}  # fmt: skip
"""Letters and digits that pass for a Latin letter; i and l pass for each other."""

_LATIN = str.maketrans({like: letter for letter, alike in _LOOKALIKES.items() for like in alike})

_INNOCENT = ("precursor", "recursor", "claudette", "ngrok")
"""Words that hold a known name without meaning it."""


def shown_name(raw: object) -> str:
    """A name for a page: one line of at most 64 visible characters; empty if there is nothing to show.

    Control, bidirectional, invisible and unassigned characters are gone, white space is collapsed, the form is NFC.
    """
    if not isinstance(raw, str):
        return ""
    spaced = _BLANK.sub(" ", raw[:_LOOKED_AT])
    visible = "".join(letter for letter in spaced if unicodedata.category(letter) not in _HIDDEN)
    composed = unicodedata.normalize("NFC", _INVISIBLE.sub("", visible))
    return _BLANK.sub(" ", _without_towers(composed)).strip()[:CLIENT_NAME_LENGTH].strip()


def resembles(name: str, host: str, own_names: Collection[str] = (), own_host: str = "") -> str | None:
    """The well-known name that an app's name or host looks like although its owner is somebody else; else None.

    host: what proves who the app is: the host of its metadata document if it has one, else that of its redirect
    target. A target on the person's computer proves nothing about any name, so nothing is said there.
    own_names, own_host: what this server and its operator are called, and the host that may be called so.
    """
    if host in _LOOPBACK:
        return None
    owners = _KNOWN | {own: (own_host,) if own_host else () for own in (OURSELVES, *own_names)}
    for text in (name, _readable(host)):
        found = [known for known in owners if _holds(_folded(text), _folded(known))]
        if found:
            return None if any(_owned(host, owners[known]) for known in found) else found[0]
    return None


def _holds(text: str, known: str) -> bool:
    for word in _INNOCENT:
        text = text.replace(_folded(word), " ")
    return len(known) >= _SHORTEST and known in text


def _folded(text: str) -> str:
    """What is left of `text` for a reader in a hurry: Latin letters in lower case, look-alikes joined."""
    letters = "".join(letter for letter in unicodedata.normalize("NFKD", text) if letter.isalnum() or letter in "@$!|")
    return letters.translate(_LATIN).casefold().translate(_LATIN).replace("rn", "m").replace("vv", "w")


def _readable(host: str) -> str:
    """`host` with its `xn--` labels as a browser might show them."""
    return ".".join(_readable_label(label) for label in host.split("."))


def _readable_label(label: str) -> str:
    try:
        return label[4:].encode("ascii").decode("punycode") if label.startswith("xn--") else label
    except UnicodeError:
        return label


def _owned(host: str, owners: Collection[str]) -> bool:
    return any(host == owner or host.endswith(f".{owner}") for owner in owners)


def _without_towers(text: str) -> str:
    """`text` without combining marks that have no letter before them, and with at most _MARKS behind each."""
    kept, row = [], _MARKS
    for letter in text:
        is_mark = unicodedata.category(letter).startswith("M")
        row = row + 1 if is_mark else _MARKS if letter == " " else 0
        if not is_mark or row <= _MARKS:
            kept.append(letter)
    return "".join(kept)
