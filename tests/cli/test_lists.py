"""Lists for people: headings, dates, columns; and how moments and spans are written."""

import json
from datetime import UTC, datetime, timedelta

import click
import pytest

from archivist.cli.moments import Moment, Span
from archivist.cli.tables import day, minute, print_table
from tests.cli.test_commands import out
from tests.cli.test_mistakes import line

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_columns_stand_under_each_other_in_any_script(capsys):
    print_table(["NAME", "OF", "ID"], [["王小明", "e\u0301", "1"], ["ab", "é", "2"]])
    assert capsys.readouterr().out == "NAME    OF  ID\n王小明  e\u0301   1\nab      é   2\n"


def test_no_cell_breaks_its_line_or_moves_the_cursor(capsys):
    print_table(["A", "B"], [["one\ntwo\x1b[2J", "x"]])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(text.isprintable() for text in lines)


def test_moments_are_shown_in_utc_and_their_absence_in_words():
    assert (day(NOON), minute(NOON), day(None), minute(None, "–")) == ("2026-11-30", "2026-11-30 12:00", "never", "–")


@pytest.mark.parametrize(
    ("text", "span"),
    [("90d", timedelta(days=90)), ("24h", timedelta(hours=24)), ("30m", timedelta(minutes=30)), ("0s", timedelta(0))],
)
def test_a_span_is_a_number_and_its_unit(text, span):
    assert Span().convert(text, None, None) == span


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "1.5h", "1y", "1d ", "999999d"])
def test_anything_else_is_no_span(text):
    with pytest.raises(click.BadParameter, match="such as 24h"):
        Span().convert(text, None, None)


def test_a_bare_day_begins_or_ends_a_window_and_a_moment_is_itself():
    assert Moment().convert("2026-11-30", None, None) == datetime(2026, 11, 30, tzinfo=UTC)
    assert Moment(ends=True).convert("2026-11-30", None, None) == datetime(2026, 12, 1, tzinfo=UTC)
    assert Moment(ends=True).convert("2026-11-30T12:00Z", None, None) == NOON


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "90d", "2026-13-01", "2026-11-30#0193b000-0000-7000-8000-00000000000a"]
)
def test_anything_else_is_no_moment(text):
    with pytest.raises(click.BadParameter, match="ISO 8601"):
        Moment().convert(text, None, None)


def test_a_key_ends_after_the_span_or_at_the_moment_that_was_named(typed):
    spanned = json.loads(out(typed("keys", "create", "--expires", "90d", "--json")))
    dated = json.loads(out(typed("keys", "create", "--expires", "2999-12-31", "--json")))
    assert spanned["expires"] > spanned["created"]
    assert dated["expires"] == "3000-01-01T00:00:00.000000Z"
    assert json.loads(out(typed("keys", "create", "--json")))["expires"] is None
    assert "future" in line(typed("keys", "create", "--expires", "2020-01-01"))
    assert typed("keys", "create", "--expires", "soon").returncode == 2


def test_keys_and_vaults_are_listed_under_headings_with_their_dates(typed):
    out(typed("keys", "create", "--name", "laptop", "--expires", "2999-12-31", "--kind", "account"))
    heading, row = out(typed("keys", "list")).splitlines()
    assert heading.split("  ")[0] == "ID"
    columns = ["-", "account", "read,write", "3000-01-01", "never", "laptop"]
    assert [word in row for word in columns] == [True] * len(columns)
    heading, row = out(typed("vaults", "list")).splitlines()
    assert heading.split() == ["MADE", "KIND", "YOU", "ARE", "ID", "NAME"]
    assert "owner" in row


def test_a_rotated_key_gets_a_successor_alone_on_stdout_with_its_name_and_rights(typed):
    made = json.loads(out(typed("keys", "create", "--name", "laptop", "--read-only", "--json")))
    done = typed("keys", "rotate", made["id"], "--overlap", "1h")
    assert out(done).startswith("mk_ro_")
    assert b"takes the place of" in done.stderr
    old, new = json.loads(out(typed("keys", "list", "--json")))
    assert (new["name"], new["scopes"], new["expires"]) == ("laptop", ["memories:read"], None)
    assert old["expires"] is not None
    assert "keys list" in line(typed("keys", "rotate", "nope"))


def test_a_key_that_was_rotated_without_overlap_is_over_at_once(typed):
    made = json.loads(out(typed("keys", "create", "--json")))
    out(typed("keys", "rotate", made["id"], "--overlap", "0s"))
    assert "expired" in out(typed("keys", "list")).splitlines()[1]
