"""The server that is killed: `pollux serve` in a forked process that has everything imported.

`python -m tests.http.crash_worker` is a nursery as in tests/crash, for jobs of this one kind.
"""

import os
from importlib import import_module
from pathlib import Path

from tests.crash.outside import Fault
from tests.crash.worker import Job, Nursery, wait_for_tracer

from pollux.cli.serve import main
from pollux.engine.ports import Change
from pollux.stores.sqlite import SqliteStore

# Imported by the server when it needs them: here once for all.
for name in ("providers.gemini", "providers.light", "tools.registered", "config.profiles"):
    import_module(f"pollux.{name}")
for name in ("protocols.http.httptools_impl", "lifespan.off"):
    import_module(f"uvicorn.{name}")


def ready_file(outside: Path, job: int) -> Path:
    """Where a server's standard output goes: the line that says where it listens."""
    return outside / f"ready-{job}"


def work(job: Job) -> None:
    """Serve as the environment says, until told to stop or killed."""
    outside = Path(job.outside)
    for descriptor, path in ((1, ready_file(outside, job.id)), (2, outside / "log")):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), descriptor)
    os.environ.clear()
    os.environ |= {"HOME": str(outside), "POLLUX_HOME": job.home, **job.environ}
    os.chdir(outside)
    _arm(Fault(**job.fault))
    if job.traced:
        wait_for_tracer()
    assert main(["--port", "0"]) == 0


def _arm(fault: Fault) -> None:
    """In this process alone: whoever opens the store gets one with a fault around its commits, secrets among them."""
    commit = SqliteStore.commit

    async def faulty(self: SqliteStore, change: Change) -> None:
        fault.reach("commit:before")
        await commit(self, change)
        fault.reach("commit:after")

    SqliteStore.commit = faulty


if __name__ == "__main__":
    Nursery(work).serve()
