"""The first time, by the clock: clone, `make demo`, sign in by its link, approve what waits. `make first-time`.

What is timed is what a newcomer waits for, not how fast they read. Everything is made anew in a folder that goes away
again; packages come from wherever pip and npm get them here.
"""

import http.cookiejar
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

REPOSITORY: Final = Path(__file__).parent.parent
CONSOLE: Final = re.compile(r"console\s+(http://127\.0\.0\.1:\d+)(/login\?token=\S+)")
LONGEST: Final = 900.0


class Watch:
    """Says what is done, and how long that took."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()

    def __call__(self, what: str) -> None:
        now = time.monotonic()
        print(f"{now - self._began:7.1f} s  (+{now - self._last:.1f})  {what}", flush=True)
        self._last = now


class Browser:
    """As much of one as it takes: cookies, and the header that goes with them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(self._jar)
        self._csrf = ""

    def open(self, path: str) -> bytes:
        with self._opener.open(self._url + path, timeout=30) as answer:
            return answer.read()

    def sign_in(self, link: str) -> None:
        self.open(link)
        self._csrf = json.loads(self.open("/api/session"))["csrf"]

    def post(self, path: str, body: dict[str, Any]) -> Any:
        headers = {"content-type": "application/json", "x-pollux-csrf": self._csrf}
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), headers)
        with self._opener.open(request, timeout=60) as answer:
            return json.load(answer)


def main() -> int:
    watch = Watch()
    with tempfile.TemporaryDirectory(prefix="pollux-first-") as name:
        clone = Path(name) / "pollux"
        subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(clone)], check=True, timeout=LONGEST)
        watch("cloned")
        with demo(clone) as lines:
            found = next((match for line in lines if (match := CONSOLE.search(line))), None)
            if found is None:
                print("make demo has shown no console", file=sys.stderr)
                return 1
            watch("make demo: set up, built, running")
            browser = Browser(found[1])
            browser.sign_in(found[2])
            browser.open("/console")
            watch("signed in, in the console")
            [waiting] = json.loads(browser.open("/api/agent/approvals/pending"))["items"]
            answer = browser.post(
                "/api/agent/approvals/resolve",
                {"approvalId": waiting["id"], "decision": "approve_once", "argsHash": waiting["argsHash"]},
            )
            if answer["run"]["state"] != "completed":
                print(f"expected a completed run, found {answer['run']['summary']}", file=sys.stderr)
                return 1
            watch(f"approved and done: {waiting['tool']} to {', '.join(waiting['subjects'])}")
    return 0


@contextmanager
def demo(clone: Path) -> Iterator[Iterator[str]]:
    """`make demo` in a clone, and what it says. Ended as by Ctrl-C."""
    process = subprocess.Popen(
        ["make", "--silent", "demo"],
        cwd=clone, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield iter(process.stdout.readline, "")
    finally:
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


if __name__ == "__main__":
    sys.exit(main())
