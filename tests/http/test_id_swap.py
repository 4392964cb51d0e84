"""Nobody reads or acts on another user's things: every id of ada's, in every place of every route, given to bob.

What he gets is what an id gets that never was, and nothing has changed for her afterwards.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.http.site import Got, Person, Site, settings_in, site
from tests.runbooks.http.site import asked as asking
from tests.runbooks.http.site import begun, put, runbook_site
from tests.runbooks.lab import document, script

from pollux.bootstrap import memory_store, open_store
from pollux.core.ids import RunId
from pollux.http.table import ENDPOINTS as OWN
from pollux.runbooks.http.table import ENDPOINTS as OF_RUNBOOKS
from pollux.testing import call, reply
from pollux.testing import scripted as model
from pollux.tools.demo_mail import demo_mail


@dataclass(frozen=True, slots=True)
class Things:
    """What one user has, by id."""

    thread: str
    run: str
    approval: str
    action: str
    grant: str
    done_thread: str
    done_run: str
    done_approval: str
    done_action: str
    entry: int
    book_run: str = ""
    book_thread: str = ""
    book_approval: str = ""

    def unknown(self) -> "Things":
        """Ids of the same form that never were."""
        stems = re.findall(r"[0-9a-f]{32}", " ".join(vars_of(self).values()))
        others = {stem: f"{number:x}" * 32 for number, stem in zip(count(10), dict.fromkeys(stems), strict=False)}

        def other(value: str) -> str:
            return re.sub(r"[0-9a-f]{32}", lambda found: others[found.group()], value)

        texts = {name: other(value) for name, value in vars_of(self).items()}
        return Things(**texts, entry=self.entry)


def vars_of(things: Things) -> dict[str, str]:
    return {name: value for name in Things.__slots__ if isinstance(value := getattr(things, name), str) and value}


@dataclass(frozen=True)
class Ask:
    """One request, and what an unknown id gets there: 404, or a list like any other."""

    path: str
    body: Mapping[str, Any] | None = None
    status: int = 404


HERS = re.compile(r"of ada|ada@|\bada\b")
Asks = Callable[[Things], Iterator[Ask]]
MAIL = {"to": "eve@example.com", "subject": "Changed", "body": "by somebody else"}


def runs(path: str) -> Asks:
    def asks(her: Things) -> Iterator[Ask]:
        for thread in (her.thread, her.done_thread):
            for supersede in (False, True):
                yield Ask(path, {"prompt": "go on", "threadId": thread, "supersede": supersede})

    return asks


def pages(path: str) -> Asks:
    """A list: whatever is named as the place to go on from, there is nothing of hers in it."""

    def asks(her: Things) -> Iterator[Ask]:
        yield Ask(path, status=200)
        for before in vars_of(her).values():
            for limit in ("", "&limit=1"):
                yield Ask(f"{path}?before={before}{limit}", status=200)

    return asks


def numbered(path: str) -> Asks:
    def asks(her: Things) -> Iterator[Ask]:
        yield Ask(path, status=200)
        yield Ask(f"{path}?before={her.entry + 1}", status=200)
        yield from filtered(path)(her)

    return asks


def filtered(path: str) -> Asks:
    """The audit, by what is hers."""
    return lambda her: iter([Ask(f"{path}?runId={run}", status=200) for run in (her.run, her.done_run, her.book_run)])


def resolving(her: Things) -> Iterator[Ask]:
    for approval in (her.approval, her.done_approval, her.action, her.run):
        for decision in ("reject", "approve_once", "approve_and_always_allow_recipient"):
            for query in ("", "?wait=0"):
                body = {"approvalId": approval, "decision": decision, "argsHash": "x", "feedback": "no"}
                yield Ask(f"/api/agent/approvals/resolve{query}", body)


def each(path: str, *names: str, bodies: tuple[Mapping[str, Any] | None, ...] = (None,)) -> Asks:
    def asks(her: Things) -> Iterator[Ask]:
        for name in names:
            for body in bodies:
                yield Ask(path.format(id=getattr(her, name)), body)

    return asks


def nothing(her: Things) -> Iterator[Ask]:
    """No id goes in here."""
    yield from ()


def listed_runs(her: Things) -> Iterator[Ask]:
    yield from pages("/api/agent/runs")(her)
    yield Ask(f"/api/agent/runs?threadId={her.thread}", status=200)
    yield Ask(f"/api/agent/runs?threadId={her.done_thread}&before={her.run}", status=200)


def thread_messages(her: Things) -> Iterator[Ask]:
    for thread in (her.thread, her.done_thread):
        yield Ask(f"/api/agent/threads/{thread}/messages")
        yield Ask(f"/api/agent/threads/{thread}/messages?before=2&limit=1")


def events(her: Things) -> Iterator[Ask]:
    for run in (her.run, her.done_run):
        yield Ask(f"/api/agent/runs/{run}/events")
        yield Ask(f"/api/agent/runs/{run}/events?after=3")


def runbook_answers(her: Things) -> Iterator[Ask]:
    for run in (her.book_run, her.run, her.book_thread):
        for approval in (her.book_approval, her.approval, her.done_approval):
            body = {"approvalId": approval, "approved": True, "remember": True}
            yield Ask(f"/api/runbooks/runs/{run}/tool-approval", body)


def runbook_blocks(her: Things) -> Iterator[Ask]:
    """The folder is one for all; no id of anybody's is that of a block."""
    for id in (her.book_run, her.book_approval):
        yield Ask(f"/api/runbooks/documents/blocks/{id}?path=a.atrb", {"props": {}, "digest": "x"}, status=409)


THREADS, RUNS = ("thread", "done_thread", "run", "book_run"), ("run", "done_run", "thread", "book_run")
BOOKS = ("book_run", "book_thread", "run", "done_run")
CASES: dict[tuple[str, str], Asks] = {
    ("POST", "/api/agent/run"): runs("/api/agent/run"),
    ("POST", "/api/agent/run/stream"): runs("/api/agent/run/stream"),
    ("GET", "/api/agent/approvals/pending"): pages("/api/agent/approvals/pending"),
    ("GET", "/api/agent/approvals/{id}"): each("/api/agent/approvals/{id}", "approval", "done_approval", "action"),
    ("POST", "/api/agent/approvals/resolve"): resolving,
    ("POST", "/api/agent/approvals/{id}/edit"): each(
        "/api/agent/approvals/{id}/edit", "approval", "done_approval", "action", bodies=({"args": MAIL}, {"args": {}})
    ),
    ("GET", "/api/agent/threads"): pages("/api/agent/threads"),
    ("GET", "/api/agent/threads/{id}"): each("/api/agent/threads/{id}", *THREADS),
    ("PATCH", "/api/agent/threads/{id}"): each("/api/agent/threads/{id}", *THREADS, bodies=({"title": "mine"},)),
    ("DELETE", "/api/agent/threads/{id}"): each("/api/agent/threads/{id}", *THREADS),
    ("GET", "/api/agent/threads/{id}/messages"): thread_messages,
    ("GET", "/api/agent/threads/{id}/attachments/{attachment}"): each(
        "/api/agent/threads/{id}/attachments/1.0", *THREADS
    ),
    ("GET", "/api/agent/runs"): listed_runs,
    ("GET", "/api/agent/runs/{id}"): each("/api/agent/runs/{id}", *RUNS),
    ("GET", "/api/agent/runs/{id}/events"): events,
    ("POST", "/api/agent/runs/{id}/cancel"): each("/api/agent/runs/{id}/cancel", *RUNS),
    ("GET", "/api/agent/actions"): pages("/api/agent/actions"),
    ("POST", "/api/agent/actions/{id}/settle"): each(
        "/api/agent/actions/{id}/settle", "action", "done_action", "approval",
        bodies=({"outcome": "done"}, {"outcome": "not_done"}),
    ),
    ("GET", "/api/agent/grants"): pages("/api/agent/grants"),
    ("DELETE", "/api/agent/grants/{id}"): each("/api/agent/grants/{id}", "grant", "approval"),
    ("GET", "/api/agent/audit"): numbered("/api/agent/audit"),
    ("GET", "/api/agent/audit/export"): filtered("/api/agent/audit/export"),
    ("GET", "/api/agent/usage"): nothing,
    ("GET", "/api/health"): nothing,
    # The chain is one for all. Of it, these tell a hash and a number, and nothing that is anybody's.
    ("GET", "/api/agent/audit/verify"): nothing,
    ("GET", "/api/agent/audit/head"): nothing,
    ("GET", "/api/session"): nothing,
    ("POST", "/api/session/sign-in"): nothing,
    ("POST", "/api/session/sign-out"): nothing,
    ("GET", "/api/sessions"): nothing,
    ("DELETE", "/api/sessions/{id}"): each("/api/sessions/{id}", "grant", "run"),
    ("GET", "/api/google/connect"): nothing,
    ("GET", "/api/google/callback"): nothing,
    ("GET", "/api/google/status"): nothing,
    ("POST", "/api/google/disconnect"): nothing,
    ("GET", "/login"): nothing,
    ("POST", "/login"): nothing,
    ("GET", "/"): nothing,
    ("GET", "/healthz"): nothing,
    ("GET", "/readyz"): nothing,
    ("GET", "/api/runbooks"): nothing,
    ("GET", "/api/runbooks/documents"): nothing,
    ("PUT", "/api/runbooks/documents"): nothing,
    ("PATCH", "/api/runbooks/documents/blocks/{id}"): runbook_blocks,
    ("POST", "/api/runbooks/runs"): nothing,
    ("GET", "/api/runbooks/runs"): pages("/api/runbooks/runs"),
    ("GET", "/api/runbooks/runs/{id}"): each("/api/runbooks/runs/{id}", *BOOKS),
    ("GET", "/api/runbooks/runs/{id}/events"): each("/api/runbooks/runs/{id}/events", *BOOKS),
    ("POST", "/api/runbooks/runs/{id}/resume"): each(
        "/api/runbooks/runs/{id}/resume", *BOOKS, bodies=({}, {"retry": "x"}, {"skip": "x"})
    ),
    ("POST", "/api/runbooks/runs/{id}/tool-approval"): runbook_answers,
    ("GET", "/api/runbooks/settings"): nothing,
    ("GET", "/api/runbooks/models"): nothing,
}  # fmt: skip
ENDPOINTS = (*OWN, *OF_RUNBOOKS)


def test_every_route_is_in_the_matrix():
    assert set(CASES) == {(row.method, row.path) for row in ENDPOINTS}
    swapped = {place for place, asks in CASES.items() if asks is not nothing}
    assert {(row.method, row.path) for row in ENDPOINTS if "{id}" in row.path} <= swapped


def mail(to: str) -> Mapping[str, Any]:
    return {"to": to, "subject": "Report", "body": f"A secret of {to}."}


def script_for(*names: str):
    steps = [
        step
        for name in names
        for step in (
            call("demo_mail", mail(f"granted.{name}@example.com")), reply(f"Sent for {name}."),
            call("demo_mail", mail(f"asked.{name}@example.com")),
        )
    ]  # fmt: skip
    return model(*steps)


async def things_of(person: Person, name: str, *, has_runbooks: bool = False) -> Things:
    """A run that is done and left a grant, one that waits, and one of a runbook that waits too."""
    done = await person.run(f"the first of {name}")
    (asked,) = done["approvals"]
    assert (await person.resolve(asked["id"], "approve_and_always_allow_recipient")).body["run"]["state"] == "completed"
    file = {"name": f"{name}.txt", "mimeType": "text/plain", "data": b64encode(f"of {name}".encode()).decode()}
    waiting = await person.run(f"the second of {name}", attachments=[file])
    book = dict.fromkeys(("runId", "threadId", "approval"), "")
    if has_runbooks:
        run = await asking(person, (await begun(person, "a.atrb", trust=False))["runId"])
        book = {**run, "approval": run["approvals"][0]["id"]}
    (grant,) = (await person.get("/api/agent/grants")).body["items"]
    (newest, *_) = (await person.get("/api/agent/audit")).body["items"]
    return Things(
        thread=waiting["threadId"],
        run=waiting["runId"],
        approval=waiting["approvals"][0]["id"],
        action=waiting["actions"][0]["id"],
        grant=grant["id"],
        done_thread=done["threadId"],
        done_run=done["runId"],
        done_approval=asked["id"],
        done_action=done["actions"][0]["id"],
        book_run=book["runId"],
        book_thread=book["threadId"],
        book_approval=book["approval"],
        entry=newest["seq"],
    )


async def everything(here: Site, person: Person, things: Things) -> list[Any]:
    """All that a user can see of what is theirs, and the journals behind it."""
    paths = ["approvals/pending", "threads", "runs", "grants", "audit?limit=100"]
    paths += [f"threads/{thread}{more}" for thread in (things.thread, things.done_thread) for more in ("", "/messages")]
    paths += [f"runs/{run}" for run in (things.run, things.done_run)]
    seen = [await person.get(f"/api/agent/{path}") for path in paths]
    seen += [await person.get(f"/api/runbooks/runs{tail}") for tail in ("", f"/{things.book_run}")]
    assert {got.status for got in seen} == {200}
    journals = [await here.engine.queries.journal(RunId(run)) for run in (things.run, things.done_run, things.book_run)]
    return [*(got.body for got in seen), *map(str, journals)]


def told(got: Got) -> str:
    return got.body.decode() if isinstance(got.body, bytes) else json.dumps(got.body)


def alike(got: Got, things: Things) -> tuple[int, str, Mapping[str, str]]:
    """An answer without what differs by itself: ids and numbers of requests."""
    text = told(got)
    for name, value in sorted(vars_of(things).items(), key=lambda pair: -len(pair[1])):
        text = text.replace(value, f"<{name}>")
    # An approval's id leads to its run, and what is not found is that.
    text = re.sub(r"\b(run_)?[0-9a-f]{32}\w*|req_\w+", "<id>", text) if got.status >= 400 else text
    varying = ("date", "x-correlation-id")
    return got.status, text, {name.lower(): value for name, value in got.headers.items() if name.lower() not in varying}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_bob_gets_of_adas_things_what_he_gets_of_things_that_never_were(tmp_path: Path, kind: str):
    store = memory_store() if kind == "memory" else open_store(settings_in(tmp_path))
    outbox = tmp_path / "outbox.jsonl"
    # Bob before and after her: where his own begin and end must not tell him where hers are.
    steps = script_for("bob", "ada", "bob")
    put(tmp_path / "runbooks", "a.atrb", document(script("one", "touch done")))
    async with runbook_site(tmp_path, steps, tools=[demo_mail(outbox)], store=store, burst=10_000) as here:
        early = await things_of(here.bob, "bob", has_runbooks=True)
        hers = await things_of(here.ada, "ada", has_runbooks=True)
        assert (await here.bob.send("DELETE", f"/api/agent/grants/{early.grant}")).status == 200
        his = await things_of(here.bob, "bob", has_runbooks=True)
        before, his_before = await everything(here, here.ada, hers), await everything(here, here.bob, his)
        sent, unknown = outbox.read_text(), hers.unknown()
        # That the things are there, and that hers are not his, goes for every one of the ids.
        assert not set(vars_of(hers).values()) & {*vars_of(unknown).values(), *vars_of(his).values()}

        asked = 0
        for (method, place), asks in CASES.items():
            for real, never in zip(asks(hers), asks(unknown), strict=True):
                got = await here.bob.send(method, real.path, real.body)
                other = await here.bob.send(method, never.path, never.body)
                assert got.status == real.status, (method, real, got)
                assert alike(got, hers) == alike(other, unknown), (method, place)
                assert not HERS.search(told(got)), (method, real)
                asked += 1

        assert await everything(here, here.ada, hers) == before
        assert await everything(here, here.bob, his) == his_before
        assert outbox.read_text() == sent and not (tmp_path / "runbooks/done").exists()
        print(f"{asked} swaps over {len(CASES)} routes ({kind})")
        # And they were real: for her each of them still leads somewhere.
        assert (await here.ada.resolve(hers.approval, "reject")).status == 200
        assert (await here.ada.send("DELETE", f"/api/agent/grants/{hers.grant}")).status == 200
        assert (await here.ada.send("DELETE", f"/api/agent/threads/{hers.done_thread}")).status == 200


async def test_one_users_lists_hold_nothing_of_anothers(tmp_path: Path):
    async with site(tmp_path, script_for("ada", "bob"), tools=[demo_mail(tmp_path / "outbox")]) as here:
        hers, his = await things_of(here.ada, "ada"), await things_of(here.bob, "bob")
        for path in ("approvals/pending", "threads", "runs", "grants", "audit?limit=100"):
            of_ada = json.dumps((await here.ada.get(f"/api/agent/{path}")).body)
            of_bob = json.dumps((await here.bob.get(f"/api/agent/{path}")).body)
            stems = [re.findall(r"[0-9a-f]{32}", " ".join(vars_of(things).values())) for things in (hers, his)]
            assert not [stem for stem in stems[0] if stem in of_bob], path
            assert not [stem for stem in stems[1] if stem in of_ada], path
            assert not HERS.search(of_bob)
            assert [stem for stem in stems[0] if stem in of_ada], path


async def test_an_idempotency_key_of_adas_leads_bob_to_a_run_of_his_own(tmp_path: Path):
    async with site(tmp_path, model(reply("For ada."), reply("For bob."))) as here:
        key = {"Idempotency-Key": "the-same"}
        hers = await here.ada.post("/api/agent/run", {"prompt": "hello"}, key)
        his = await here.bob.post("/api/agent/run", {"prompt": "hello"}, key)
        assert (hers.body["summary"], his.body["summary"]) == ("For ada.", "For bob.")
        assert hers.body["runId"] != his.body["runId"]
        other = await here.bob.post("/api/agent/run", {"prompt": "another"}, key)
        assert (other.status, other.body["error"]["runId"]) == (409, his.body["runId"])


async def test_an_erased_thread_of_adas_looks_to_bob_as_it_did_before(tmp_path: Path):
    async with site(tmp_path, script_for("ada"), tools=[demo_mail(tmp_path / "outbox")]) as here:
        hers = await things_of(here.ada, "ada")
        paths = [f"/api/agent/threads/{hers.done_thread}", f"/api/agent/runs/{hers.done_run}"]
        before = [alike(await here.bob.get(path), hers) for path in paths]
        assert (await here.ada.send("DELETE", paths[0])).status == 200
        assert [alike(await here.bob.get(path), hers) for path in paths] == before
