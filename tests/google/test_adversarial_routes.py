"""The routes of a Google account against the server's own OpenAPI document: 0 answers of 500 and above."""

# What schemathesis gives is typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import logging
import queue
import random
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from schemathesis import Case
from tests.google.adversary import Den, begun, world
from tests.http.endless import short_work
from tests.http.site import TOKENS
from tests.http.test_schemathesis import CHECKS, kinds, visit
from tests.waiting import HANG_SECONDS

CASES = 25


class Visitor:
    """Sends cases, as a person or as a program; half of the callbacks bring an answer that Google did give."""

    def __init__(self, here: Den, loop: asyncio.AbstractEventLoop) -> None:
        self._here, self._loop = here, loop
        self._session = requests.Session()
        # Neither a proxy nor a password of whoever runs the tests.
        self._session.trust_env = False
        self._chance = random.Random(0)
        self.told: Counter[tuple[str, int]] = Counter()

    def send(self, case: Case[Any]) -> None:
        headers = {} if self._chance.random() < 0.1 else {"Authorization": f"Bearer {TOKENS['ada']}"}
        headers["Accept"] = self._chance.choice(["application/json", "text/html", "*/*"])
        if case.path.endswith("/callback") and self._chance.random() < 0.5:
            tab = self._do(begun(self._here, self._here.ada))
            answer = parse_qs(urlsplit(tab.target).query)
            case.query |= {name: answer[name][0] for name in ("state", "code")}
            case.query.pop("error", None)
            headers["Cookie"] = tab.cookie
        self._session.cookies.clear()
        url = self._here.site.url
        with short_work():
            answer = case.call(url, self._session, headers, timeout=HANG_SECONDS, allow_redirects=False)
        case.validate_response(answer, checks=CHECKS)
        self.told[case.operation.label, answer.status_code] += 1

    def close(self) -> None:
        self._session.close()

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(HANG_SECONDS)


@contextmanager
def server(path: Path) -> Generator[Visitor]:
    """A server in a thread of its own, to which ada has connected an account."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    found: queue.Queue[Den] = queue.Queue()

    async def serve() -> None:
        async with world(path) as here:
            found.put(here)
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    try:
        visitor = Visitor(found.get(timeout=HANG_SECONDS), loop)
        yield visitor
        visitor.close()
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(HANG_SECONDS)
        assert not thread.is_alive()
        loop.close()


@pytest.mark.slow
def test_every_answer_about_an_account_fits_the_document_and_none_is_a_5xx(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    every = [(operation, mode) for operation, mode in kinds() if operation.path.startswith("/api/google/")]
    with server(tmp_path) as visitor:
        for operation, mode in every:
            visit(visitor, operation, mode, most=CASES, turn=0)  # pyright: ignore[reportArgumentType]
    print(dict(visitor.told))
    assert {status for _, status in visitor.told if status >= 500} == set()
    done = {label for label, status in visitor.told if status < 400}
    assert done == {operation.label for operation, _ in every}
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
