"""Budgets are data: a process that is killed over and over does not spend more than one that lives."""

import pytest
from tests.crash.lab import Lab
from tests.crash.outside import Point

from pollux.core.ids import RunId

pytestmark = pytest.mark.slow

LIMIT = 4


@pytest.mark.parametrize(("point", "asked"), [("model:announced", 0), ("model:asked", LIMIT)])
async def test_a_crash_loop_ends_at_the_limit_of_model_calls(lab: Lab, point: Point, asked: int):
    place = lab.place()
    kills = 0
    while True:
        child = await lab.spawn("recover", place, {"run_a": "keyed"}, at=(point, 1), limit=LIMIT)
        if await child.wait() == 0:
            break
        kills += 1
        assert kills <= LIMIT, "the loop goes on beyond the limit"
    store = place.store()
    await store.open()
    try:
        run = await store.run(RunId("run_a"))
    finally:
        await store.close()
    assert run is not None and run.ending is not None
    assert (run.ending.status, run.ending.code, run.model_calls) == ("failed", "loop_limit", LIMIT)
    assert kills == LIMIT
    assert len(place.outside.notes("model_calls")) == asked
