"""Every use case is told who asks, first, and turns a stranger away before it looks at anything."""

import ast
import dataclasses
import importlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from archivist.domain.access import Principal
from archivist.domain.errors import InsufficientScope
from archivist.domain.ids import UserId, VaultId
from tests.architecture.modules import Function, Module, last_name, package, planted

pytestmark = pytest.mark.anyio

_DOOR = "it finds out who asks"
_LINK = "the one-time link is the authority, and it is looked at first"
_APP = "an app speaks for itself, and gains nothing by it"
_PROOF = "what is shown, a code or a token, is the authority"
NOT_ASKED_WHO = {
    "services.entering.Entering.authenticate": _DOOR,
    "services.entering.Entering.account": _DOOR,
    "services.sign_in.SignIn.password": _DOOR,
    "services.sign_in.SignIn.second_factor": _DOOR,
    "services.sign_in.SignIn.outside": _DOOR,
    "services.sign_in.SignIn.session": _DOOR,
    "services.sign_in.SignIn.by_link": _DOOR,
    "services.outside.Outside.sign_in_origin": _DOOR,
    "services.outside.Outside.leave": _DOOR,
    "services.outside.Outside.returned": _DOOR,
    "services.outside.Outside.known": _DOOR,
    "services.accounts.Accounts.invitation": _LINK,
    "services.factors.Factors.spending": "a step of signing in, which decides nothing by itself",
    "services.accounts.Accounts.opened": _LINK,
    "services.accounts.Accounts.set_up": _LINK,
    "services.accounts.Accounts.join": _LINK,
    "services.accounts.Accounts.recover": _LINK,
    "services.clients.Clients.register": _APP,
    "services.clients.Clients.known": _APP,
    "services.clients.Clients.authenticated": _APP,
    "services.clients.Clients.require_calm": _APP,
    "services.clients.Clients.guessed": _APP,
    "services.tokens.Tokens.exchange": _PROOF,
    "services.tokens.Tokens.refresh": _PROOF,
    "services.tokens.Tokens.revoke": _PROOF,
    "services.counting.Counting.note": "it only counts what others decided",
    "services.counting.Counting.flush": "it only writes what was counted",
}
"""Public methods of services that ask no principal for a right, each with its reason."""

STRANGER = Principal(UserId("stranger"), VaultId("some-vault"), frozenset(), "key", "a-key-without-scopes")


class Untouchable:
    """Stands for what a service holds or is given: whoever looks at it before they refuse fails the test."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(f"looked at .{name} before the caller was refused")

    def __call__(self, *args: object, **kwargs: object) -> object:
        raise AssertionError("called before the caller was refused")


def nameless(modules: Sequence[Module]) -> list[str]:
    """Public methods of use cases whose first argument is not `who: Principal`."""
    return [
        f"{module.name}.{owner.name}.{method.name}"
        for module in modules
        if module.name.startswith("services.")
        for owner in module.tree.body
        if isinstance(owner, ast.ClassDef) and _is_service(owner)
        for method in owner.body
        if isinstance(method, Function) and not method.name.startswith("_") and not _asks_who(method)
    ]


def _is_service(owner: ast.ClassDef) -> bool:
    """A service holds the stores; the other classes of services/ are the values that it answers with."""
    return any(isinstance(field, ast.AnnAssign) and last_name(field.annotation) == "Stores" for field in owner.body)


def _asks_who(method: Function) -> bool:
    first = [(arg.arg, last_name(arg.annotation)) for arg in method.args.args[1:2]]
    return first == [("who", "Principal")]


def use_cases() -> Iterator[str]:
    """Every public method of every service, as `services.module.Class.method`."""
    for module in package():
        if module.name.startswith("services."):
            for owner in (node for node in module.tree.body if isinstance(node, ast.ClassDef) and _is_service(node)):
                names = [node.name for node in owner.body if isinstance(node, Function)]
                yield from (f"{module.name}.{owner.name}.{name}" for name in names if not name.startswith("_"))


def test_every_use_case_is_told_who_asks_first():
    assert sorted(set(nameless(package())) - set(NOT_ASKED_WHO)) == []


def test_no_use_case_is_excused_that_does_not_exist():
    assert sorted(set(NOT_ASKED_WHO) - set(use_cases())) == []


@pytest.mark.parametrize("use_case", [name for name in use_cases() if name not in NOT_ASKED_WHO])
async def test_a_principal_without_scopes_is_refused_before_anything_is_looked_at(use_case):
    module, owner, method = use_case.rsplit(".", 2)
    service = getattr(importlib.import_module(f"archivist.{module}"), owner)
    with pytest.raises(InsufficientScope):
        await _ask(service, method)


@pytest.mark.parametrize(
    "text",
    [
        "class Memories:\n    stores: Stores\n    async def store(self, text: str): ...\n",
        "class Memories:\n    stores: Stores\n    async def store(self, text: str, who: Principal): ...\n",
        "class Memories:\n    stores: Stores\n    def store(self, who): ...\n",
    ],
)
def test_a_use_case_without_a_principal_is_found(text):
    assert nameless(planted("services.memories", text)) == ["services.memories.Memories.store"]


@dataclasses.dataclass
class _Careless:
    stores: Any

    async def store(self, who: Principal, text: str) -> None:
        await self.stores.vault(who.vault)


async def test_a_use_case_that_looks_before_it_refuses_is_found():
    with pytest.raises(AssertionError, match="before the caller was refused"):
        await _ask(_Careless, "store")


async def _ask(service: type, method: str) -> None:
    """Call a method as the stranger; what the service holds is untouchable, and so are arguments other than words."""
    asked = service(**{field.name: Untouchable() for field in dataclasses.fields(service) if field.init})
    call = getattr(asked, method)
    needed = [
        parameter
        for parameter in list(inspect.signature(call).parameters.values())[1:]
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    given = {parameter.name: "a word" if parameter.annotation is str else Untouchable() for parameter in needed}
    by_place = [given[parameter.name] for parameter in needed if parameter.kind is not parameter.KEYWORD_ONLY]
    by_name = {
        parameter.name: given[parameter.name] for parameter in needed if parameter.kind is parameter.KEYWORD_ONLY
    }
    answer = call(STRANGER, *by_place, **by_name)
    if hasattr(answer, "__anext__"):
        answer = anext(answer)
    if inspect.isawaitable(answer):
        await answer
