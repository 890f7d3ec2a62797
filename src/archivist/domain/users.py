"""People who sign in: their names, what a password must be, and what is kept of them."""

import hashlib
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from archivist.domain.errors import InvalidArgument
from archivist.domain.ids import UserId
from archivist.domain.limits import PASSWORD_BYTES, PASSWORD_LENGTH, USER_NAME_LENGTH
from archivist.domain.vaults import folded

PRODUCT_NAMES = ("archivist", "memory", "memories")
DIFFERENT = 4
"""So many different characters a password has at least: nobody guesses long before trying one key held down."""

_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE"})
"""Scripts whose letters pass for each other's. A name keeps to one of them; with any other script they may stand."""

_TWINS = str.maketrans(
    "авсеԁһіјкмнорԛѕтуѵԝхαβεζηικμνορτυχγ",
    "abcedhijkmhopqstyvwxabezhikmnoptyxy",
)
"""Letters of Cyrillic and Greek, in lower case, that look in either case like one of Latin, and that one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An account. `password` is an argon2id string, empty until one is set; `factor` is sealed, empty without one.

    zone: where a day without a time begins, as an IANA name; empty for UTC.
    """

    id: UserId
    name: str
    password: str
    administrator: bool
    created: datetime
    disabled: datetime | None = None
    factor: str = ""
    factor_step: int = 0
    zone: str = ""


_RUNS = ("0123456789" * 26, "abcdefghijklmnopqrstuvwxyz" * 10)


def checked_name(name: str) -> str:
    """The name without surrounding blanks.

    Raises:
        InvalidArgument: empty, too long, with characters that a list cannot show, or of scripts that look alike.
    """
    name = name.strip()
    if not 1 <= len(name) <= USER_NAME_LENGTH or not name.isprintable():
        raise InvalidArgument("name", f"must be 1..{USER_NAME_LENGTH} printable characters")
    if len(_scripts(name) & _ALIKE) > 1:
        raise InvalidArgument("name", "mixes alphabets whose letters look alike; use one of them")
    return name


def name_digest(name: str) -> str:
    """By which names are told apart: equal for those that differ in case, width or composition, or that look alike."""
    return hashlib.sha256(folded(name).translate(_TWINS).encode("utf-8", "surrogatepass")).hexdigest()


def checked_password(password: str, name: str, host: str, common: Collection[str]) -> str:
    """The password exactly as it was given: nothing is trimmed, and no mixture of characters is demanded.

    common: passwords that everybody tries first, in lower case.

    Raises:
        InvalidArgument: too short, too long, or easily guessed; the text says which.
    """
    least, most = PASSWORD_LENGTH
    if not least <= len(password) or len(password) > most or len(password.encode("utf-8", "replace")) > PASSWORD_BYTES:
        raise InvalidArgument("password", f"must be {least}..{most} characters")
    few = len(set(password)) < DIFFERENT
    if few or _is_tried_first(password, common) or _is_a_name(password, (name, host, *PRODUCT_NAMES)):
        raise InvalidArgument("password", "is one that others try first; take some unrelated words instead")
    return password


def is_too_long(password: str) -> bool:
    """Whether no account can have this password, so that hashing it would only cost time."""
    return len(password) > PASSWORD_LENGTH[1] or len(password.encode("utf-8", "replace")) > PASSWORD_BYTES


def _scripts(name: str) -> set[str]:
    """The first words of what Unicode calls the letters, which of the alphabets is the script's name."""
    letters = [letter for letter in unicodedata.normalize("NFKC", name) if letter.isalpha()]
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}


def _is_tried_first(password: str, common: Collection[str]) -> bool:
    """One of the passwords that everybody tries, by itself or several times over."""
    folded = password.casefold()
    units = {folded[: len(folded) // times] for times in (1, 2, 3) if len(folded) % times == 0}
    repeated = any(unit in common for unit in units if folded == unit * (len(folded) // len(unit)))
    return repeated or any(folded in run or folded in run[::-1] for run in _RUNS)


def _is_a_name(password: str, names: Collection[str]) -> bool:
    """Whether a name with at most some digits and marks around it is all there is."""
    bare = "".join(letter for letter in password.casefold() if letter.isalpha())
    known = {"".join(letter for letter in name.casefold() if letter.isalpha()) for name in names}
    return any(name and bare in (name, name * 2, name * 3) for name in known)
