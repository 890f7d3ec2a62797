"""Names that apps give themselves: made harmless to show, and recognised when they pass for somebody else."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.domain.client_names import resembles, shown_name

ACUTE = "\u0301"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("Claude Code", "Claude Code"),
        ("  My\t\tnotes\r\n app ", "My notes app"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("evil\u202egpj.exe", "evilgpj.exe"),
        ("\u2066a\u2069\u200e\u200f\u061c", "a"),
        ("Cl\u200bau\u200dde\ufeff\u2060\u00ad", "Claude"),
        ("Cla\ufe0fude\U000e0100\U000e0041", "Claude"),
        ("a\u034fb\u3164c\u115fd\uffa0e\u17b4", "abcde"),
        ("a\u2028b\u2029c\u0085d\u00a0e\u3000f\u2800g", "a b c d e f g"),
        ("a\x00b\x1bc\x7fd", "abcd"),
        ("a\ud800b\ue000c\U000effffd", "abcd"),
        ("a" + ACUTE, "á"),
        ("o" + ACUTE * 9 + "k", "ó" + ACUTE * 5 + "k"),
        (ACUTE * 3 + "a", "a"),
        ("Приложение 記憶 メモ မြို့", "Приложение 記憶 メモ မြို့"),
        ("x" * 65, "x" * 64),
        ("x" * 63 + " y", "x" * 63),
        ("x" * 10_000, "x" * 64),
        ("\u200b" * 10, ""),
        (" \n ", ""),
        ("", ""),
        (None, ""),
        (7, ""),
        (["Claude"], ""),
    ],
)
def test_sec_040_a_name_is_shown_short_and_without_what_deceives(raw, shown):
    assert shown_name(raw) == shown


@given(st.text(max_size=200) | st.text(alphabet="aé\u0301\u0316\u0345\u200b\ufe0f \n\u1160", max_size=80))
def test_sec_040_every_shown_name_is_one_short_visible_line(raw):
    shown = shown_name(raw)
    assert len(shown) <= 64
    assert shown == shown.strip() == unicodedata.normalize("NFC", shown) == shown_name(shown)
    assert not {unicodedata.category(letter) for letter in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def punycode(label: str) -> str:
    return "xn--" + label.encode("punycode").decode()


@pytest.mark.parametrize(
    ("name", "host", "known"),
    [
        ("Claude", "evil.example", "Claude"),
        ("claude code (official)", "evil.example", "Claude"),
        ("Cl\u200baude", "evil.example", "Claude"),
        ("Clаudе", "evil.example", "Claude"),
        ("C1aude", "evil.example", "Claude"),
        ("CIaude", "evil.example", "Claude"),
        ("c.l.a.u.d.e", "evil.example", "Claude"),
        ("𝐂𝐥𝐚𝐮𝐝𝐞", "evil.example", "Claude"),
        ("Ｃｌａｕｄｅ", "evil.example", "Claude"),
        ("Clau\u0300de", "evil.example", "Claude"),
        ("Chat GPT", "evil.example", "ChatGPT"),
        ("0penAI", "evil.example", "OpenAI"),
        ("Codex CLI", "evil.example", "Codex"),
        ("Cursοr", "evil.example", "Cursor"),
        ("Gernini", "evil.example", "Gemini"),
        ("G00gle Drive", "evil.example", "Google"),
        ("Git-Hub", "evil.example", "GitHub"),
        ("Microsoft Copilot", "evil.example", "Copilot"),
        ("VS Code", "evil.example", "VS Code"),
        ("Visual Studio Code", "evil.example", "Visual Studio"),
        ("Windsurf", "evil.example", "Windsurf"),
        ("Archivist", "evil.example", "Archivist"),
        ("Claude", "claude.ai.evil.example", "Claude"),
        ("Claude", "notclaude.ai", "Claude"),
        ("Claude", "openai.com", "Claude"),
        ("Notes", "claude-ai.example", "Claude"),
        ("Notes", "login.claude.ai.evil.example", "Claude"),
        ("Notes", "cl-aude.example", "Claude"),
        ("Notes", "c1aude.example", "Claude"),
        ("Notes", punycode("clаude") + ".example", "Claude"),
        ("Notes", "github.com.evil.example", "GitHub"),
        ("Notes", "my-archivist.example", "Archivist"),
    ],
)
def test_sec_042_a_known_name_beside_a_host_of_somebody_else_is_named(name, host, known):
    assert resembles(name, host) == known


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("Claude", "claude.ai"),
        ("Claude", "claude.com"),
        ("Claude Code by Anthropic", "api.anthropic.com"),
        ("ChatGPT connector for Google Drive", "chatgpt.com"),
        ("Codex", "chatgpt.com"),
        ("Cursor", "www.cursor.com"),
        ("Visual Studio Code", "vscode.dev"),
        ("GitHub Copilot", "vscode.dev"),
        ("Gemini", "gemini.google"),
        ("My notes", "notes.example.org"),
        ("Precursor", "precursor.example"),
        ("My notes", "abc.ngrok.app"),
        ("", "app.example"),
        ("Notes", "xn--\u0300.example"),
        ("Notes", "xn--99999999999.example"),
    ],
)
def test_sec_042_an_owner_and_an_honest_stranger_are_not_warned_about(name, host):
    assert resembles(name, host) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", ""])
def test_sec_042_a_target_on_the_computer_says_nothing_about_a_name(host):
    assert resembles("Claude Code", host) is None


def test_sec_042_the_operators_own_names_may_be_borne_by_the_own_host_only():
    assert resembles("Acme memory", "evil.example", ["Acme"]) == "Acme"
    assert resembles("Notes", "acme-login.example", ["Acme"]) == "Acme"
    assert resembles("Acme memory", "app.memory.acme.example", ["Acme"], "memory.acme.example") is None
    assert resembles("Archivist", "memory.acme.example", ["Acme"], "memory.acme.example") is None


def test_an_own_name_of_two_letters_is_found_nowhere():
    assert resembles("Notes to go", "evil.example", ["To", ""]) is None
