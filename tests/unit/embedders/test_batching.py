"""Which windows are embedded together, and in which order."""

import numpy as np
import pytest

from archivist.embedders.batching import BATCH_TOKENS, Backlog, Request, Window


class Words:
    """Cuts at `|`; a window has as many tokens as it has letters."""

    def __init__(self) -> None:
        self.cut = 0

    def passage(self, text: str) -> list[list[int]]:
        self.cut += 1
        return [[1] * len(part) for part in text.split("|")]

    def query(self, text: str) -> list[list[int]]:
        return self.passage(text)


class Broken(Words):
    def passage(self, text: str) -> list[list[int]]:
        if text == "bad":
            raise ValueError(text)
        return super().passage(text)


def backlog_of(*requests: Request) -> Backlog:
    backlog = Backlog()
    for request in requests:
        backlog.add(request)
    return backlog


def embed(windows: list[Window]) -> None:
    for window in windows:
        window.request.put(window, np.full(2, len(window.tokens), np.float32))


def emptied(backlog: Backlog) -> list[list[int]]:
    """The lengths in each batch until nothing is left."""
    lengths = []
    while windows := backlog.batch(Words()):
        lengths.append([len(window.tokens) for window in windows])
        embed(windows)
    return lengths


def test_requests_that_wait_together_become_one_batch():
    assert emptied(backlog_of(*[Request(["a" * 20], urgent=False) for _ in range(8)])) == [[20] * 8]


def test_questions_go_before_passages():
    passage, question = Request(["pppp"], urgent=False), Request(["q"], urgent=True)
    backlog = backlog_of(passage, question)
    (first,) = backlog.batch(Words())
    assert first.request is question
    (second,) = backlog.batch(Words())
    assert second.request is passage


def test_a_batch_holds_windows_of_like_length_longest_first():
    texts = ["a" * length for length in (40, 400, 44, 4, 38, 410)]
    assert emptied(backlog_of(Request(texts, urgent=False))) == [[44, 40, 38], [400], [4], [410]]


def test_a_batch_stays_within_its_tokens_unless_one_window_is_longer():
    assert all(
        len(lengths) * max(lengths) <= BATCH_TOKENS
        for lengths in emptied(backlog_of(Request(["a" * 100] * 30, urgent=False)))
    )
    assert emptied(backlog_of(Request(["a" * (BATCH_TOKENS + 1)] * 2, urgent=False))) == [[BATCH_TOKENS + 1]] * 2


def test_an_answer_has_the_windows_of_each_text_in_order():
    request = Request(["a|bbbbbbbbbbbbbbbbbbbbbbbbbbbb|cc", "dddd"], urgent=False)
    emptied(backlog_of(request))
    first, second = request.answer.result(timeout=0)
    assert first[:, 0].tolist() == [1, 28, 2]
    assert second[:, 0].tolist() == [4]


def test_what_nobody_waits_for_is_dropped():
    gone, kept = Request(["aaaa"], urgent=False), Request(["aaaa"], urgent=False)
    backlog = backlog_of(gone, kept)
    gone.answer.cancel()
    (window,) = backlog.batch(Words())
    assert window.request is kept
    assert backlog.batch(Words()) == []
    assert not backlog


def test_a_caller_who_leaves_while_being_embedded_does_no_harm():
    request = Request(["aaaa"], urgent=False)
    windows = backlog_of(request).batch(Words())
    request.answer.cancel()
    embed(windows)
    request.fail(ValueError())
    assert request.answer.cancelled()


def test_a_text_that_cannot_be_cut_fails_its_own_request_only():
    bad, good = Request(["ok", "bad"], urgent=False), Request(["fine"], urgent=False)
    backlog = backlog_of(bad, good)
    windows = backlog.batch(Broken())
    embed(windows)
    with pytest.raises(ValueError, match="bad"):
        bad.answer.result(timeout=0)
    assert len(good.answer.result(timeout=0)) == 1


def test_many_texts_are_not_all_cut_before_the_first_is_embedded():
    cutter = Words()
    backlog_of(Request(["a" * 20] * 10_000, urgent=False)).batch(cutter)
    assert cutter.cut < 100


def test_draining_gives_each_open_request_once_and_leaves_nothing():
    long = "|".join(["a" * 300] * 3)
    begun, waiting, gone = Request([long, "d"], urgent=False), Request(["e"], urgent=True), Request(["f"], urgent=False)
    backlog = backlog_of(begun, gone)
    embed(backlog.batch(Words()))
    backlog.add(waiting)
    gone.answer.cancel()
    assert sorted(map(id, backlog.drain())) == sorted(map(id, [begun, waiting]))
    assert not backlog
