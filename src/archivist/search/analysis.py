"""Text into index tokens: one analyser for every backend, for documents and for queries.

A token never holds white space, quotes or combining marks, so every full-text engine that splits on blanks keeps it
whole. Every pattern here matches in linear time.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from archivist.search.stemming import stem
from archivist.search.stopwords import LANGUAGES, UNSPACED

LONGEST_TOKEN = 128
"""Characters. A longer word is indexed by its beginning, a longer identifier by its parts alone."""

QUERY_TERMS = 64
"""No query is looked up by more terms than this."""

_VOICING = "\u3099\u309a"  # the kana marks: か and が are different letters, not an accent apart
_INVISIBLE = "\u00ad\u200c\u200d\u2060\ufeff"  # soft hyphen and joiners: the word goes on behind them
_APOSTROPHES = str.maketrans("\u2018\u2019\u02bc\uff07", "''''")

# Scripts written without blanks: every character is a token. Kana, Han; Thai, Lao, Tibetan, Myanmar, Khmer.
_UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
)
_HANGUL = "\uac00-\ud7a3"
_SPACED_OUT = re.compile(f"([{_UNSPACED}]|[{_HANGUL}]+)")
_IS_HANGUL = re.compile(f"[{_HANGUL}]")
_CHUNK = re.compile(r"\w+(?:[-._/:@'+#=&?%~\\]{1,3}\w+)*(?:\+\+|#)?")
_COARSE = re.compile(r"[/:@+#=&?%~\\]+")  # between the steps of a path, an address, a qualified name
_FINE = re.compile(r"[-._']+")  # inside a step
_QUESTION_WORDS = re.compile("|".join(UNSPACED))
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def analyse(text: str) -> list[str]:
    """The distinct tokens of `text`, in the order in which they first occur.

    Words are folded (NFKC, case, diacritics) and lightly stemmed. An identifier gives itself and its parts:
    `src/app/main.py` gives `src/app/main.py`, `src`, `app`, `main.py`, `main`, `py`.
    """
    plain = _SPACED_OUT.sub(r" \1 ", _plain(text))
    tokens: dict[str, None] = {}
    for match in _CHUNK.finditer(plain):
        tokens.update(dict.fromkeys(_tokens_of(match[0])))
    return list(tokens)


def query_terms(text: str) -> list[str]:
    """The distinct terms that a query asks for, at most QUERY_TERMS: stop words only if there is nothing else.

    Of a longer query the terms are taken evenly from its whole length.
    """
    tokens = analyse(_QUESTION_WORDS.sub(" ", text)) or analyse(text)
    stop = _stop_tokens_for(tokens)
    telling = [token for token in tokens if token not in stop] or tokens
    if len(telling) <= QUERY_TERMS:
        return telling
    return [telling[i * len(telling) // QUERY_TERMS] for i in range(QUERY_TERMS)]


def _stop_tokens_for(tokens: Sequence[str]) -> frozenset[str]:
    """The stop words of the language that most of `tokens` speak for: `son` is one in French, `war` in German."""
    votes = [len(words.intersection(tokens)) for words in _stop_tokens()]
    return frozenset().union(*(words for words, n in zip(_stop_tokens(), votes, strict=True) if n == max(votes)))


@cache
def _stop_tokens() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(analyse(words)) for words in LANGUAGES)


def _plain(text: str) -> str:
    """`text` in NFKC without combining marks and invisible joiners, typographic apostrophes made plain."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    kept = [c for c in unicodedata.normalize("NFD", text) if c.isascii() or _stays(c)]
    return unicodedata.normalize("NFKC", "".join(kept))


def _stays(character: str) -> bool:
    if character in _VOICING:
        return True
    return not unicodedata.category(character).startswith("M") and character not in _INVISIBLE


def _tokens_of(chunk: str) -> Iterator[str]:
    """The tokens of one run without blanks."""
    if chunk.isalnum():
        yield from _word(chunk)
        return
    chunk = chunk.removesuffix("'s").removesuffix("'S").strip("_")
    if len(chunk) <= LONGEST_TOKEN:
        yield from _whole(chunk)
    for step in _COARSE.split(chunk):
        if step != chunk and not step.isalnum() and len(step) <= LONGEST_TOKEN:
            yield from _whole(step)
        for part in _FINE.split(step):
            if part:
                yield from _word(part)


def _whole(identifier: str) -> Iterator[str]:
    if identifier and not identifier.isalnum():
        yield identifier.casefold()


def _word(word: str) -> Iterator[str]:
    """The tokens of letters and digits alone: a mixed-case identifier whole and in parts, Hangul in pairs."""
    if _IS_HANGUL.match(word):
        yield from _pairs(word)
        return
    parts = _CAMEL.split(word)
    if len(parts) > 1:
        yield word[:LONGEST_TOKEN].casefold()
    for part in parts:
        yield stem(part[:LONGEST_TOKEN].casefold())


def _pairs(word: str) -> Iterator[str]:
    """Every two neighbours of a Korean word, so that it is found with any particle behind it."""
    yield from (word[i : i + 2] for i in range(max(1, len(word) - 1)))
