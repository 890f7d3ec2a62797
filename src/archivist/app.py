"""The composition root: settings become services. The only module that names concrete classes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal, TypedDict
from urllib.parse import urlsplit

from archivist.domain.access import ALL_SCOPES, LOCAL_OWNER, Principal, Scope
from archivist.domain.ids import CONTROL, uuid7
from archivist.domain.times import utc_now
from archivist.embedders.builtin import BuiltinEmbedder
from archivist.embedders.embedder import Embedder
from archivist.embedders.http import HttpEmbedder
from archivist.embedders.none import NoEmbedder
from archivist.fetching.cached import CachedDocuments
from archivist.fetching.documents import GuardedFetch
from archivist.fetching.provider import Provider
from archivist.mirror.eraser import Eraser
from archivist.mirror.mirror import Mirror
from archivist.mirror.noticing import NoticingStores
from archivist.search.entries import Entries
from archivist.search.indexes import Indexes
from archivist.search.keyword.sqlite_fts5 import SqliteFts5
from archivist.services.accounts import Accounts
from archivist.services.approvals import Approvals
from archivist.services.authorizations import Authorizations
from archivist.services.clients import Clients, Policy
from archivist.services.connections import Connections
from archivist.services.counting import Counting
from archivist.services.deletion import Deletions
from archivist.services.derived import Derived
from archivist.services.entering import Entering
from archivist.services.factors import Factors
from archivist.services.keys import Keys
from archivist.services.lineage import Lineage
from archivist.services.members import Members
from archivist.services.memories import Memories
from archivist.services.outside import Outside
from archivist.services.owing import Owing
from archivist.services.passwords import Hashing, Passwords, common_passwords
from archivist.services.people import People
from archivist.services.reflection import Reflections
from archivist.services.sealing import Sealing
from archivist.services.search import Search
from archivist.services.sign_in import SignIn
from archivist.services.status import Statuses
from archivist.services.throttling import Throttling
from archivist.services.tokens import Tokens
from archivist.services.trail import Trail
from archivist.services.transfer import Transfer
from archivist.services.vaults import Vaults
from archivist.settings import Settings
from archivist.storage import vaults as stored_vaults
from archivist.storage.keyring import FILE as KEY_FILE
from archivist.storage.keyring import Keyring
from archivist.storage.sqlite.stores import SqliteStores
from archivist.storage.stores import Stores
from archivist.workers.embedding import Embedding
from archivist.workers.erasing import Erasing
from archivist.workers.flushing import Flushing
from archivist.workers.mirroring import Mirroring
from archivist.workers.rounds import attempted
from archivist.workers.tidying import Tidying

OWNER = Principal(LOCAL_OWNER, CONTROL, ALL_SCOPES, "cli", "local", administrator=True)
"""Whoever can run commands on this computer: makes vaults and keys, and is in no vault yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """Everything a face may call, and the workers beside it."""

    accounts: Accounts
    sign_in: SignIn
    factors: Factors
    outside: Outside
    members: Members
    people: People
    clients: Clients
    authorizations: Authorizations
    tokens: Tokens
    connections: Connections
    entering: Entering
    trail: Trail
    counting: Counting
    keys: Keys
    vaults: Vaults
    memories: Memories
    search: Search
    reflections: Reflections
    lineage: Lineage
    deletion: Deletions
    approvals: Approvals
    derived: Derived
    status: Statuses
    transfer: Transfer
    embedding: Embedding
    erasing: Erasing
    flushing: Flushing
    mirror: Mirror
    mirroring: Mirroring
    tidying: Tidying
    embedder: Embedder
    stores: Stores
    sealing: Sealing
    keyring: Keyring
    passwords: Passwords
    documents: CachedDocuments
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def start(self) -> None:
        """Open the data, begin to prepare the embedder, set the workers to work.

        Raises:
            Refused: the data folder cannot be used; one line says why and how to mend it.
        """
        control = await self.stores.control()
        await self.mirror.require_behind([CONTROL, *await stored_vaults.ids(control)])
        self.keyring.prepare()
        await self.embedder.start()
        workers = (self.embedding, self.erasing, self.flushing, self.mirroring, self.tidying)
        self._tasks.extend(asyncio.create_task(worker.run()) for worker in workers)

    async def check(self) -> None:
        """Raises Unavailable unless the data itself answers."""
        await self.stores.check()

    async def close(self) -> None:
        """End the workers, finish what is being written, let go of files."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._tasks:
            await attempted("uses wait", CONTROL, self.counting.flush(ending=True))
        await self.documents.close()
        self.passwords.close()
        await self.embedder.close()
        await self.mirroring.finish()
        await self.mirror.close()
        await self.stores.close()

    async def local(
        self, vault: str | None = None, scopes: frozenset[Scope] = ALL_SCOPES, *, by: Literal["cli", "stdio"] = "cli"
    ) -> Principal:
        """The owner of this computer's data, in the vault of that name, or in the personal one if none is named.

        As anybody else they have at most what their role in that vault allows.

        Raises:
            NotFound: there is no vault of that name, or their account is disabled.
        """
        found = await (self.vaults.personal(OWNER) if vault is None else self.vaults.named(OWNER, vault))
        process = uuid7(utc_now()) if by == "stdio" else ""
        who = Principal(LOCAL_OWNER, found.id, scopes, by, "local", administrator=by == "cli", process=process)
        return await self.entering.again(who)


def build(
    settings: Settings,
    *,
    now: Callable[[], datetime] = utc_now,
    progress: Callable[[str], None] = lambda _line: None,
    lazy: bool = False,
) -> App:
    """The services of one data folder. Nothing is opened before `App.start`.

    lazy: load the prepared built-in model at the first search, for a process that may never need it.
    progress: told a line of text now and then while the built-in model is prepared.
    """
    folder = settings.mirror_folder
    mirror = None if folder is None else SqliteStores(folder, now)
    stores = SqliteStores(settings.data, now)
    return assemble(stores, _embedder(settings, progress, lazy=lazy), now, settings, mirror=mirror)


def _embedder(settings: Settings, progress: Callable[[str], None], *, lazy: bool) -> Embedder:
    if settings.embedder == "none":
        return NoEmbedder()
    if settings.embedder == "builtin":
        models = settings.models or settings.data / "models"
        return BuiltinEmbedder(models, threads=settings.threads or None, lazy=lazy, on_progress=progress)
    return HttpEmbedder(settings.embedder, settings.embedder_model, settings.embedder_key)


def assemble(
    stores: Stores,
    embedder: Embedder,
    now: Callable[[], datetime],
    settings: Settings,
    *,
    mirror: Stores | None = None,
    hashing: Hashing | None = None,
) -> App:
    """The services over given stores and embedder. mirror: follows `stores`; None if there is none.

    hashing: what checking a password costs, if not the usual.
    """
    new_id = partial(_new_id, now)
    keywords = SqliteFts5()
    entries = Entries(keywords)
    copy = Mirror(stores, mirror, keywords, _secrets(settings))
    mirroring = Mirroring(stores, copy)
    if mirror is not None:
        stores = NoticingStores(stores, mirroring.notice)
    eraser = Eraser(stores, copy, entries, now)
    embedding, erasing = Embedding(stores, embedder, entries, now), Erasing(stores, eraser, now)
    owing = Owing()
    vaults, counting = Vaults(stores, now, new_id), Counting(stores, now, new_id)
    doors = _doors(stores, now, new_id, settings, Passwords(hashing))
    approvals = Approvals(stores, doors["keyring"], settings.origin, now, new_id)
    deletion = Deletions(stores, eraser, now, new_id, lambda who: erasing.want(who.vault), approvals)
    return App(
        **doors,
        members=Members(stores, now, new_id),
        people=People(stores, now),
        connections=Connections(stores, now, new_id),
        entering=Entering(stores, now),
        trail=Trail(stores, now, new_id),
        counting=counting,
        keys=Keys(stores, vaults, now, new_id),
        vaults=vaults,
        memories=Memories(stores, embedder, entries, now, new_id, lambda _who: embedding.wake()),
        search=Search(stores, embedder, Indexes(keywords), now),
        reflections=Reflections(stores, embedder, entries, now, new_id, owing, lambda _who: embedding.wake()),
        lineage=Lineage(stores),
        deletion=deletion,
        approvals=approvals,
        derived=Derived(stores, deletion, doors["keyring"], now),
        status=Statuses(stores, embedder, now, copy, owing),
        transfer=Transfer(stores, entries, now, new_id, lambda _who: embedding.wake()),
        embedding=embedding,
        erasing=erasing,
        flushing=Flushing(counting),
        mirror=copy,
        mirroring=mirroring,
        tidying=Tidying(stores, now),
        embedder=embedder,
        stores=stores,
    )


def _doors(
    stores: Stores, now: Callable[[], datetime], new_id: Callable[[], str], settings: Settings, passwords: Passwords
) -> "_Doors":
    """What people and apps come in by."""
    host = urlsplit(settings.origin).hostname or ""
    policy = Policy(
        registration=settings.registration,
        documents=settings.client_documents,
        schemes=frozenset(settings.app_schemes),
        allowed=frozenset(settings.document_hosts),
        denied=frozenset(settings.denied_hosts),
    )
    keyring, throttling = Keyring(settings.data / KEY_FILE, now), Throttling(now, new_id)
    factors = Factors(stores, keyring, now, new_id)
    documents = CachedDocuments(GuardedFetch(own_host=host), policy.schemes, now)
    clients = Clients(stores, documents, throttling, policy, host, now, new_id)
    return _Doors(
        accounts=Accounts(stores, passwords, common_passwords, host, now, new_id),
        sign_in=SignIn(stores, passwords, factors, throttling, now, new_id),
        factors=factors,
        clients=clients,
        authorizations=Authorizations(stores, clients, settings.origins, settings.require_resource, now, new_id),
        tokens=Tokens(stores, policy, settings.origins, now, new_id),
        outside=Outside(stores, _provider(settings, now), keyring, settings.origin, now, new_id),
        sealing=Sealing(stores, keyring, now, new_id),
        keyring=keyring,
        passwords=passwords,
        documents=documents,
    )


def _secrets(settings: Settings) -> tuple[Path, Path] | None:
    """The file of the server's own secrets, and where the mirror keeps its copy."""
    folder = settings.mirror_folder
    return None if folder is None else (settings.data / KEY_FILE, folder / KEY_FILE)


def _provider(settings: Settings, now: Callable[[], datetime]) -> Provider | None:
    if not settings.provider:
        return None
    return Provider(settings.provider, settings.provider_client, settings.provider_secret, now)


class _Doors(TypedDict):
    accounts: Accounts
    sign_in: SignIn
    factors: Factors
    clients: Clients
    authorizations: Authorizations
    tokens: Tokens
    outside: Outside
    sealing: Sealing
    keyring: Keyring
    passwords: Passwords
    documents: CachedDocuments


def _new_id(now: Callable[[], datetime]) -> str:
    return uuid7(now())
