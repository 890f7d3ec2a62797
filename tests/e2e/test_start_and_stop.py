"""Starting and stopping a server: it drains, it says in one line why it cannot start, and it leaves nothing behind."""

import signal
import socket
from contextlib import ExitStack

import httpx2
import pytest

from tests.e2e import inspecting
from tests.e2e.callers import Refusal, over_http
from tests.e2e.load import Load
from tests.e2e.processes import Place, Server


def kept(place: Place) -> set[str]:
    return {row.text for row in inspecting.memories(place.data)}


def odd_files(place: Place) -> list[str]:
    """Files that are no database of ours, nor its side files, nor the server's own secrets."""
    expected = (".db", ".db-wal", ".db-shm", "server.key")
    return [str(path) for path in place.data.rglob("*") if path.is_file() and not path.name.endswith(expected)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_server_that_is_told_to_stop_under_load_loses_nothing(place: Place, number: signal.Signals):
    key = place.key()
    with place.serving() as server, over_http(server.origin, key) as call:
        load = Load(call)
        load.begin()
        assert server.stop(number) == 0
        load.end()
        _require_free_port(server)
    assert load.kept <= kept(place)
    assert not any(isinstance(error, Refusal) for error in load.refused), load.refused
    assert inspecting.faults(place.data) == []
    assert odd_files(place) == []
    assert "Traceback" not in server.started.everything()


def test_told_twice_it_does_not_wait_for_who_does_not_go(place: Place):
    key = place.key()
    with place.serving() as server, over_http(server.origin, key) as call, ExitStack() as stack:
        call("store_memory", content="the first thing")
        for _ in range(2):  # clients that began a request and never end it
            hanging = stack.enter_context(socket.create_connection(("127.0.0.1", _port(server))))
            head = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{_port(server)}\r\ncontent-length: 9\r\n\r\n"
            hanging.sendall(head.encode())
        server.started.signal(signal.SIGTERM)
        assert server.stop(signal.SIGTERM) == 0
    assert kept(place) == {"the first thing"}
    assert inspecting.faults(place.data) == []


def test_a_port_in_use_is_told_in_one_line_before_anything_is_done(place: Place):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = place.run("serve", "--port", str(port))
    assert done.returncode == 1
    assert done.stderr == (
        f"archivist: port {port} is in use; stop the program that has it, or choose another with --port\n"
    )
    assert not place.data.exists()


def test_two_servers_on_one_folder_and_a_third_after_them_are_welcome(place: Place):
    key = place.key()
    with place.serving() as one, place.serving() as two:
        with over_http(one.origin, key) as first, over_http(two.origin, key) as second:
            first("store_memory", content="said to the first")
            assert second("search_memories", query="said to the first")["results"]
        assert (one.stop(), two.stop()) == (0, 0)
    with place.serving() as three, over_http(three.origin, key) as third:
        assert third("memory_status")["totalMemories"] == 1


@pytest.mark.parametrize("file", ["control.db", "vaults"])
def test_health_tells_when_a_file_is_replaced_under_the_server(place: Place, file: str):
    key = place.key()
    with place.serving() as server, over_http(server.origin, key) as call:
        call("store_memory", content="before")
        assert httpx2.get(f"{server.origin}/health").status_code == 200
        path = place.data / file if file.endswith(".db") else inspecting.vault_files(place.data)[0]
        spoiled = path.with_name("spoiled")
        spoiled.write_bytes(b"no database at all " * 4096)
        spoiled.replace(path)
        answer = httpx2.get(f"{server.origin}/health")
        assert answer.status_code == 503
        assert answer.json()["detail"]
        assert server.stop() == 0


def test_sec_144_only_https_or_a_flag_lets_it_listen_beyond_this_computer(place: Place):
    refused = place.run("serve", "--host", "0.0.0.0", "--port", "0")
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1
    assert "--allow-plain-http" in refused.stderr
    assert not place.data.exists()
    with place.serving("--host", "0.0.0.0", "--allow-plain-http") as server:
        assert any(line.startswith("WARNING") and "WITHOUT https" in line for line in server.started.heard)
    with place.serving("--host", "0.0.0.0", "--public-url", "https://memory.example.org") as server:
        assert server.origin == "https://memory.example.org"
        assert "WARNING" not in "".join(server.started.heard)


def _port(server: Server) -> int:
    return int(server.origin.rpartition(":")[2])


def _require_free_port(server: Server) -> None:
    with socket.create_server(("127.0.0.1", _port(server))):
        pass
