"""Eight people who sign in over and over, each in a thread, until they are told to stop: `signing_in.py PORT`."""

import http.client
import re
import signal
import sys
import threading
from urllib.parse import urlencode

PEOPLE = 8
PASSWORD = "correct horse battery staple"
_TOKEN = re.compile(r'name="csrf" value="([^"]+)"')
_done = threading.Event()


def main(port: int) -> None:
    """Prints a line once all have begun, and at the end how many sign-ins there were."""
    signal.signal(signal.SIGTERM, lambda *_: _done.set())
    counts = [0] * PEOPLE
    begun = threading.Barrier(PEOPLE + 1)
    threads = [threading.Thread(target=_sign_in, args=(port, number, counts, begun)) for number in range(PEOPLE)]
    for thread in threads:
        thread.start()
    begun.wait()
    print("begun", flush=True)
    _done.wait()
    for thread in threads:
        thread.join()
    print(sum(counts), flush=True)


def _sign_in(port: int, number: int, counts: list[int], begun: threading.Barrier) -> None:
    begun.wait()
    while not _done.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/sign-in")
        page = connection.getresponse()
        cookie = (page.getheader("set-cookie") or "").partition(";")[0]
        found = _TOKEN.search(page.read().decode())
        form = {"csrf": found[1] if found else "", "name": f"person-{number}", "password": PASSWORD}
        headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/sign-in", urlencode(form), headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 303:
            raise SystemExit(f"signing in was answered with {answer.status}")
        counts[number] += 1
        connection.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
