"""One decision, one execution, whichever server is asked: many who answer the same question at once.

Twenty rounds take ten seconds.
"""

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.hosts.errands import Errand
from tests.hosts.fleet import fleet
from tests.hosts.judge import judge

RESOLVERS = 64

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("rounds", [20, *[pytest.param(200, marks=pytest.mark.soak)] * 5])
async def test_of_64_who_approve_at_two_servers_one_is_heard_in_each_round(tmp_path: Path, database: str, rounds: int):
    answers = Counter[str]()
    errands: list[Errand] = []
    began = time.monotonic()
    async with fleet(tmp_path, database) as here:
        servers = (await here.start("serve", "serve", "worker", "worker"))[:2]
        for number in range(rounds):
            errand = Errand(f"round-{number}", kind="once")
            errands.append(errand)
            await errand.ask(here)
            approval = errand.told["approvals"][0]["id"]
            people = [here.person("ada", servers[n % 2]) for n in range(RESOLVERS)]
            got = await asyncio.gather(*(person.resolve(approval) for person in people))
            answers.update("heard" if each.status == 200 else each.code for each in got)
            [errand.told] = [each.body["run"] for each in got if each.status == 200]
            errand.is_acknowledged = True
        findings = await judge(here, errands)
        executions = here.world.effects().total()
    print(f"\n{rounds} rounds in {time.monotonic() - began:.0f} s: {dict(answers)}, {executions} executions")
    assert answers == {"heard": rounds, "already_resolved": (RESOLVERS - 1) * rounds}
    assert executions == rounds
    assert findings.problems == []
