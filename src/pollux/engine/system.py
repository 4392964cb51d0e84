"""The real clock."""

import asyncio
import time

from pollux.core.ids import Instant


class SystemClock:
    """Wall time, since it must mean the same after a restart."""

    now = staticmethod(time.time)

    async def sleep_until(self, moment: Instant) -> None:
        await asyncio.sleep(max(0.0, moment - time.time()))
