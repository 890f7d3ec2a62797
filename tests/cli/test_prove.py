"""`archivist prove`: found means found on a second connection, and nothing of it stays."""

import json

from archivist.cli.prove import PLACES
from tests.cli.test_commands import LINE

CROWD = list(enumerate(place for place in PLACES for _ in range(20)))


def proof(done):
    return json.loads(done.stdout)


def steps(done):
    return [step["step"] for step in proof(done)["steps"]]


def test_the_proof_starts_a_server_of_its_own_finds_the_phrase_and_leaves_no_trace(archivist_with_model):
    done = archivist_with_model("prove", "--json")
    assert done.returncode == 0, done.stderr.decode()
    assert proof(done)["found"]
    assert "start a server for the moment" in steps(done)
    assert b"gardener" not in archivist_with_model("export").stdout
    assert json.loads(archivist_with_model("keys", "list", "--json").stdout) == []
    phrase = proof(done)["phrase"].encode()
    assert [
        path for path in archivist_with_model.data.rglob("*") if path.is_file() and phrase in path.read_bytes()
    ] == []


def test_the_proof_uses_the_server_that_runs(archivist_with_model):
    with archivist_with_model.serving() as origin:
        done = archivist_with_model("prove", "--url", origin)
        assert done.returncode == 0, done.stderr.decode()
        text = done.stdout.decode()
    assert "Found:" in text
    assert "start a server" not in text
    assert text.count(" ms ") == 5


def test_without_a_model_the_proof_finds_by_words_and_says_so(archivist):
    done = archivist("prove", "--json")
    assert done.returncode == 0, done.stderr.decode()
    assert proof(done)["found"]
    assert "words alone" in proof(done)["note"]


def test_a_public_address_where_nothing_runs_does_not_mislead_the_proof(archivist):
    done = archivist("prove", "--json", ARCHIVIST_PUBLIC_URL="https://localhost:1")
    assert done.returncode == 0, done.stderr.decode()
    assert proof(done)["found"]


def test_a_server_on_another_folder_proves_nothing(archivist, tmp_path):
    stranger = type(archivist)(tmp_path / "other", archivist.environment)
    with stranger.serving() as origin:
        done = archivist("prove", "--url", origin)
    assert done.returncode == 1
    assert b"serves this data folder" in done.stderr


def test_the_printed_address_can_be_given_as_it_is_printed(archivist):
    with archivist.serving() as origin:
        done = archivist("prove", "--url", f"{origin}/mcp", "--json")
    assert done.returncode == 0, done.stderr.decode()
    assert "start a server for the moment" not in steps(done)


def test_with_a_model_the_proof_waits_for_it_and_finds_by_meaning(archivist_with_model):
    done = archivist_with_model("prove", "--json")
    assert done.returncode == 0, done.stderr.decode()
    assert proof(done)["note"] == ""
    assert "wait for the model" in steps(done)


def test_a_phrase_that_is_not_found_fails_the_proof(archivist):
    """Many memories hold more of the question's words than the sentence does, and by words alone they come first."""
    memories = [
        {**LINE, "id": f"0193b000-0000-7000-8000-{n:012x}", "text": f"password for the {place} {n}"}
        for n, place in CROWD
    ]
    lines = b"".join(json.dumps({**line, "title": line["text"]}).encode() + b"\n" for line in memories)
    assert archivist("import", "-", stdin=lines).returncode == 0
    done = archivist("prove", "--json")
    assert (done.returncode, proof(done)["found"]) == (1, False)
