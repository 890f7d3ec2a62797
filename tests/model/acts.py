"""What connections do to a vault in the model test: values, so that the model and the services are told the same."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Store:
    by: int
    text: str


@dataclass(frozen=True)
class Edit:
    by: int
    id: str
    text: str


@dataclass(frozen=True)
class Checkout:
    by: int
    tier: int | None
    max_tokens: int | None


@dataclass(frozen=True)
class Draft:
    """An entry of a commit; without sources it stands for the whole batch."""

    text: str
    importance: int
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Commit:
    by: int
    batch: str
    drafts: tuple[Draft, ...]


@dataclass(frozen=True)
class Delete:
    by: int
    ids: tuple[str, ...]


@dataclass(frozen=True)
class DeleteDerived:
    """A preview, and the deletion of what it showed."""

    by: int
    ids: tuple[str, ...]


@dataclass(frozen=True)
class ForgetAll:
    by: int


Act = Store | Edit | Checkout | Commit | Delete | DeleteDerived | ForgetAll


@dataclass(frozen=True)
class Owed:
    """What waits to be reflected on, as services tell it."""

    memories: int
    tokens: int
    reflections: int
    in_flight: int


@dataclass(frozen=True)
class Stored:
    duplicate: bool


@dataclass(frozen=True)
class Edited:
    version: int


@dataclass(frozen=True)
class Lent:
    """remaining: what waits besides this batch."""

    batch: str
    members: tuple[str, ...]
    remaining: Owed


@dataclass(frozen=True)
class Nothing:
    remaining: Owed


@dataclass(frozen=True)
class Committed:
    tier: int
    entries: tuple[str, ...]
    sources: int
    already: bool
    debt: Owed


@dataclass(frozen=True)
class Deleted:
    """kept: the reflections on them that stay."""

    deleted: frozenset[str]
    not_found: frozenset[str]
    kept: frozenset[str]


@dataclass(frozen=True)
class Forgotten:
    memories: int


@dataclass(frozen=True)
class Failed:
    """With an error of this class. detail: what it said; the model does not know."""

    error: str
    detail: str = ""


@dataclass(frozen=True)
class Cut:
    """The process was killed."""


Outcome = Stored | Edited | Lent | Nothing | Committed | Deleted | Forgotten | Failed | Cut


def found_ids(act: Act, outcome: Outcome | None) -> dict[str, str]:
    """The ids of what an act made, as its answer tells them: by text, a batch by its holder."""
    if isinstance(act, Commit) and isinstance(outcome, Committed) and not outcome.already:
        return {draft.text: id for draft, id in zip(act.drafts, outcome.entries, strict=True)}
    if isinstance(act, Checkout) and isinstance(outcome, Lent):
        return {holder(act.by): outcome.batch}
    return {}


def holder(connection: int) -> str:
    """The credential of a connection, which is the holder of what is lent to it."""
    return f"0193b000-0000-7000-8000-0000000010{connection:02x}"


def same_answer(one: Outcome, other: Outcome, *, loosely: bool) -> bool:
    """loosely: leave out what is counted beside the act, which others may have changed meanwhile."""
    if isinstance(one, Failed) and isinstance(other, Failed):
        return one.error == other.error
    return (_bare(one) == _bare(other)) if loosely else one == other


def _bare(outcome: Outcome) -> Sequence[object]:
    match outcome:
        case Lent(batch, members, _):
            return "lent", batch, members
        case Nothing():
            return ("nothing",)
        case Committed(tier, entries, sources, already, _):
            return tier, entries, sources, already
        case Deleted(deleted, _, _):
            return "deleted", deleted
    return (outcome,)
