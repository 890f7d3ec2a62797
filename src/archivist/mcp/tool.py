"""What a tool is: its entry in the catalogue, its arguments, and the function that carries it out."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from archivist.domain.errors import ApprovalRequired, ArchivistError, InvalidArgument
from archivist.domain.operations import SCOPES
from archivist.domain.times import iso
from archivist.http import wire
from archivist.mcp import arguments
from archivist.mcp.arguments import Arguments, Schema
from archivist.mcp.asking import Question
from archivist.mcp.call import Call


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool found. `text` is what people and models read; without it they get the JSON."""

    structured: dict[str, Any]
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. `reads`: changes nothing. `destroys`: what it does cannot be undone."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    output: Schema
    run: Callable[[Call, Any], Awaitable[Outcome | Question]]
    reads: bool = False
    destroys: bool = False
    repeatable: bool = True

    def listed(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it; `securitySchemes` also stands in `_meta`, for clients that look there."""
        schemes = self.security()
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": arguments.schema(self.arguments),
            "outputSchema": self.output,
            "annotations": {
                "readOnlyHint": self.reads,
                "destructiveHint": self.destroys,
                "idempotentHint": self.repeatable,
                "openWorldHint": False,
            },
            "_meta": {"securitySchemes": schemes},
        }

    def security(self) -> list[dict[str, Any]]:
        """What a client must be allowed in order to call this."""
        return [{"type": "oauth2", "scopes": [SCOPES[self.name].value]}]

    async def result(self, call: Call, values: dict[str, Any]) -> dict[str, Any]:
        """The result of a call; what the caller did wrong, or what is out of order, is a result too."""
        try:
            outcome = await self.run(call, arguments.parse(self.arguments, values))
        except ArchivistError as exc:
            return failure(exc)
        if isinstance(outcome, Question):
            return outcome.result()
        text = outcome.text or wire.write(outcome.structured).decode()
        return {"content": [{"type": "text", "text": text}], "structuredContent": outcome.structured}


def output(properties: Schema, *required: str) -> Schema:
    """An output schema: `properties`, of which `required` are there unless `error` is."""
    alternatives = [{"required": list(required)}, {"required": ["error"]}]
    return {"type": "object", "properties": properties, "anyOf": alternatives}


def failure(error: ArchivistError) -> dict[str, Any]:
    """An error as a tool result, so that the model reads it and can mend its call."""
    named = {"field": error.field} if isinstance(error, InvalidArgument) else {}
    told = {"code": error.code, **named, "message": error.detail, "retryable": error.retryable}
    if isinstance(error, ApprovalRequired):
        told |= {"approval_url": error.link, "expires_at": iso(error.expires)}
    text = f"{error.code}: {error.detail}"
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"error": told}, "isError": True}
