"""What browsers are called in a list of one's own."""

import pytest

from archivist.web.agents import readable

CHROME = "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/145.0.0.0 {}Safari/537.36"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0", "Firefox on Linux"),
        (CHROME.format("Windows NT 10.0; Win64; x64", ""), "Chrome on Windows"),
        (CHROME.format("Windows NT 10.0; Win64; x64", "Edg/145.0 "), "Edge on Windows"),
        (CHROME.format("Linux; Android 16; K", "Mobile "), "Chrome on Android"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 15_0) Version/19.0 Safari/605.1.15", "Safari on macOS"),
        ("curl/8.9", "curl/8.9"),
        ("x" * 200, "x" * 40),
        ("", ""),
    ],
)
def test_a_browser_is_called_by_its_name_and_its_system(agent, name):
    assert readable(agent) == name
