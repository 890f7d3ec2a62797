"""A tool that an owner may have to approve: the question in its client, and what becomes of the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError

from archivist.domain.errors import ApprovalRequired, NotFound
from archivist.mcp import rpc
from archivist.mcp.asking import Mode, Question
from archivist.mcp.call import Call
from archivist.mcp.tool import Outcome

if TYPE_CHECKING:  # the catalogue is answered before the services are loaded
    from archivist.services.approvals import Put

NAME = "approval"
"""What the question is called among those of a result."""


async def approved(
    call: Call, parameters: Mapping[str, Any], work: Callable[[], Awaitable[Outcome]]
) -> Outcome | Question | None:
    """What `work` finds, the question that its owner must answer first, or None if the answer was no.

    parameters: of the call; an answer is good for the same ones only.

    Raises:
        ApprovalRequired: it must be approved, and this client cannot be asked, or has said that it will be.
        MCPError: the state is none that we gave this caller for this call, or it is over; nothing was touched.
    """
    answer = call.round.answers.get(NAME) if call.round.state is not None else None
    if call.round.state is not None and answer is not None:
        try:
            await call.app.approvals.answered(call.who, call.round.state, parameters, yes=answer == "accept")
        except NotFound as error:
            raise MCPError(rpc.INVALID_PARAMS, f"requestState: {error.detail}; call again without it") from None
        if answer != "accept":
            return None
    try:
        return await work()
    except ApprovalRequired as error:
        mode = _mode(call, error)
        if mode is None or answer is not None:
            raise
        put = await call.app.approvals.put(call.who, error.approval, mode, parameters)
        return Question(name=NAME, mode=mode, message=_message(put, mode), link=error.link, state=put.state)


def _message(put: Put, mode: Mode) -> str:
    what = f"all {put.memories} memories" if put.memories != 1 else "the one memory"
    if mode == "form":
        return f"Delete {what} of the vault “{put.vault}”, for good? Nothing has been deleted yet."
    return f"An owner decides whether {what} of the vault “{put.vault}” may be deleted for good. Open the page."


def _mode(call: Call, error: ApprovalRequired) -> Mode | None:
    """How this client can be asked; an answer in it counts only where the vault allows that."""
    if error.in_client and "form" in call.round.modes:
        return "form"
    return "url" if "url" in call.round.modes else None
