"""`archivist prove`: found means found on a second connection, and nothing of it stays."""

import json


def proof(done):
    return json.loads(done.stdout)


def steps(done):
    return [step["step"] for step in proof(done)["steps"]]


def test_the_proof_starts_a_server_of_its_own_finds_the_phrase_and_leaves_no_trace(archivist_with_model):
    done = archivist_with_model("prove", "--json")
    assert done.returncode == 0, done.stderr.decode()
    assert proof(done)["found"]
    assert "start a server for the moment" in steps(done)
    assert b"spare key" not in archivist_with_model("export").stdout
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
    assert text.count(" ms ") == 4


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
