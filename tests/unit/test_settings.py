"""What an owner sets: where it is read from, what wins, what is refused."""

import pytest

from archivist.domain.errors import Refused
from archivist.settings import load


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path):
    (tmp_path / "archivist.toml").write_text('port = 1\nhost = "127.0.0.1"\nlog_level = "error"\n')
    environment = {"ARCHIVIST_DATA": str(tmp_path), "ARCHIVIST_PORT": "2", "ARCHIVIST_HOST": "::1"}
    settings = load(environment, port=3, host=None)
    assert (settings.port, settings.host, settings.log_level) == (3, "::1", "error")


def test_the_file_is_found_in_a_folder_below_home_too(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "archivist.toml").write_text("port = 1\n")
    settings = load({"ARCHIVIST_DATA": "~/memory"})
    assert (settings.port, settings.data) == (1, tmp_path / "memory")


@pytest.mark.parametrize(
    ("environment", "file", "named"),
    [
        ({"ARCHIVIST_PROT": "1"}, "", "ARCHIVIST_PROT is not a setting"),
        ({"ARCHIVIST_PORT": "x"}, "", "setting port"),
        ({"ARCHIVIST_PUBLIC_URL": "http://memory.example.org"}, "", "setting public_url"),
        ({"ARCHIVIST_EMBEDDER": "openai"}, "", "setting embedder"),
        ({}, "prot = 1", "setting prot"),
        ({}, "port =", "cannot be read as TOML"),
    ],
)
def test_what_nothing_would_obey_is_refused_by_name(tmp_path, environment, file, named):
    (tmp_path / "archivist.toml").write_text(file)
    with pytest.raises(Refused, match=named):
        load({"ARCHIVIST_DATA": str(tmp_path), **environment})


@pytest.mark.parametrize(
    "url",
    [
        "http://memory.example.org",
        "http://192.168.1.5:8765",
        "http://127.0.0.1.example.org",
        "http://localhost.",
        "ftp://x",
    ],
)
def test_sec_084_a_public_address_without_https_is_refused_unless_it_is_this_computer(tmp_path, url):
    with pytest.raises(Refused, match="setting public_url"):
        load({"ARCHIVIST_DATA": str(tmp_path), "ARCHIVIST_PUBLIC_URL": url})


@pytest.mark.parametrize(
    "url", ["https://memory.example.org", "http://127.0.0.1:8765", "http://localhost:8765", "http://[::1]:8765"]
)
def test_sec_084_https_or_this_computer_is_taken_and_is_the_issuer_letter_by_letter(tmp_path, url):
    settings = load({"ARCHIVIST_DATA": str(tmp_path), "ARCHIVIST_PUBLIC_URL": url})
    assert (settings.public_url, settings.origin) == (url, url)


def test_sec_084_the_issuer_of_an_outside_provider_has_https_too(tmp_path):
    with pytest.raises(Refused, match="setting provider"):
        load({"ARCHIVIST_DATA": str(tmp_path), "ARCHIVIST_PROVIDER": "http://accounts.example.org"})
