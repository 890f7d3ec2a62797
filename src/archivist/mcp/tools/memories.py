"""The tools that keep and delete memories."""

from typing import Annotated

from pydantic import Field

from archivist.domain.limits import DELETE_IDS, SOURCE_CONTEXT_LENGTH, TAG_LENGTH, TAGS, TEXT_BYTES
from archivist.domain.times import iso
from archivist.mcp.arguments import Arguments, Schema
from archivist.mcp.asking import Question
from archivist.mcp.call import Call
from archivist.mcp.tool import Outcome, Tool, output
from archivist.mcp.tools.approving import approved

_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_WHOLE: Schema = {"type": "integer"}
_IDS: Schema = {"type": "array", "items": _TEXT}

_KEPT = "The person did not agree, so nothing was deleted."


class StoreArguments(Arguments):
    """What `store_memory` takes."""

    content: Annotated[
        str,
        Field(description=f"at most {TEXT_BYTES} bytes", json_schema_extra={"minLength": 1, "maxLength": TEXT_BYTES}),
    ]
    tags: Annotated[
        list[Annotated[str, Field(json_schema_extra={"maxLength": TAG_LENGTH})]] | None,
        Field(json_schema_extra={"maxItems": TAGS}),
    ] = None
    source_context: Annotated[
        str | None,
        Field(description="where it came from", json_schema_extra={"maxLength": SOURCE_CONTEXT_LENGTH}),
    ] = None


class DeleteArguments(Arguments):
    """What `delete_memories` takes."""

    memory_ids: Annotated[list[str], Field(json_schema_extra={"minItems": 1, "maxItems": DELETE_IDS})]
    confirmation: Annotated[str, Field(description="exactly DELETE SELECTED MEMORIES")]


class ForgetArguments(Arguments):
    """What `forget_all_memories` takes."""

    confirmation: Annotated[str, Field(description="exactly DELETE ALL MEMORIES")]


async def _store_memory(call: Call, given: StoreArguments) -> Outcome:
    stored = await call.app.memories.store(
        call.who, text=given.content, tags=given.tags or (), source_context=given.source_context or ""
    )
    created = iso(stored.created)
    receipt = {"receipt": stored.receipt, "duplicate": stored.duplicate, "created_at": created, "tier": 1}
    return Outcome({"stored": True, **receipt})


async def _delete_memories(call: Call, given: DeleteArguments) -> Outcome:
    done = await call.app.deletion.delete(call.who, given.memory_ids, given.confirmation)
    return Outcome({
        "deleted": len(done.deleted),
        "deleted_ids": list(done.deleted),
        "not_found_ids": list(done.not_found),
        "reflections_kept": list(done.reflections_kept),
        "primary_cleared": done.primary_cleared,
        "mirror_cleared": done.mirror_cleared,
        "mirror": "cleared" if done.mirror else "disabled",
        "state": done.state,
    })  # fmt: skip


async def _forget_all_memories(call: Call, given: ForgetArguments) -> Outcome | Question:
    async def work() -> Outcome:
        return await _forgotten(call, given)

    found = await approved(call, given.model_dump(), work)
    if found is None:
        return Outcome({"deleted": False, "memories_deleted": 0, "message": _KEPT}, _KEPT)
    return found


async def _forgotten(call: Call, given: ForgetArguments) -> Outcome:
    done = await call.app.deletion.forget_all(call.who, given.confirmation)
    return Outcome({
        "deleted": True,
        "memories_deleted": done.memories,
        "primary_cleared": done.primary_cleared,
        "mirror_cleared": done.mirror_cleared,
        "mirror": "cleared" if done.mirror else "disabled",
        "state": done.state,
        "message": "The vault is empty. This cannot be undone.",
    })  # fmt: skip


STORE_MEMORY = Tool(
    name="store_memory",
    title="Remember something",
    description=(
        "Remember one durable fact, decision or preference for later sessions, only when the user asks for it or "
        "agrees. One self-contained fact, best under 700 characters, with names and absolute dates. No secrets, "
        "credentials, ids, whole documents or transcripts. Search first, so that nothing is kept twice. It is saved "
        "only if the answer says stored; on an error, tell the user that it was not."
    ),
    arguments=StoreArguments,
    output=output(
        {"stored": _FLAG, "receipt": _TEXT, "duplicate": _FLAG, "created_at": _TEXT, "tier": _WHOLE},
        "stored",
        "receipt",
    ),
    run=_store_memory,
    repeatable=False,
)

_DELETED = {
    "primary_cleared": _FLAG,
    "mirror_cleared": _FLAG,
    "mirror": {"enum": ["cleared", "disabled"]},
    "state": {"enum": ["removed", "erased"]},
}

FORGET_ALL_MEMORIES = Tool(
    name="forget_all_memories",
    title="Forget everything",
    description=(
        "Delete every memory of the connected vault, for good. It cannot remove single items: that is "
        "delete_memories. Only when the user has asked for exactly this and has confirmed it; any other "
        "confirmation text leaves the vault unchanged."
    ),
    arguments=ForgetArguments,
    output=output({"deleted": _FLAG, "memories_deleted": _WHOLE, "message": _TEXT} | _DELETED, "deleted"),
    run=_forget_all_memories,
    destroys=True,
)

DELETE_MEMORIES = Tool(
    name="delete_memories",
    title="Delete selected memories",
    description=(
        "Delete single memories of any tier, for good. First show the user exactly what will go and get their yes. "
        "Ids come from search results; a receipt is not an id. Reflections built on a deleted memory stay."
    ),
    arguments=DeleteArguments,
    output=output(
        {"deleted": _WHOLE, "deleted_ids": _IDS, "not_found_ids": _IDS, "reflections_kept": _IDS} | _DELETED,
        "deleted_ids",
    ),
    run=_delete_memories,
    destroys=True,
)
