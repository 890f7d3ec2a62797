"""Asking the person in the middle of a call, as revision 2026-07-28 does it (multi-round-trip requests).

The question goes out as the result. The client puts it to its person and makes the same call again, with the answer
and with the state that came along with the question.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import mcp_types as types

from archivist.mcp.era import CAPABILITIES_KEY, MODERN

Mode = Literal["form", "url"]
"""form: the client shows the question itself. url: it offers to open a page."""


@dataclass(frozen=True, slots=True)
class Round:
    """What a call says about questions: the modes that its client takes, and the answers that it brings back.

    answers: by the name of the question, what the person did: `accept`, `decline` or `cancel`.
    """

    modes: frozenset[Mode] = frozenset()
    state: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A result that is a question. link: where mode `url` leads."""

    name: str
    mode: Mode
    message: str
    link: str
    state: str

    def result(self) -> dict[str, Any]:
        """As the protocol spells it. A form asks for nothing but a yes: there is no field to fill in."""
        if self.mode == "url":
            params: dict[str, Any] = {"mode": "url", "message": self.message, "url": self.link}
        else:
            schema = {"type": "object", "properties": {}}
            params = {"mode": "form", "message": self.message, "requestedSchema": schema}
        asked = {self.name: {"method": "elicitation/create", "params": params}}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": self.state}


def round_of(version: str, raw: Mapping[str, Any] | None, params: types.CallToolRequestParams) -> Round:
    """What a call of revision `version` says; nothing in the revisions before, or if the client cannot ask.

    raw: the parameters as they came, with their `_meta`.
    """
    meta = (raw or {}).get("_meta")
    declared = meta.get(CAPABILITIES_KEY) if isinstance(meta, Mapping) else None
    elicitation = declared.get("elicitation") if isinstance(declared, Mapping) else None
    if version != MODERN or not isinstance(elicitation, Mapping):
        return Round()
    modes: set[Mode] = {mode for mode in ("form", "url") if isinstance(elicitation.get(mode), Mapping)}
    answers = {
        name: answer.action
        for name, answer in (params.input_responses or {}).items()
        if isinstance(answer, types.ElicitResult)
    }
    return Round(frozenset(modes or {"form"}), params.request_state, answers)
