"""The log: one line an event on stderr, as text for people on a terminal and as JSON for machines.

No memory text, query, prompt or credential is ever given to it.
"""

import logging
import sys

import structlog

_KEY_NAMES = frozenset({"authorization", "key", "token", "text", "query", "content", "password", "secret"})


def configure(level: str) -> None:
    """Set the log up for this process, the standard library's loggers included."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_secrets,
    ]
    people = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if people else structlog.processors.JSONRenderer(ensure_ascii=False)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer], foreign_pre_chain=shared
        )
    )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    logging.getLogger("mcp").setLevel(logging.ERROR)  # its warnings can quote what a client sent


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger that says `name` on each line."""
    return structlog.stdlib.get_logger(name)


def _without_secrets(
    _logger: structlog.typing.WrappedLogger, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """The last door: a field with such a name was given by mistake, so its value stays out."""
    return {name: "…" if name in _KEY_NAMES else value for name, value in event.items()}
