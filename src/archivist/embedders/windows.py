"""How long text is divided: even, overlapping windows that leave nothing out; of a query, both ends only."""

QUERY_STRETCH = 4_000
"""Characters read from either end of a query; what lies between is not looked at. Bounds the time a query takes."""

QUERY_WINDOWS = 2

STRETCH_BYTES = 1_500
"""Within the 512 tokens that the smallest models in use read at once."""


def spans(length: int, size: int, overlap: int) -> list[slice]:
    """Windows over `length` items, each of at most `size`, neighbours sharing at least `overlap` (< size).

    As few as possible, and as even as possible, so that the last one is not a crumb. At least one, even if empty.
    """
    if length <= size:
        return [slice(0, length)]
    count = -(-(length - overlap) // (size - overlap))
    last = length - size
    starts = [last * number // (count - 1) for number in range(count)]
    return [slice(start, start + size) for start in starts]


def ends(text: str) -> list[str]:
    """The parts of a query that are read: all of it, or its first and its last QUERY_STRETCH characters."""
    if len(text) <= 2 * QUERY_STRETCH:
        return [text]
    return [text[:QUERY_STRETCH], text[-QUERY_STRETCH:]]


def stretches(text: str) -> list[str]:
    """Windows of a text for a model whose tokens are not known: about STRETCH_BYTES of UTF-8 each.

    Bytes tell more than characters: a token is about four of them in English, and three, a character, in Chinese.
    """
    size = max(1, STRETCH_BYTES * len(text) // max(1, len(text.encode("utf-8", "replace"))))
    return [text[span] for span in spans(len(text), size, size // 10)]


def both_ends(text: str) -> list[str]:
    """At most QUERY_WINDOWS of the `stretches` of a query: its beginning and, if it is long, its end."""
    windows = [window for part in ends(text) for window in stretches(part)]
    return windows if len(windows) <= QUERY_WINDOWS else [windows[0], windows[-1]]
