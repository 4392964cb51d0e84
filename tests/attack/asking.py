"""Visitors who ask a server for /healthz again and again: `python -m tests.attack.asking URL PROCESS`.

In a process of their own, so that they wait for nobody but the server. They ask from one line of input to the next, and
then print a list of how long each answer took: by the clock, and without the time in which other programs kept the
server's event loop from running, which is its main thread.
"""

import http.client
import json
import sys
import threading
import time
from contextlib import closing
from urllib.parse import urlsplit

from tests.waiting import kept_waiting

VISITORS = 4
PAUSE = 0.002


def _ask(url: str, process: int, over: threading.Event, waits: list[tuple[float, float]]) -> None:
    place = urlsplit(url)
    with closing(http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)) as connection:
        # Once at least: on a busy machine all may be over before a visitor has started.
        is_over = False
        while not is_over:
            is_over = over.wait(PAUSE)
            began, kept = time.monotonic(), kept_waiting(process, process)
            connection.request("GET", "/healthz")
            response = connection.getresponse()
            response.read()
            assert response.status == 200
            passed = time.monotonic() - began
            waits.append((passed, max(0.0, passed - (kept_waiting(process, process) - kept))))


def _main(url: str, process: int) -> None:
    while sys.stdin.readline():
        over = threading.Event()
        waits: list[tuple[float, float]] = []
        visitors = [threading.Thread(target=_ask, args=(url, process, over, waits)) for _ in range(VISITORS)]
        for visitor in visitors:
            visitor.start()
        sys.stdin.readline()
        over.set()
        for visitor in visitors:
            visitor.join()
        print(json.dumps(waits), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
