"""The running server against its own OpenAPI document: thousands of requests, fitting and not, to every route."""

# What schemathesis gives is typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import json
import logging
import queue
import random
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from itertools import count, groupby
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.http.endless import Endless, note, short_work
from tests.http.site import TOKENS
from tests.runbooks.http.site import put, runbook_site
from tests.runbooks.lab import agent as agent_block
from tests.runbooks.lab import block, id_of, script
from tests.runbooks.lab import document as runbook
from tests.waiting import HANG_SECONDS, block_until

from pollux.core.profile import Limits, Profile
from pollux.serve import document
from pollux.stores.sqlite import SqliteStore

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
PARTS = 6
"""Each has some of the operations and a server of its own, so that workers share them."""
FILE = {"name": "note.txt", "mimeType": "text/plain", "data": "aGVsbG8="}
RUNBOOK, PAUSES = "fails.runbook.json", "pauses.runbook.json"
Operation = APIOperation[Any, Any, Any, Any]
NEVER_DONE = {
    "POST /api/agent/actions/{id}/settle",
    # No Google client is configured here; tests/google has a server with one.
    "GET /api/google/connect",
    "GET /api/google/callback",
    "POST /api/google/disconnect",
}
"""What only refuses here: nothing is there for it to do."""


class Visitor:
    """Sends cases: most with a credential, and half of those that need an id with one that is there."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()
        # Neither a proxy nor a password of whoever runs the tests.
        self._session.trust_env = False
        self._chance = random.Random(0)
        self._numbers = count()
        self._run: dict[str, Any] = {}
        self.told: Counter[tuple[str, int]] = Counter()

    def send(self, case: Case[Any]) -> None:
        """One case. Raises where the answer does not fit."""
        headers = {} if self._chance.random() < 0.1 else {"Authorization": f"Bearer {TOKENS['ada']}"}
        if case.path == "/login":
            # A browser says from which page a form comes.
            headers["Origin"] = self._url
        if self._chance.random() < 0.5:
            self._lend(case)
        # Whatever was set before is forgotten: a cookie that signs in would change who asks.
        self._session.cookies.clear()
        with short_work():
            answer = case.call(self._url, self._session, headers, timeout=HANG_SECONDS, allow_redirects=False)
        case.validate_response(answer, checks=CHECKS)
        self.told[case.operation.label, answer.status_code] += 1

    def _lend(self, case: Case[Any]) -> None:
        """Put what is there where the case has something made up."""
        if "/api/runbooks" in case.path:
            self._lend_runbook(case)
            return
        if not self._run or self._chance.random() < 0.3:
            self._run = self._asked()
        if "id" in case.path_parameters:
            case.path_parameters["id"] = self._id(case.method, case.path)
        if "attachment" in case.path_parameters:
            case.path_parameters["attachment"] = "1.0"
        if isinstance(case.body, dict):
            known = {"approvalId": self._run["approvals"][0]["id"], "threadId": self._run["threadId"]}
            known |= {"token": TOKENS["ada"], "profile": "page" if "/page/" in case.path else "default"}
            known |= self._page(case.path) | {"attachments": [FILE], "args": {"to": "bob"}}
            case.body |= {name: known[name] for name in known.keys() & case.body.keys()}
        if "token" in case.query:
            case.query["token"] = TOKENS["ada"]

    def _lend_runbook(self, case: Case[Any]) -> None:
        document = self._get(f"/api/runbooks/documents?path={RUNBOOK}")
        if "path" in case.query:
            case.query["path"] = RUNBOOK
        run: dict[str, Any] = {}
        if "id" in case.path_parameters and "/blocks/" in case.path:
            case.path_parameters["id"] = id_of("ask")
        elif "id" in case.path_parameters:
            run = self._stopped(document) if "resume" in case.path or "events" in case.path else self._waiting()
            case.path_parameters["id"] = run["runId"]
        if isinstance(case.body, dict):
            known: dict[str, Any] = {
                "path": RUNBOOK,
                "digest": document["digest"],
                "retry": id_of("look"),
                "skip": None,
            }
            known |= {"source": document["source"], "props": {"prompt": f"Say {next(self._numbers)}."}}
            known |= {"variables": {"a": "b"}, "argsHash": None}
            known |= {"approvalId": run["approvals"][0]["id"]} if run.get("approvals") else {}
            case.body |= {name: known[name] for name in known.keys() & case.body.keys()}

    def _waiting(self) -> dict[str, Any]:
        """A run of a runbook that asks."""
        return self._followed({"path": PAUSES}, lambda run: bool(run["approvals"]))

    def _stopped(self, document: dict[str, Any]) -> dict[str, Any]:
        """A run of a runbook whose first block has failed."""
        started = {"path": RUNBOOK, "trust": True, "digest": document["digest"]}
        return self._followed(started, lambda run: run["state"] == "failed")

    def _followed(self, body: dict[str, Any], is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        run_id = self._post("/api/runbooks/runs", body, status=201)["runId"]

        def seen() -> dict[str, Any] | None:
            run = self._get(f"/api/runbooks/runs/{run_id}")
            return run if is_so(run) else None

        found = block_until(seen)
        assert found is not None
        return found

    def _page(self, path: str) -> dict[str, Any]:
        """What a page that has talked before would bring along."""
        if "/api/page/s" not in path:
            return {}
        shown: dict[str, Any] = {"toolDefinitions": [], "pageState": {"title": f"Mugs {next(self._numbers)}"}}
        told = self._post("/api/page/send-message", {"message": "ask" if "submit" in path else "hello", **shown})
        return {"history": told["history"], "results": [], "userToken": None, **shown}

    def _id(self, method: str, path: str) -> str:
        match [method, *path.split("/")[3:]]:
            case ["DELETE", "threads", _]:
                return self._post("/api/agent/run", {"prompt": "say something"})["threadId"]
            case ["DELETE", _] if "/sessions/" in path:
                self._post("/api/session/sign-in", {"token": TOKENS["ada"]})
                self._session.cookies.clear()
                return self._get("/api/sessions")["items"][0]["id"]
            case [_, "threads", *_]:
                return self._run["threadId"]
            case [_, "runs", _, "events"]:
                # One that has ended: the others are followed for as long as they last.
                return self._post("/api/agent/run", {"prompt": "say something"})["runId"]
            case [_, "runs", *_]:
                return self._run["runId"]
            case [_, "actions", *_]:
                return self._run["actions"][0]["id"]
            case [_, "grants", *_]:
                decision = {"decision": "approve_and_always_allow_recipient"}
                approval = self._asked()["approvals"][0]
                self._post("/api/agent/approvals/resolve", {"approvalId": approval["id"], **decision})
                return self._get("/api/agent/grants?limit=1")["items"][0]["id"]
            case _:
                return self._run["approvals"][0]["id"]

    def _asked(self) -> dict[str, Any]:
        return self._post("/api/agent/run", {"prompt": f"ask {next(self._numbers)}", "attachments": [FILE]})

    def _post(self, path: str, body: dict[str, Any], *, status: int = 200) -> dict[str, Any]:
        answer = self._session.post(self._url + path, json=body, headers={"Authorization": f"Bearer {TOKENS['ada']}"})
        assert answer.status_code == status, answer.text
        return answer.json()

    def _get(self, path: str) -> dict[str, Any]:
        return self._session.get(self._url + path, headers={"Authorization": f"Bearer {TOKENS['ada']}"}).json()

    def close(self) -> None:
        self._session.close()


@contextmanager
def server(path: Path) -> Generator[str]:
    """A server in a thread of its own; its address."""
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    found: queue.Queue[str] = queue.Queue()

    async def serve() -> None:
        store = SqliteStore(path / "pollux.db", key=b"k" * 32)
        profiles = {name: Profile(name, tools=("note",), limits=Limits(model_calls=3)) for name in ("default", "page")}
        limits: dict[str, Any] = {"burst": 10**9, "requests_per_minute": 10**12}
        put(path / "runbooks", RUNBOOK, runbook(script("look", "exit 3"), agent_block("ask", "Say it.")))
        put(path / "runbooks", PAUSES, runbook(block("pause", "wait")))
        async with runbook_site(path, Endless(), tools=[note()], store=store, profiles=profiles, **limits) as here:
            found.put(here.url)
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    try:
        yield found.get(timeout=HANG_SECONDS)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(HANG_SECONDS)
        assert not thread.is_alive()
        loop.close()


def kinds() -> Iterator[tuple[Operation, GenerationMode]]:
    """Every operation with data that fits and, where it takes any, with data that does not."""
    schema = schemathesis.openapi.from_dict(json.loads(document()))
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        raw = schema.raw_schema["paths"][operation.path][operation.method]
        yield operation, GenerationMode.POSITIVE
        if raw["parameters"] or "requestBody" in raw or "security" not in raw:
            yield operation, GenerationMode.NEGATIVE


def part_of(kinds: Iterator[tuple[Operation, GenerationMode]], part: int) -> list[tuple[Operation, GenerationMode]]:
    """One operation in PARTS, always with both kinds of data: only together do they show whether it ever succeeds."""
    operations = [list(each) for _, each in groupby(kinds, key=lambda kind: kind[0].label)]
    return [kind for operation in operations[part::PARTS] for kind in operation]


def visit(visitor: Visitor, operation: Operation, mode: GenerationMode, *, most: int, turn: int) -> None:
    """So many cases of one operation, as far as there are so many."""

    @seed(turn)
    @settings(
        max_examples=most,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def each(case: Case[Any]) -> None:
        visitor.send(case)

    each()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("least", [2_000, pytest.param(50_000, marks=pytest.mark.soak)])
def test_every_answer_fits_the_document_and_none_is_a_5xx(
    least: int, part: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    every = part_of(kinds(), part)
    share = -(-least // PARTS)
    most = min(100, -(-share // len(every)))
    with server(tmp_path) as url, closing(Visitor(url)) as visitor:
        for turn, (operation, mode) in ((turn, kind) for turn in count() for kind in every):
            # All of them once. A few take nothing and have one case only: the others make up for that.
            if turn and visitor.told.total() >= share:
                break
            visit(visitor, operation, mode, most=most, turn=turn)
    # Not only refusals: nearly every route also did what it is there for.
    done = {label for label, status in visitor.told if status < 400}
    assert {operation.label for operation, _ in every} - done <= NEVER_DONE
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
