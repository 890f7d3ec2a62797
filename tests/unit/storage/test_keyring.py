"""The server's own secrets: made once, kept private, exchanged whole, and nothing weak in their place."""

import base64
import json
import os
import stat
import threading
from datetime import timedelta

import pytest

from archivist.domain.errors import NotFound, Refused
from archivist.storage.keyring import Keyring
from tests.builders import Clock
from tests.waiting import until

SEQUENCE = bytes(range(32))
PHRASE = b"change-me-change-me-change-me-ab"
ALPHABET = b"abcdefghijklmnopqrstuvwxyz012345"


def a_key(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "server.key"


@pytest.fixture
def keyring(path, clock):
    made = Keyring(path, clock)
    made.prepare()
    return made


def test_what_was_sealed_for_a_purpose_opens_for_it_alone_and_in_every_process(keyring, path, clock):
    sealed = keyring.seal("visit", ["a", 1])
    assert Keyring(path, clock).open("visit", sealed) == ["a", 1]
    with pytest.raises(NotFound):
        keyring.open("another", sealed)
    for broken in (sealed[:-2], sealed[:20] + ("A" if sealed[20] != "A" else "B") + sealed[21:], "", "é", "x" * 5000):
        with pytest.raises(NotFound):
            keyring.open("visit", broken)


def test_a_seal_is_good_for_its_time(keyring, clock):
    sealed = keyring.seal("visit", 1)
    clock.move(minutes=15)
    assert keyring.open("visit", sealed, timedelta(minutes=15)) == 1
    clock.move(seconds=1)
    with pytest.raises(NotFound):
        keyring.open("visit", sealed, timedelta(minutes=15))


def test_sec_129_the_file_is_private_from_the_start_and_random_at_every_first_start(keyring, path, tmp_path, clock):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    other = tmp_path / "other.key"
    Keyring(other, clock).prepare()
    assert other.read_bytes() != path.read_bytes()
    (key,) = json.loads(path.read_text())["keys"]
    assert len(base64.urlsafe_b64decode(key)) == 32


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o777], ids=oct)
def test_sec_129_a_file_that_others_can_read_is_refused_with_the_mend(keyring, path, clock, mode):
    path.chmod(mode)
    with pytest.raises(Refused, match=f"run: chmod 600 {path}"):
        Keyring(path, clock).prepare()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "changeme",
        "[]",
        "{}",
        '{"keys": []}',
        '{"keys": ["changeme"]}',
        '{"keys": [7]}',
        json.dumps({"keys": [a_key(bytes(32))]}),
        json.dumps({"keys": [a_key(b"\xff" * 32)]}),
        json.dumps({"keys": [a_key(b"\x00\x9c" * 16)]}),
        json.dumps({"keys": [a_key(SEQUENCE)]}),
        json.dumps({"keys": [a_key(PHRASE)]}),
        json.dumps({"keys": [a_key(ALPHABET)]}),
        json.dumps({"keys": [a_key(os.urandom(16))]}),
        json.dumps({"keys": [a_key(os.urandom(32)), a_key(bytes(32))]}),
    ],
    ids=range(15),
)
def test_sec_129_what_is_no_secret_of_a_generator_is_refused_with_the_mend(path, clock, content):
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(Refused, match="restore it from a backup, or remove it"):
        Keyring(path, clock).prepare()


def test_what_the_server_makes_is_never_taken_for_weak(path, clock):
    keyring = Keyring(path, clock)
    for _ in range(300):
        keyring.rotate()
    assert keyring.versions == 2


def test_of_many_first_starts_at_once_one_makes_the_secret_and_all_use_it(path, clock):
    sealed = []
    start = threading.Barrier(8)

    def begin():
        keyring = Keyring(path, clock)
        start.wait()
        keyring.prepare()
        sealed.append(keyring.seal("visit", 1))

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [Keyring(path, clock).open("visit", one) for one in sealed] == [1] * 8
    assert [file.name for file in path.parent.iterdir()] == ["server.key"]


def test_sec_130_while_others_seal_and_open_a_secret_is_exchanged_and_nothing_fails(keyring, path, clock):
    """The traffic has a keyring of its own, as in another process, and opens what it has just sealed."""
    stop, failures, rounds = threading.Event(), [], []

    def traffic():
        theirs = Keyring(path, clock)
        while not stop.is_set():
            try:
                theirs.open("visit", theirs.seal("visit", 1))
                rounds.append(1)
            except Exception as error:
                failures.append(error)

    def passed():
        """Traffic that began after this moment has gone through."""
        seen = len(rounds)
        until(lambda: failures or len(rounds) > seen + 1, "traffic goes on")

    thread = threading.Thread(target=traffic)
    thread.start()
    for number in range(20):
        before = keyring.seal("visit", number)
        keyring.rotate()
        passed()
        assert keyring.open("visit", before) == number
        keyring.strike()
        passed()
        with pytest.raises(NotFound):
            keyring.open("visit", before)
    stop.set()
    thread.join()
    assert failures == []


def test_sec_130_an_exchange_in_one_process_is_known_in_another_at_once(keyring, path, clock):
    other = Keyring(path, clock)
    sealed = other.seal("visit", 1)
    keyring.rotate()
    assert other.versions == 2
    resealed = other.reseal(sealed)
    keyring.strike()
    assert other.open("visit", resealed) == 1
    with pytest.raises(NotFound):
        other.open("visit", sealed)
    with pytest.raises(NotFound):
        other.reseal(sealed)


def test_the_third_secret_strikes_the_first_one_off(keyring):
    sealed = keyring.seal("visit", 1)
    keyring.rotate()
    keyring.rotate()
    with pytest.raises(NotFound):
        keyring.open("visit", sealed)
    assert keyring.versions == 2


def test_an_exchange_is_on_disk_with_its_name_before_anybody_relies_on_it(keyring, path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    keyring.rotate()
    assert synced == [False, True]
