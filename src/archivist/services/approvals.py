"""Asking an owner before a program empties a vault. Off unless the owner of the vault switches it on.

The answer is given on a page, by an owner or admin who has just signed in, or, where the vault allows it, through a
client that can ask its person. Either way it serves the credential that asked, once, for ten minutes.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from archivist.domain.access import Principal, require_person
from archivist.domain.approvals import DECIDERS, LIFE, Approval, Wanted, is_open
from archivist.domain.audit import Entry, entry
from archivist.domain.errors import ApprovalRequired, Conflict, InsufficientScope, NotFound
from archivist.domain.ids import VaultId
from archivist.domain.operations import permit
from archivist.domain.vaults import Vault
from archivist.services import acts
from archivist.services.members import membership
from archivist.storage import approvals as stored
from archivist.storage import grants, keys, members, memories, vaults
from archivist.storage.database import Database, Write
from archivist.storage.keyring import Keyring
from archivist.storage.stores import Stores

ACTION = "forget_all_memories"
"""The one act that is asked about."""

PAGE = "/app/vaults/{vault}/approvals/{id}"
_PURPOSE = "approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What somebody is to decide. by, through: who asked, and the app or key; empty where there is no name.

    memories: how many would go, archived ones too.
    """

    approval: Approval
    vault: Vault
    by: str
    through: str
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A question for a client to put to its person. state: what comes back with the answer. memories: how many go."""

    vault: str
    memories: int
    state: str


@dataclass(frozen=True, slots=True)
class Approvals:
    """The use cases of approval. `origin`: where the pages are."""

    stores: Stores
    keyring: Keyring
    origin: str
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def require(self, who: Principal) -> None:
        """Returns if the vault may be emptied now; an approval that was needed for it is used up by that.

        Raises:
            ApprovalRequired: an owner must agree first; the question is open now.
        """
        permit(who, ACTION)
        if who.is_person:
            return
        control, now = await self.stores.control(), self.now()
        vault = await vaults.find(control, who.vault)
        if vault is None:
            raise NotFound("there is no such vault")
        if vault.approval == "off":
            return
        mine = [one for one in await stored.open_in(control, who.vault, now) if _asked(one, who)]
        for one in mine:
            if one.approved is not None and await self._used(control, who, one):
                return
        waiting = [one for one in mine if one.approved is None]
        question = waiting[0] if waiting else await self._opened(control, who, now)
        link = f"{self.origin}{PAGE.format(vault=question.vault, id=question.id)}"
        raise ApprovalRequired(question.id, link, question.expires, in_client=vault.approval == "on")

    async def put(self, who: Principal, id: str, mode: str, parameters: Mapping[str, Any]) -> Put:
        """The question, for a client that can ask its person. The state is good for this caller and call alone.

        mode: `form` if the answer itself decides, `url` if it only says that a page was opened.

        Raises:
            NotFound: no open question of this caller.
        """
        permit(who, ACTION)
        await self._mine(who, id)
        vault = await vaults.find(await self.stores.control(), who.vault)
        return Put(
            vault="" if vault is None else vault.name,
            memories=await self._count(who.vault),
            state=self.keyring.seal(_PURPOSE, [*_bound(who, parameters), id, mode]),
        )

    async def answered(self, who: Principal, state: str, parameters: Mapping[str, Any], *, yes: bool) -> None:
        """Take the answer that came through a client. After a yes, `require` lets the call through once.

        Raises:
            NotFound: the state is changed, another's, for another call, over or used: all alike; nothing was touched.
        """
        permit(who, ACTION)
        *bound, id, mode = self._unsealed(state)
        if bound != _bound(who, parameters):
            raise _over()
        control, approval = await self.stores.control(), await self._mine(who, id)
        if not yes:
            act = self._act(who, "approvals refuse", approval)
            await self._decided(control, act, stored.refuse(who.vault, id, self.now()))
        elif mode == "form":
            vault = await vaults.find(control, who.vault)
            if vault is None or vault.approval != "on":
                raise _over()  # the owner wants to be asked on a page by now
            act = self._act(who, "approvals approve", approval)
            await self._decided(control, act, stored.approve(who.vault, id, who.user, self.now()))

    async def pending(self, who: Principal, vault: VaultId) -> Sequence[Approval]:
        """The questions that this person may decide, oldest first; none for those who may not.

        Raises:
            NotFound: there is no such vault for this person.
        """
        require_person(who)
        control = await self.stores.control()
        member = await membership(control, who, vault)
        return await stored.open_in(control, vault, self.now()) if member.role in DECIDERS else []

    async def shown(self, who: Principal, vault: VaultId, id: str) -> Question:
        """Raises NotFound: nothing that this person may decide, or not any more: all alike."""
        require_person(who)
        control = await self.stores.control()
        found, approval = await self._decidable(control, who, vault, id)
        people = {one.member.user: one.name for one in await members.of_vault(control, vault)}
        return Question(
            approval=approval,
            vault=found,
            by=people.get(approval.user, ""),
            through=await _name(control, approval),
            memories=await self._count(vault),
        )

    async def approve(self, who: Principal, vault: VaultId, id: str) -> None:
        """The call that asked goes through once from now on.

        Raises:
            InsufficientScope: not a person in a browser: no program, and no command, approves anything.
            NotFound: as `shown`, or somebody has decided it.
        """
        if who.credential != "session":
            raise InsufficientScope("this is approved on the pages of the server only, by somebody who signed in")
        control = await self.stores.control()
        _, approval = await self._decidable(control, who, vault, id)
        act = self._act(who, "approvals approve", approval)
        await self._decided(control, act, stored.approve(vault, id, who.user, self.now()))

    async def refuse(self, who: Principal, vault: VaultId, id: str) -> None:
        """The question is over; an approval that was not used yet is taken back. Raises NotFound: as `shown`."""
        require_person(who)
        control = await self.stores.control()
        _, approval = await self._decidable(control, who, vault, id)
        await self._decided(control, self._act(who, "approvals refuse", approval), stored.refuse(vault, id, self.now()))

    async def choose(self, who: Principal, vault: VaultId, wanted: Wanted) -> None:
        """Whether an owner is asked from now on, and where.

        Raises:
            NotFound: there is no such vault for this person.
            InsufficientScope: they are not its owner.
        """
        require_person(who)
        control = await self.stores.control()
        if (await membership(control, who, vault)).role != "owner":
            raise InsufficientScope("only an owner of this vault decides whether its owners are asked")
        act = entry(who, self.new_id(), self.now(), f"vaults approval {wanted}", target=vault, vault=vault)
        await control.apply([*await acts.written(control, act, "vault"), vaults.set_approval(vault, wanted)])

    async def _count(self, vault: VaultId) -> int:
        return (await memories.tally(await self.stores.vault(vault, writable=False), vault)).everything

    async def _opened(self, control: Database, who: Principal, now: datetime) -> Approval:
        made = Approval(
            vault=who.vault,
            id=self.new_id(),
            action=ACTION,
            user=who.user,
            credential_id=who.holder,
            created=now,
            expires=now + LIFE,
        )
        act = self._act(who, "approvals ask", made)
        await control.apply([*await acts.written(control, act, "vault", id=made.vault), stored.insert(made)])
        return made

    async def _used(self, control: Database, who: Principal, approval: Approval) -> bool:
        """False if another call of the same credential used it first."""
        act = self._act(who, "approvals use", approval)
        try:
            await self._decided(control, act, stored.spend(approval.vault, approval.id, self.now()))
        except NotFound:
            return False
        return True

    async def _mine(self, who: Principal, id: str) -> Approval:
        """An open question of this very caller."""
        found = await stored.find(await self.stores.control(), who.vault, id)
        if found is None or not is_open(found, self.now()) or not _asked(found, who):
            raise _over()
        return found

    async def _decidable(self, control: Database, who: Principal, vault: VaultId, id: str) -> tuple[Vault, Approval]:
        member, found = await members.find(control, vault, who.user), await vaults.find(control, vault)
        approval = await stored.find(control, vault, id)
        if member is None or member.role not in DECIDERS or found is None:
            raise _over()
        if approval is None or not is_open(approval, self.now()):
            raise _over()
        return found, approval

    def _act(self, who: Principal, action: str, approval: Approval) -> Entry:
        return entry(who, self.new_id(), self.now(), action, target=approval.id, vault=approval.vault)

    async def _decided(self, control: Database, act: Entry, write: Write) -> None:
        """One decision with its line in the trail, or neither."""
        try:
            await control.apply([*await acts.written(control, act, "vault", id=act.vault), write])
        except Conflict:
            raise _over() from None

    def _unsealed(self, state: str) -> list[str]:
        try:
            found: list[str] = self.keyring.open(_PURPOSE, state, LIFE)
        except NotFound:
            raise _over() from None
        return found


async def _name(control: Database, approval: Approval) -> str:
    """What the app or key that asked is called."""
    grant = await grants.find(control, approval.vault, approval.credential_id)
    if grant is not None:
        return grant.client_name
    found = [key.name for key in await keys.of_vault(control, approval.vault) if key.id == approval.credential_id]
    return found[0] if found else ""


def _asked(approval: Approval, who: Principal) -> bool:
    return (approval.action, approval.user, approval.credential_id) == (ACTION, who.user, who.holder)


def _bound(who: Principal, parameters: Mapping[str, Any]) -> list[str]:
    """What a state is good for: this caller, and this call."""
    call = hashlib.sha256(json.dumps([ACTION, parameters], sort_keys=True).encode()).hexdigest()
    return [who.user, who.vault, who.credential, who.holder, call]


def _over() -> NotFound:
    return NotFound("nothing was deleted: this question is over, or it is not yours to answer")
