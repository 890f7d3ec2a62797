"""The log: one line an event on stderr, as text for people on a terminal and as JSON for machines.

No memory text, query, prompt or credential is ever given to it.
"""

import logging
import sys
import traceback

import structlog
from pydantic_core import to_json

_KEY_NAMES = frozenset({"authorization", "key", "token", "text", "query", "content", "password", "secret"})


def configure(level: str) -> None:
    """Set the log up for this process, the standard library's loggers included."""
    least = logging.getLevelNamesMapping()[level.upper()]
    renderer = (
        structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer(serializer=_json)
    )
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_secrets,
    ]
    # Our own events are written at once: on the way through the standard library each would cost three times as much.
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    _take_in_others(least, shared, renderer)


def _take_in_others(least: int, shared: list[structlog.typing.Processor], renderer: structlog.typing.Processor) -> None:
    """What the standard library's loggers say comes out in the same form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer], foreign_pre_chain=shared
        )
    )
    logging.basicConfig(level=least, handlers=[handler], force=True)
    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, least))
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # its messages can quote what a client sent; ours do not


def logger(name: str) -> structlog.typing.FilteringBoundLogger:
    """A logger that says `name` on each line."""
    made: structlog.typing.FilteringBoundLogger = structlog.get_logger(source=name)
    return made


def unexpected(error: BaseException, reference: str) -> None:
    """Log the class of an exception that nobody foresaw, and where it came from, by the id that the caller is told."""
    name = type(error).__qualname__
    logger("archivist").error("unexpected", reference=reference, error=name, place=place_of(error))


def place_of(error: BaseException) -> str:
    """The frames that an exception went through, without its text: that may quote what a caller sent or stored."""
    return "".join(traceback.format_tb(error.__traceback__))


def _json(event: structlog.typing.EventDict, **_options: object) -> str:
    """One line; what is no JSON value is shown as Python writes it."""
    return to_json(event, fallback=repr, inf_nan_mode="null").decode()


def _without_secrets(
    _logger: structlog.typing.WrappedLogger, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """The last door: a field with such a name was given by mistake, so its value stays out."""
    if _KEY_NAMES.isdisjoint(event):
        return event
    return {name: "…" if name in _KEY_NAMES else value for name, value in event.items()}
