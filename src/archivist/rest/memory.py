"""`/v1/memory/{id}`: one memory with its lineage, and its deletion, alone or with everything that was built on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from archivist.app import App
from archivist.domain.access import Principal
from archivist.domain.errors import InvalidArgument, NotFound
from archivist.domain.limits import EXCERPT_LENGTH
from archivist.domain.memories import Memory, shortened
from archivist.domain.times import iso
from archivist.http.site import Site
from archivist.rest.calling import Calls, answered
from archivist.services.deletion import DELETE_SELECTED, Deletion
from archivist.services.derived import DerivedDeletion, Going, Preview
from archivist.services.lineage import Inspection

PATH = "/v1/memory"
HANDLE = "derived"
"""The parameter by which a deletion takes along what was built on the memory: the handle of its preview."""


def memory_routes(app: App, site: Site) -> list[Route]:
    """The routes."""
    served = _Memory(app, site)
    return [
        Route(f"{PATH}/{{id}}", served.one, methods=["GET", "DELETE"]),
        Route(f"{PATH}/{{id}}/derived", served.preview, methods=["GET"]),
    ]


@dataclass(frozen=True, slots=True)
class _Memory:
    app: App
    site: Site

    @property
    def _calls(self) -> Calls:
        needs = "this needs a key or an access token, as `Authorization: Bearer` and the credential"
        recognise = partial(self.app.entering.authenticate, toolset="vault")
        return Calls(app=self.app, site=self.site, path=PATH, needs=needs, recognise=recognise)

    async def one(self, request: Request) -> Response:
        if request.method != "DELETE":
            return await self.inspect(request)
        return await (self.delete_derived(request) if HANDLE in request.query_params else self.delete(request))

    async def inspect(self, request: Request) -> Response:
        async def work(who: Principal) -> Response:
            return answered(200, _inspected(await self.app.lineage.inspect(who, request.path_params["id"])))

        return await self._calls.answered(request, "inspect_memory", work)

    async def preview(self, request: Request) -> Response:
        async def work(who: Principal) -> Response:
            return answered(200, _previewed(await self.app.derived.preview(who, [request.path_params["id"]])))

        return await self._calls.answered(request, "derived preview", work)

    async def delete(self, request: Request) -> Response:
        async def work(who: Principal) -> Response:
            if request.query_params:
                raise InvalidArgument(HANDLE, "is the only parameter of this address")
            done = await self.app.deletion.delete(who, [request.path_params["id"]], DELETE_SELECTED)
            if not done.deleted:
                raise NotFound("no memory has this id")
            return answered(200, _deleted(done))

        return await self._calls.answered(request, "delete_memories", work)

    async def delete_derived(self, request: Request) -> Response:
        async def work(who: Principal) -> Response:
            if [name for name, _ in request.query_params.multi_items()] != [HANDLE]:
                raise InvalidArgument(HANDLE, "must come once, and is the only parameter of this address")
            handle, id = request.query_params[HANDLE], request.path_params["id"]
            return answered(200, _deleted(await self.app.derived.delete(who, handle, DELETE_SELECTED, of=[id])))

        return await self._calls.answered(request, "derived delete", work)


def _row(memory: Memory) -> dict[str, Any]:
    """Its date is when it was said, which for imported text is not when it came here."""
    return {
        "id": memory.id,
        "tier": memory.tier,
        "importance": memory.importance,
        "text": memory.text,
        "created_at": iso(memory.event),
        "source_context": memory.source_context,
        "tags": list(memory.tags),
    }


def _inspected(found: Inspection) -> dict[str, Any]:
    itself = _row(found.memory)
    above = [{**_row(one), "text": shortened(one.text, EXCERPT_LENGTH)} for one in found.above]
    return {
        "memory_id": itself.pop("id"),
        **itself,
        "sources": [{**_row(one.row.memory), "edited": one.edited} for one in found.sources],
        "sources_total": found.sources_total,
        "sources_deleted": found.sources_deleted,
        "sources_edited": found.sources_edited,
        "truncated": found.truncated,
        "covers": {"from": iso(found.first) if found.first else None, "to": iso(found.last)},
        "consolidated_into": above,
        "consolidated_into_truncated": found.more_above,
    }


def _previewed(found: Preview) -> dict[str, Any]:
    return {
        "memories": _going(found.named),
        "reflections": _going(found.reflections),
        "total": len(found.named) + len(found.reflections),
        "handle": found.handle,
        "expires_at": iso(found.expires),
    }


def _going(memories: Sequence[Going]) -> list[dict[str, Any]]:
    """What a caller may not see is left out."""
    return [
        {
            "id": one.id,
            "tier": one.tier,
            **({"importance": one.importance} if one.importance is not None else {}),
            **({"text": one.excerpt} if one.excerpt is not None else {}),
            **({"created_at": iso(one.date)} if one.date is not None else {}),
        }
        for one in memories
    ]


def _deleted(done: Deletion | DerivedDeletion) -> dict[str, Any]:
    return {
        "deleted_ids": list(done.deleted),
        "reflections_kept": list(done.reflections_kept),
        "primary_cleared": done.primary_cleared,
        "mirror_cleared": done.mirror_cleared,
        "mirror": "cleared" if done.mirror else "disabled",
        "state": done.state,
    }
