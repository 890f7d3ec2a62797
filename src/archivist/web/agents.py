"""What a browser is called, by what it says of itself: enough to tell one's own apart, and nothing is decided by it."""

_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
"""Marks and names, the rarer first: most browsers also claim to be those below them."""

_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_LENGTH = 40


def readable(agent: str) -> str:
    """`Firefox on Linux`; of an unknown browser the beginning of what it says, "" if that is nothing."""
    browser = next((name for mark, name in _BROWSERS if mark in agent), agent[:_LENGTH].strip())
    system = next((name for mark, name in _SYSTEMS if mark in agent), "")
    known = browser in {name for _mark, name in _BROWSERS}
    return f"{browser} on {system}" if known and system else browser
