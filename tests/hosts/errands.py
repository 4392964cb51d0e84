"""People with errands: each wants one thing done, or not done, whichever server is there to be asked.

They repeat what was not answered, with the same Idempotency-Key, and keep what they were told.
"""

import asyncio
import itertools
import json
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import aiohttp
from tests.hosts.fleet import POLL_SECONDS, USERS, Fleet, until
from tests.hosts.world import KINDS
from tests.http.site import Got, Person
from tests.waiting import HANG_SECONDS

from pollux.core.tools import Repeat

AGAIN_SECONDS = 0.1
AT_ONCE = 3
ENDED = ("completed", "failed")
Decision = Literal["approve_once", "reject"]
ANY = random.Random(0)
"""Which server is asked, where it does not matter."""
Ask = Callable[[Person], Awaitable[Got | None]]


@dataclass(eq=False)
class Errand:
    """One wish, and what its owner was told."""

    wish: str
    user: str = "ada"
    kind: Repeat = "keyed"
    decision: Decision = "approve_once"
    streams: bool = False
    takes: tuple[float, float] = (0.0, 0.0)
    """So many seconds of work before it is done, and after."""
    run_id: str = ""
    is_acknowledged: bool = False
    """Its decision was."""
    told: dict[str, Any] = field(default_factory=dict[str, Any])
    """The run, as it was told last."""
    slowest: float = 0.0
    """The longest answer, in seconds."""
    repeated: int = 0
    """How many requests went unanswered, or were answered with 503."""
    problems: list[str] = field(default_factory=list[str])

    @property
    def prompt(self) -> str:
        before, after = self.takes
        return f"call {self.kind} {json.dumps({'wish': self.wish, 'before': before, 'after': after})}"

    async def do(self, fleet: Fleet, dice: random.Random = ANY) -> None:
        """From the question to the end."""
        async with asyncio.timeout(4 * HANG_SECONDS):
            await self.ask(fleet, dice)
            if self.told["approvals"]:
                await self.decide(fleet, dice)
            await self.see_it_end(fleet, dice)

    async def ask(self, fleet: Fleet, dice: random.Random = ANY) -> None:
        got = await self._insist(fleet, dice, self._stream if self.streams else self._run)
        self._hear(got, got.body)

    async def decide(self, fleet: Fleet, dice: random.Random) -> None:
        approval = self.told["approvals"][0]["id"]
        got = await self._insist(fleet, dice, lambda person: person.resolve(approval, self.decision))
        if got.status == 409 and self.repeated:
            # The answer was lost, the decision was not.
            outcome = got.body["error"]["outcome"]["status"]
            if outcome != {"approve_once": "approved", "reject": "rejected"}[self.decision]:
                self.problems.append(f"{self.wish}: decided by nobody else, but as {outcome}")
        else:
            self._hear(got, got.body.get("run"))
        self.is_acknowledged = True

    async def see_it_end(self, fleet: Fleet, dice: random.Random) -> None:
        while self.told["status"] not in ENDED:
            got = await self._insist(fleet, dice, lambda person: person.get(f"/api/agent/runs/{self.run_id}"))
            self._hear(got, got.body)
            await asyncio.sleep(POLL_SECONDS)

    async def _insist(self, fleet: Fleet, dice: random.Random, ask: Ask) -> Got:
        """The answer of whichever server gives one."""
        while True:
            server = dice.choice(await until(lambda: fleet.alive("serve")))
            began = time.monotonic()
            try:
                got = await ask(fleet.person(self.user, server))
            except (aiohttp.ClientError, ConnectionError):
                got = None
            self.slowest = max(self.slowest, time.monotonic() - began)
            if got is not None and got.status != 503:
                return got
            self.repeated += 1
            await asyncio.sleep(AGAIN_SECONDS)

    async def _run(self, person: Person) -> Got:
        return await person.post("/api/agent/run", {"prompt": self.prompt}, headers=self._key)

    async def _stream(self, person: Person) -> Got | None:
        async with person.open("POST", "/api/agent/run/stream", {"prompt": self.prompt}, self._key) as response:
            if response.status != 200:
                return Got(response.status, await response.json(), response.headers)
            lines = [json.loads(line) async for line in response.content]
        # Where the server is on its way out, or has lost its store, the last line says so.
        return Got(200, lines[-1]["result"], {}) if lines and lines[-1]["type"] == "result" else None

    @property
    def _key(self) -> dict[str, str]:
        return {"Idempotency-Key": self.wish}

    def _hear(self, got: Got, run: dict[str, Any]) -> None:
        assert got.status == 200, f"{self.wish}: answered with {got.status} {got.body}"
        if self.run_id not in ("", run["runId"]):
            self.problems.append(f"{self.wish}: the same key leads to {self.run_id} and {run['runId']}")
        self.run_id, self.told = run["runId"], run


class Crowd:
    """Several users, each with a few errands at once and others after them, until it is enough."""

    def __init__(self, fleet: Fleet, dice: random.Random, kinds: Sequence[Repeat] = KINDS) -> None:
        self._fleet = fleet
        self._dice = dice
        self._kinds = kinds
        self._numbers = itertools.count(1)
        self._is_enough = False
        self._left: list[Errand] = []
        self.errands: list[Errand] = []

    async def go_on(self) -> None:
        async with asyncio.TaskGroup() as group:
            for user in USERS * AT_ONCE:
                group.create_task(self._keep_asking(user, random.Random(self._dice.random())))
        # Some questions were left alone. They still wait, and are answered now.
        await asyncio.gather(*(errand.do(self._fleet, self._dice) for errand in self._left))

    def enough(self) -> None:
        """No new ones. Those under way are brought to their end."""
        self._is_enough = True

    async def _keep_asking(self, user: str, dice: random.Random) -> None:
        while not self._is_enough:
            errand = Errand(
                f"wish-{next(self._numbers)}",
                user,
                dice.choice(self._kinds),
                "reject" if dice.random() < 0.15 else "approve_once",
                streams=dice.random() < 0.5,
                takes=(round(dice.uniform(0.0, 0.3), 3), round(dice.uniform(0.0, 0.3), 3)),
            )
            self.errands.append(errand)
            if dice.random() < 0.1:
                await errand.ask(self._fleet, dice)
                self._left.append(errand)
            else:
                await errand.do(self._fleet, dice)
