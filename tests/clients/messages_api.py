"""A stand-in for the Messages API: a model that makes the tool calls it was given, one a turn, and then is done."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.clients.visits import Call


class ScriptedModel:
    """`results` holds what the tools answered, in the order of the calls."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self.results: list[str] = []
        self.app = Starlette(
            routes=[
                Route("/v1/messages", self._message, methods=["POST"]),
                Route("/{path:path}", self._nothing, methods=["GET", "POST", "HEAD"]),
            ]
        )

    async def _message(self, request: Request) -> Response:
        asked: dict[str, Any] = await request.json()
        answered = [block for message in asked["messages"] for block in _results_in(message)]
        if not asked.get("tools"):  # a side question, such as for the title of the conversation
            return _said(asked, {"type": "text", "text": "A visit"})
        self.results = [json.dumps(block["content"]) for block in answered]
        if len(answered) == len(self._calls):
            return _said(asked, {"type": "text", "text": "Done."})
        name, arguments = self._calls[len(answered)]
        return _said(asked, {"type": "tool_use", "id": f"toolu_{len(answered)}", "name": name, "input": arguments})

    async def _nothing(self, _request: Request) -> Response:
        return JSONResponse({"input_tokens": 1})


def _results_in(message: dict[str, Any]) -> list[dict[str, Any]]:
    blocks = message["content"] if isinstance(message["content"], list) else []
    return [block for block in blocks if block["type"] == "tool_result"]


def _said(asked: dict[str, Any], block: dict[str, Any]) -> Response:
    """The answer that consists of this block, streamed if that was asked for."""
    reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "usage": usage}
    if not asked.get("stream"):
        return JSONResponse({**message, "content": [block], "stop_reason": reason, "stop_sequence": None})
    if reason == "tool_use":
        start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return StreamingResponse(_streamed(events), media_type="text/event-stream")


async def _streamed(events: Sequence[dict[str, Any]]) -> AsyncIterator[str]:
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
