"""`archivist reflect`: a model that the owner names reflects on a vault, without any assistant."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import click

from archivist.app import App
from archivist.cli.options import bar, data_option, json_option, settings_of, vault_option, within
from archivist.cli.tables import print_table
from archivist.domain.access import Principal, Scope
from archivist.domain.errors import InvalidArgument, Refused
from archivist.domain.limits import BATCH_TOKENS, BATCH_TOKENS_DEFAULT
from archivist.domain.reflections import Debt
from archivist.domain.times import iso
from archivist.mcp.tools.reflections import contract, remaining
from archivist.reflecting.chat import Chat, endpoint
from archivist.reflecting.drafting import conversation, entries_of, once_more
from archivist.services.reflection import Checkout, Committed

_SCOPES = frozenset({Scope.READ, Scope.REFLECT})
_MOST_BATCHES = 1_000
_LONGEST = 400
"""Seconds for an answer; two of them and what goes around fit into the time for which memories are lent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a run came to. calls: of the model. debt: what is left; reason: why it ended, if nothing could be lent."""

    batches: int = 0
    entries: int = 0
    sources: int = 0
    calls: int = 0
    debt: Debt | None = None
    reason: str = ""


@click.command("reflect")
@vault_option
@click.option(
    "--model", metavar="URL#NAME", help="An OpenAI-compatible server (Ollama, llama.cpp, vLLM) and its model."
)
@click.option(
    "--max-tokens",
    type=click.IntRange(*BATCH_TOKENS),
    help=f"Of memories handed out at once, default {BATCH_TOKENS_DEFAULT}; given, it also allows a batch of few.",
)
@click.option(
    "--batches", type=click.IntRange(1, _MOST_BATCHES), default=50, show_default=True, help="At most so many."
)
@click.option("--timeout", type=click.IntRange(1, _LONGEST), default=300, show_default=True, help="Seconds an answer.")
@click.option("--dry-run", is_flag=True, help="Show what would be handed out first; ask nobody, change nothing.")
@json_option
@data_option
def reflect_command(  # noqa: PLR0917 — click gives them by name
    vault: str | None,
    model: str | None,
    max_tokens: int | None,
    batches: int,
    timeout: int,
    dry_run: bool,
    as_json: bool,
    data: Path | None,
) -> None:
    """Let a model of yours reflect on a vault until little is left: it gets memories, and writes what they amount to.

    The memories leave this computer if the model's server is elsewhere. The model gets no tools, and its answers are
    checked as everybody's are. ARCHIVIST_REFLECT_KEY is sent as its key if it is set.
    """
    settings = settings_of(data=data)
    if dry_run:
        shown = within(settings, lambda app: _preview(app, vault, max_tokens))
        _print_preview(shown, as_json=as_json)
        return
    if model is None:
        raise click.UsageError("--model URL#NAME is needed, unless it is a --dry-run")
    chat = endpoint(model, settings.reflect_key, timeout)

    async def run(app: App) -> Done:
        who = await app.local(vault, _SCOPES)
        await app.embedder.start()
        await app.embedder.settle()
        return await _reflect(app, who, chat, max_tokens=max_tokens, most=batches)

    _print_done(within(settings, run), as_json=as_json)


async def _preview(app: App, vault: str | None, max_tokens: int | None) -> Checkout:
    return await app.reflections.preview(await app.local(vault, _SCOPES), max_tokens=max_tokens)


async def _reflect(app: App, who: Principal, chat: Chat, *, max_tokens: int | None, most: int) -> Done:
    """Batch after batch, until so little waits that nobody would be asked to reflect, or nothing can be lent."""
    begin = await app.reflections.debt(who)
    done = Done(debt=begin)
    with bar("Memories", begin.memories + begin.reflections) as progress:
        while done.batches < most:
            lent = await app.reflections.checkout(who, None, max_tokens)
            if lent.batch is None:
                return replace(done, debt=lent.remaining, reason=lent.reason)
            committed, calls = await _committed(app, who, lent, lent.batch.id, chat)
            progress.update(committed.sources)
            done = replace(
                done,
                batches=done.batches + 1,
                entries=done.entries + len(committed.entries),
                sources=done.sources + committed.sources,
                calls=done.calls + calls,
                debt=committed.debt,
            )
            if committed.debt is None or not committed.debt.available:
                break
    return done


async def _committed(app: App, who: Principal, lent: Checkout, batch: str, chat: Chat) -> tuple[Committed, int]:
    """What came of a batch, and how often the model was asked: a second time if its first answer cannot be taken.

    Raises:
        Refused: neither can. The memories stay lent until their time is over, or until this is run again.
    """
    messages = conversation(contract(lent.memories[0].tier + 1), lent.memories)
    wrong = ""
    for call in (1, 2):
        answer = await chat.answer(messages)
        try:
            return await app.reflections.commit(who, batch, entries_of(answer, lent.memories)), call
        except InvalidArgument as error:
            wrong = error.detail
            messages += once_more(answer, wrong)
    raise Refused(f"the model answered twice what cannot be taken, and this batch was not written: {wrong}")


def _print_preview(shown: Checkout, *, as_json: bool) -> None:
    if as_json:
        rows = [
            {"id": one.id, "date": iso(one.event), "tier": one.tier, "tokens": one.tokens, "text": one.text}
            for one in shown.memories
        ]
        waiting = remaining(shown.remaining)
        click.echo(json.dumps({"memories": rows, "reason": shown.reason, "remaining": waiting}, ensure_ascii=False))
        return
    if not shown.memories:
        click.echo(f"Nothing would be handed out: {shown.reason}.")
        return
    print_table(
        ["DATE (UTC)", "TIER", "TOKENS", "ID", "TITLE"],
        [[f"{one.event:%Y-%m-%d}", str(one.tier), str(one.tokens), one.id, one.title] for one in shown.memories],
    )


def _print_done(done: Done, *, as_json: bool) -> None:
    left = None if done.debt is None else remaining(done.debt)
    if as_json:
        counts = {name: getattr(done, name) for name in ("batches", "entries", "sources", "calls", "reason")}
        click.echo(json.dumps({**counts, "remaining": left}))
        return
    if not done.batches:
        click.echo(f"Nothing to reflect on: {done.reason}.")
        return
    batches = "1 batch" if done.batches == 1 else f"{done.batches} batches"
    click.echo(f"{done.entries} reflections written on {done.sources} memories, in {batches}.")
    if done.debt is not None and (done.debt.memories or done.debt.reflections):
        click.echo(f"{done.debt.memories} memories and {done.debt.reflections} reflections still wait.", err=True)
