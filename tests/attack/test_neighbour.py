"""How the waits of neighbours are counted: a standstill is long for all who would have come, and none is negative."""

import asyncio
import threading

import pytest
from tests.attack.neighbour import p99
from tests.waiting import HANG_SECONDS, kept_waiting, own_time


def test_a_standstill_of_half_the_time_is_no_single_answer():
    assert p99([0.002] * 300) == 0.002
    assert p99([0.002] * 300 + [0.6] * 4) > 0.5


def test_threads_of_ours_that_wait_take_nothing_from_the_time_of_this_one():
    over = threading.Event()
    busy = [threading.Thread(target=_work_until, args=(over,)) for _ in range(8)]
    for thread in busy:
        thread.start()
    began = own_time()
    try:
        assert not over.wait(0.3)
        assert 0 <= own_time() - began < HANG_SECONDS
    finally:
        over.set()
        for thread in busy:
            thread.join()


def _work_until(over: threading.Event) -> None:
    while not over.is_set():
        sum(range(10_000))


@pytest.mark.parametrize("thread", [0, 1 << 30])
async def test_a_thread_that_is_not_there_was_kept_from_nothing(thread: int):
    assert await asyncio.to_thread(kept_waiting, 1 << 30, thread) == 0
