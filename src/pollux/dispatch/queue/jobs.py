"""Procrastinate's worker, which takes jobs; whose a job is and what becomes of it is ours.

What it would do by itself loses wakes or wakes twice: a stopped worker that comes back finishes another's job, a
worker in trouble stops being heard while its jobs go on, and one that starts forgets those that were not heard, also
when that was because the database was away.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.jobs import DeleteJobCondition, Job, Status
from procrastinate.manager import JobManager, NotificationCallback
from procrastinate.worker import Worker

from pollux.core.frozen import frozen
from pollux.dispatch.queue.link import configure
from pollux.dispatch.queue.statements import TASK

POLL_SECONDS = 0.5
POOL_SECONDS = 5.0


@frozen
class Taken:
    """A job that this process has taken. It stays ours while `attempts` is what it was."""

    id: int
    attempts: int
    run_id: str


Take = Callable[[Taken], Awaitable[None]]


class _Jobs(JobManager):
    """Fetches, and leaves everything else to us."""

    def __init__(self, connector: PsycopgConnector, worker_id: int) -> None:
        super().__init__(connector)
        self._worker_id = worker_id

    async def register_worker(self) -> int:
        return self._worker_id

    async def unregister_worker(self, worker_id: int) -> None:
        """Its jobs go on."""

    async def prune_stalled_workers(self, seconds_since_heartbeat: float) -> list[int]:
        return []

    async def update_heartbeat(self, worker_id: int) -> None:
        """Done beside it, where it does not end with the worker."""

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """Done by whoever took it. What nobody could take is put aside, or it would hold its lock for good."""
        if job.task_name != TASK or not _is_ours(job.task_kwargs):
            await super().finish_job(job, Status.FAILED, delete_job=False)

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        # One channel for all queues: its name has room for 63 bytes, and a profile's may be longer.
        await super().listen_for_jobs(on_notification=on_notification, queues=None)


def _is_ours(arguments: Mapping[str, object]) -> bool:
    return list(arguments) == ["run_id"] and isinstance(arguments["run_id"], str)


@asynccontextmanager
async def worker_of(
    parameters: dict[str, Any], worker_id: int, take: Take, *, concurrency: int, queues: Iterable[str] | None
):
    """A worker, to be run. It ends when the database is lost."""
    connector = PsycopgConnector(
        kwargs=parameters, configure=configure, min_size=2, max_size=10, timeout=POOL_SECONDS, reconnect_timeout=2
    )
    app = App(connector=connector)
    app.job_manager = _Jobs(connector, worker_id)

    @app.task(name=TASK, pass_context=True)
    async def drive(context: JobContext, run_id: str) -> None:  # pyright: ignore[reportUnusedFunction]
        assert context.job.id is not None
        await take(Taken(context.job.id, context.job.attempts, run_id))

    async with app.open_async():
        yield Worker(
            app,
            queues=list(queues) if queues is not None else None,
            name="pollux",
            concurrency=concurrency,
            fetch_job_polling_interval=POLL_SECONDS,
            abort_job_polling_interval=3600.0,
            update_heartbeat_interval=3600.0,
            shutdown_graceful_timeout=0.0,
            delete_jobs=DeleteJobCondition.SUCCESSFUL,
            install_signal_handlers=False,
        )
