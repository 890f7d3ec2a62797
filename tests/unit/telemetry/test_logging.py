"""What the log looks like."""

import json
import logging

import pytest
import structlog

from archivist.telemetry.logging import configure, logger


@pytest.fixture(autouse=True)
def as_before():
    root, handlers, level = logging.getLogger(), logging.getLogger().handlers[:], logging.getLogger().level
    others = {name: logging.getLogger(name).level for name in ("uvicorn.error", "mcp")}
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, its in others.items():
        logging.getLogger(name).setLevel(its)


def lines(capsys) -> list[dict[str, object]]:
    printed = capsys.readouterr()
    assert printed.out == ""
    return [json.loads(line) for line in printed.err.splitlines()]


def test_our_events_and_those_of_libraries_are_lines_of_one_form_on_stderr(capsys):
    configure("info")
    logger("archivist.here").info("done", count=2)
    logging.getLogger("some.library").warning("of %s", "theirs")
    ours, theirs = lines(capsys)
    assert (ours["event"], ours["level"], ours["source"], ours["count"]) == ("done", "info", "archivist.here", 2)
    assert (theirs["event"], theirs["level"]) == ("of theirs", "warning")
    assert set(theirs) == {"event", "level", "timestamp"}


def test_what_is_below_the_level_is_not_written(capsys):
    configure("warning")
    logger("archivist.here").info("done")
    logging.getLogger("some.library").info("done")
    assert lines(capsys) == []


def test_a_field_that_must_not_be_logged_is_blotted_out(capsys):
    configure("info")
    logger("archivist.here").info("done", query="my secret")
    (line,) = lines(capsys)
    assert line["query"] == "…"
