"""Where the store lies is for those who run the server. Its users, and strangers, are told that it is in trouble."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.builders import FakeTool
from tests.http.scenes import refused
from tests.http.site import TOKENS, Got, Person, site
from tests.http.test_id_swap import MAIL

from pollux.core.errors import StoreError, public_text
from pollux.core.ids import UserId
from pollux.engine.ports import Change
from pollux.stores.memory import MemoryStore
from pollux.testing import call, reply, scripted
from pollux.tools.demo_mail import demo_mail

PLACE = "db-7.internal.example:6543/pollux_prod"
FILE = "/srv/secret-place/pollux.db"
SAID = f"expected the store at {PLACE} to be open, in {FILE}: connection to db-7.internal.example refused"


class Lost(MemoryStore):
    """A store that is lost in the middle, and says where it was."""

    is_lost = False

    def check(self) -> None:
        if self.is_lost:
            raise StoreError(SAID)

    async def commit(self, change: Change) -> None:
        self.check()
        await super().commit(change)


def failing(name: str) -> Callable[..., Any]:
    async def ask(self: Lost, *args: Any, **named: Any) -> Any:
        self.check()
        return await getattr(MemoryStore, name)(self, *args, **named)

    return ask


for _name in (
    "run",
    "journal",
    "thread",
    "threads",
    "runs",
    "approvals",
    "grants",
    "audit",
    "usage",
    "verify_audit",
    "messages",
):
    setattr(Lost, _name, failing(_name))


def tells_nothing(got: Got | str) -> None:
    text = got if isinstance(got, str) else json.dumps([str(got.body), dict(got.headers)])
    for word in ("db-7", "internal", "6543", "pollux_prod", "/srv", "secret-place", "pollux.db"):
        assert word not in text, (word, text)


async def every_answer(person: Person, run: str, thread: str) -> list[Got]:
    reads = [
        "approvals/pending", "threads", f"threads/{thread}", f"threads/{thread}/messages", "runs", f"runs/{run}",
        "actions", "grants", "audit", "audit/verify", "audit/head", "usage", f"runs/{run}/events",
    ]  # fmt: skip
    got = [await person.get(f"/api/agent/{path}") for path in reads]
    got += [await person.get(path) for path in ("/readyz", "/api/health")]
    writes: list[tuple[str, object]] = [
        ("run", {"prompt": "hello"}),
        ("run/stream", {"prompt": "hello"}),
        (f"runs/{run}/cancel", None),
        ("approvals/resolve", {"approvalId": run.replace("run_", "apr_") + "_1.0", "decision": "reject"}),
        ("approvals/" + run.replace("run_", "apr_") + "_1.0/edit", {"args": MAIL}),
    ]
    return got + [await person.post(f"/api/agent/{path}", body) for path, body in writes]


async def test_no_answer_says_where_the_store_is(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    store = Lost()
    async with site(
        tmp_path, scripted(call("demo_mail", MAIL)), tools=[demo_mail(tmp_path / "outbox")], store=store
    ) as here:
        asked = await here.ada.run("write to Bob")
        store.is_lost = True
        answers = await every_answer(here.ada, asked["runId"], asked["threadId"])
        refused(await here.nobody.get("/readyz"), 503, "store_error")
        for got in answers:
            tells_nothing(got)
        assert [got.status for got in answers].count(503) > 12
        store.is_lost = False
    # The log says it all, to the one who can put it right.
    assert SAID in caplog.text


class Connected(FakeTool):
    """A tool that looks into the store whether the user has an account."""

    async def is_offered(self, user: UserId) -> bool:
        raise StoreError(SAID)

    async def admit(self, user: UserId) -> None:
        pass


async def test_a_run_that_fails_by_the_store_does_not_say_so_either(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    # It is asked for again, twenty times, before what fails is no passing trouble.
    monkeypatch.setattr("pollux.engine.ledger.DELAYS", (0.0,))
    caplog.set_level(logging.INFO)
    async with site(tmp_path, scripted(reply("One.")), tools=[Connected()]) as here:
        told = await here.ada.run("one")
        assert told["state"] == "failed"
        assert told["summary"] == public_text(StoreError(SAID))
        tells_nothing(json.dumps([told, await here.ada.lines("GET", f"/api/agent/runs/{told['runId']}/events")]))
    assert SAID in caplog.text


async def test_only_the_operator_sees_how_far_the_audit_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(TOKENS, "local", "token-of-the-machine-0123456789")
    async with site(tmp_path, scripted(call("demo_mail", MAIL)), tools=[demo_mail(tmp_path / "outbox")]) as here:
        await here.bob.run("write to Bob")

        async def audit(who: str) -> Any:
            return (await here.person(who).get("/api/health")).body["audit"]

        assert await audit("ada") == await audit("bob") == {"entries": None, "head": None}
        operator = await audit("local")
        assert operator["entries"] > 0 and len(operator["head"]) == 64
