"""The real clock and the real source of ids."""

import asyncio
import secrets
import time

from pollux.core.ids import Instant, RunId, ThreadId


class SystemClock:
    """Wall time, since it must mean the same after a restart."""

    now = staticmethod(time.time)

    async def sleep_until(self, moment: Instant) -> None:
        await asyncio.sleep(max(0.0, moment - time.time()))


class RandomIds:
    """Ids that nobody can guess."""

    def run_id(self) -> RunId:
        return RunId("run_" + secrets.token_hex(12))

    def thread_id(self) -> ThreadId:
        return ThreadId("thr_" + secrets.token_hex(12))
