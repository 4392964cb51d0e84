"""Customers who want something done whatever becomes of the server, and the law that it is held to.

A customer keeps what they were told. A server may die under any request of theirs; they ask the next one again with the
same Idempotency-Key, and approve what still waits. What was acknowledged they do not expect to be asked again. What was
really done, a world outside of the servers knows.
"""

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any, Literal, Protocol

import aiohttp
from tests.crash.lab import Child, Lab, Place, Trace
from tests.crash.outside import Point
from tests.http.crash_road import Road, Travel
from tests.http.crash_worker import ready_file
from tests.http.site import Person
from tests.waiting import HANG_SECONDS

PATIENCE = 3 * HANG_SECONDS
"""For a whole life of a server."""
RESTART_SECONDS = 30.0
"""A promise: so soon after a restart every run has ended or waits."""
POLL_SECONDS = 0.005
Route = Literal["/api/agent/run", "/api/agent/run/stream"]
RUN: Route = "/api/agent/run"
STREAM: Route = "/api/agent/run/stream"


@dataclass(frozen=True)
class Sync:
    """A kill on the way into the n-th sync of a file, or on the way back: a tracer holds the thread there."""

    when: Literal["before", "after"]
    file: str
    """In the home, `.` for itself, KEYS for any. Every file is synced by one thread: the tracer's count is its own."""
    number: int


KEYS = ""
"""The drafts of the keys have names that nobody knows before. They are the first that the main thread syncs."""

Kill = tuple[Point, int] | Sync | Travel


@dataclass(frozen=True)
class Wish:
    """What somebody asks for, and the arguments that they are then asked about."""

    prompt: str
    args: Mapping[str, Any]


@dataclass
class Customer:
    """Somebody with one wish, and what they were told so far."""

    wish: Wish
    name: str = "ada"
    route: Route = RUN
    run_id: str = ""
    action_id: str = ""
    approval_id: str = ""
    has_approved: bool = False
    """They sent their approval; whether it arrived they may not know."""
    is_acknowledged: bool = False
    is_told_completed: bool = False
    error: str | None = None
    problems: list[str] = field(default_factory=list[str])

    @property
    def token(self) -> str:
        return f"token-of-{self.name}-0123456789"

    async def deal(self, person: Person) -> None:
        """Ask for it, approve it and see it done, from wherever the last server left it."""
        run = await self._ask(person)
        self._is_told(run["runId"])
        if run["approvals"]:
            run = await self._approve(person, run)
        self.is_told_completed = run["status"] == "completed"
        self.error = run["errorCode"]
        if not self.is_told_completed:
            self.blame(f"it ended {run['state']} ({self.error})")

    def blame(self, what: str) -> None:
        self.problems.append(f"{self.name}'s run {self.run_id}: {what}")

    async def _ask(self, person: Person) -> dict[str, Any]:
        headers = {"Idempotency-Key": "the-wish"}
        if self.route == RUN:
            got = await person.post(self.route, {"prompt": self.wish.prompt}, headers=headers)
            assert got.status == 200, got
            return got.body
        async with person.open("POST", self.route, {"prompt": self.wish.prompt}, headers) as response:
            assert response.status == 200, await response.read()
            line: dict[str, Any] = {}
            async for raw in response.content:
                line = json.loads(raw)
                if line["type"] == "status":
                    self._is_told(line["runId"])
        return line["result"]

    def _is_told(self, run_id: str) -> None:
        if self.run_id not in ("", run_id):
            self.blame(f"the same key now leads to {run_id}")
        self.run_id = run_id

    async def _approve(self, person: Person, run: dict[str, Any]) -> dict[str, Any]:
        (approval,), (action,) = run["approvals"], run["actions"]
        self.approval_id, self.action_id = approval["id"], action["id"]
        if self.is_acknowledged:
            self.blame("its approval was acknowledged, but is asked for again")
        if approval["args"] != self.wish.args:
            self.blame(f"it asks about {approval['args']}")
        self.has_approved = True
        got = await person.resolve(self.approval_id)
        assert got.status == 200, got
        self.is_acknowledged = True
        return got.body["run"]


class World(Protocol):
    """What lies outside of the servers. It outlives them all, and knows what they did in it."""

    @property
    def environ(self) -> Mapping[str, str]:
        """How a server finds it."""
        ...

    @property
    def tools(self) -> Sequence[str]:
        """What the model is offered."""
        ...

    def times(self, customer: Customer) -> int:
        """How often the customer's action was done, just as it was approved."""
        ...

    def oddities(self, customers: Sequence[Customer]) -> Iterator[str]:
        """What is there that none of these customers wanted, in words."""
        ...


@dataclass
class Shop:
    """A home, its customers, and one server after the other."""

    lab: Lab
    place: Place
    world: World
    customers: list[Customer]
    road: Road | None = None
    """The way that every server's requests take into the world, where it is known."""
    calls: int = 3
    """So many model calls a run may make. Those that a kill interrupted count."""
    restart_seconds: float = RESTART_SECONDS
    """For how long a run is waited for after a restart."""

    async def serve(self, kill: Kill | None = None, *, seconds: float | None = None) -> int:
        """One life of a server: it ends by this kill, after this time, or told to stop since everybody is content.

        The result is its exit code, negative for a signal.
        """
        trace = self._trace(kill) if isinstance(kill, Sync) else None
        async with self._server(at=kill if isinstance(kill, tuple) else None, trace=trace) as child:
            if self.road is not None:
                self.road.watch(child, kill if isinstance(kill, Travel) else None)
            if seconds is not None:
                asyncio.get_running_loop().call_later(seconds, child.send, SIGKILL)
            visiting = asyncio.create_task(self._visit(child))
            if isinstance(kill, Sync) and kill.when == "after":
                await self._kill_when_held(child)
            await visiting
            return await child.wait()

    async def recover(self) -> float:
        """A server that nothing happens to: everybody gets what they want. The result is how many seconds after its
        start every run had ended or waited, by itself."""
        began = time.monotonic()
        async with self._server() as child, aiohttp.ClientSession() as http:
            url = await self._url(child)
            assert url, self.place.log[-4000:]
            people = [(customer, Person(http, url, customer.token)) for customer in self.customers]
            await asyncio.gather(*(self._look(customer, person) for customer, person in people))
            seconds = time.monotonic() - began
            await asyncio.gather(*(customer.deal(person) for customer, person in people))
            for customer, person in people:
                async for problem in _against_the_law(customer, person):
                    customer.blame(problem)
            await http.close()
            child.send(SIGTERM)
            code = await child.wait()
            assert code == 0, (code, self.place.log[-4000:])
        return seconds

    def problems(self) -> Iterator[str]:
        """Every promise that was broken, in words, once everybody should be content."""
        for customer in self.customers:
            yield from customer.problems
            if (times := self.world.times(customer)) != 1:
                yield f"{customer.name}'s run {customer.run_id}: completed, but done {times} times"
        yield from self.world.oddities(self.customers)
        yield from (line for line in self.place.log.splitlines() if " ERROR " in line or " CRITICAL " in line)

    def syncs(self) -> Counter[str]:
        """The files that the last traced server synced, and how often."""
        calls = [line for line in self._tracer_log().read_text().splitlines() if "sync(" in line]
        paths = [Path(line.partition("<")[2].partition(">")[0]) for line in calls]
        names = [str(path.relative_to(self.place.home)) for path in paths]
        return Counter(KEYS if name.startswith(("token.", "seal.key.", "audit.key.")) else name for name in names)

    async def _visit(self, child: Child) -> None:
        """All customers at once. Whoever stands before a dead server comes back to the next one."""
        url = await self._url(child)
        if not url:
            return
        try:
            async with aiohttp.ClientSession() as http, asyncio.TaskGroup() as group:
                for customer in self.customers:
                    group.create_task(self._deal(customer, Person(http, url, customer.token)))
        finally:
            child.send(SIGTERM)

    async def _deal(self, customer: Customer, person: Person) -> None:
        with contextlib.suppress(aiohttp.ClientError, ConnectionError):
            await customer.deal(person)
        if customer.is_told_completed and not self.world.times(customer):
            customer.blame("it was told as completed before it was done")

    async def _look(self, customer: Customer, person: Person) -> None:
        """What became of a run without anybody doing anything."""
        rows = (await person.get("/api/agent/runs")).body["items"]
        if len(rows) > 1 or (customer.run_id and not rows):
            customer.blame(f"one key, and {len(rows)} runs")
        if not rows:
            return
        run = await _settled(person, rows[0]["runId"], self.restart_seconds)
        customer.action_id = customer.action_id or run["actions"][0]["id"]
        customer.approval_id = customer.approval_id or run["actions"][0]["approvalId"]
        times = self.world.times(customer)
        if run["state"] == "awaiting_confirmation" and not run["approvals"]:
            customer.blame("it waits, and nobody knows for what")
        if times and not customer.has_approved:
            customer.blame("it was done without leave")
        if customer.is_acknowledged and not times:
            customer.blame("its approval was acknowledged, but it was not done after the restart")

    async def _url(self, child: Child) -> str:
        """Where it listens; nothing if it died before."""
        path = ready_file(self.place.outside.directory, child.job)
        async for _ in _meanwhile(child):
            if path.exists() and (line := path.read_text()).endswith("\n"):
                return json.loads(line)["url"]
        return ""

    async def _kill_when_held(self, child: Child) -> None:
        async for _ in _meanwhile(child):
            if "(DELAYED)" in self._tracer_log().read_text():
                child.send(SIGKILL)
                # It would hold the dead thread for as long as it was told to.
                assert child.tracer is not None
                child.tracer.kill()
                return

    @contextlib.asynccontextmanager
    async def _server(self, **fault: Any) -> AsyncGenerator[Child]:
        self._tracer_log().write_text("")
        tokens = ",".join(f"{customer.name}:{customer.token}" for customer in self.customers)
        config = self.place.outside.directory / "pollux.toml"
        offered = ", ".join(f'"{tool}"' for tool in self.world.tools)
        config.write_text(f"[profiles.default]\ntools = [{offered}]\nlimits = {{ model_calls = {self.calls} }}\n")
        environ = {**self.world.environ, "POLLUX_TOKENS": tokens, "POLLUX_CONFIG": str(config)}
        child = await self.lab.spawn("serve", self.place, environ=environ, **fault)
        try:
            async with asyncio.timeout(PATIENCE):
                yield child
        finally:
            child.send(SIGKILL)

    def _trace(self, kill: Sync) -> Trace:
        effect = "signal=SIGKILL" if kill.when == "before" else "delay_exit=60s"
        return Trace("fsync,fdatasync", str(kill.number), effect, kill.file, log=self._tracer_log())

    def _tracer_log(self) -> Path:
        return self.place.outside.directory / "trace"


async def _meanwhile(child: Child) -> AsyncIterator[None]:
    while not child.ended.done():
        yield
        await asyncio.wait({child.ended}, timeout=POLL_SECONDS)


async def _settled(person: Person, run_id: str, seconds: float) -> dict[str, Any]:
    async with asyncio.timeout(seconds):
        while True:
            run = (await person.get(f"/api/agent/runs/{run_id}")).body
            if run["approvals"] or run["state"] in ("completed", "failed", "cancelled"):
                return run
            # A look at the world may take a while; whoever asks too often is asked to wait.
            await asyncio.sleep(POLL_SECONDS * 10)


async def _against_the_law(customer: Customer, person: Person) -> AsyncIterator[str]:
    """What is wrong with what anybody can ask a server that has nothing left to do."""
    again = await person.resolve(customer.approval_id)
    if (again.status, again.code) != (409, "already_resolved"):
        yield f"a second approval got {again.status}"
    run = (await person.get(f"/api/agent/runs/{customer.run_id}")).body
    if [action["state"] for action in run["actions"]] != ["completed"]:
        yield f"its actions are {run['actions']}"
    rows = (await person.get("/api/agent/runs")).body["items"]
    if [row["runId"] for row in rows] != [customer.run_id]:
        yield f"the list has {rows}"
    if waiting := (await person.get("/api/agent/approvals/pending")).body["items"]:
        yield f"something still waits: {waiting}"
    events = await person.lines("GET", f"/api/agent/runs/{customer.run_id}/events")
    if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
        yield "its journal has gaps"
    audit = (await person.get("/api/agent/audit/verify")).body
    if not audit["valid"] or audit["problems"]:
        yield f"the audit: {audit['problems']}"
