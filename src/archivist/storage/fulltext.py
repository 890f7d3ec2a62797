"""The full-text table of a SQLite vault file. What its terms are, and how to ask for them, is the search floor's."""

# Every ASCII character but the blank belongs to a token, as all others do with the `ascii` tokenizer: what is indexed
# is exactly what the analyser put between blanks (of ASCII letters, the small form; at most 32 KiB of a token).
_TOKEN_CHARACTERS = "".join(chr(code) for code in range(1, 128) if code != ord(" ") and not chr(code).isalnum())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_TOKENIZER = _quoted(f"ascii tokenchars {_quoted(_TOKEN_CHARACTERS)}")

# Plain contentless, never contentless_delete: its tombstones keep the words in the file. Deleting hands the same terms
# back through the 'delete' command, and with secure-delete on no trace of them stays in the index.
FTS_DDL = (
    f"CREATE VIRTUAL TABLE fts USING fts5(terms, content='', detail=none, tokenize={_TOKENIZER})",
    "INSERT INTO fts(fts, rank) VALUES ('secure-delete', 1)",
    "CREATE VIRTUAL TABLE fts_terms USING fts5vocab(fts, 'row')",
)
