"""A worker of a newer version, as far as the store can tell, in a process of its own.

python -m tests.journals.newer URL [hold]

It brings the database to its version, marks every claim with the version of its events, and says `ready`. Then it does
what it reads: `approve RUN` and `stop`. The mail tool is the one of tests.dispatch.queue_worker.
"""

import asyncio
import sys

from tests.dispatch.queue_lab import opened
from tests.dispatch.queue_worker import mail, script
from tests.waiting import HANG_SECONDS

from pollux.core.ids import RunId, UserId
from pollux.dispatch.queue import dispatcher
from pollux.engine.engine import Engine
from pollux.engine.system import SystemClock
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.connections import connect
from pollux.stores.postgres.schema import MIGRATIONS, migrate
from pollux.stores.schema import Additive
from pollux.wire import codec
from pollux.wire.versions import VERSION, Versions

NEWER = VERSION + 1
MORE = Additive(("ALTER TABLE pollux.runs ADD COLUMN colour text", "CREATE TABLE pollux.paints (name text)"))


async def main(url: str) -> None:
    codec.VERSION = dispatcher.VERSION = NEWER  # pyright: ignore[reportPrivateImportUsage]
    codec._VERSIONS = Versions({"RunClaimed.driver": NEWER})  # pyright: ignore[reportPrivateUsage]
    db = connect(Address(url))
    migrate(db, Address(url), [*MIGRATIONS, MORE])
    db.close()
    engine, _ = await opened(url, SystemClock(), script(), [mail(url)], concurrency=5)
    print("ready", flush=True)
    while (words := (await asyncio.to_thread(sys.stdin.readline)).split()) and words[0] == "approve":
        await _approve(engine, RunId(words[1]))
    await engine.close()


async def _approve(engine: Engine, run_id: RunId) -> None:
    run = await engine.wait_settled(run_id, seconds=HANG_SECONDS)
    await engine.resolve(run.approvals[0].id, "approved", by=UserId("ada"))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
