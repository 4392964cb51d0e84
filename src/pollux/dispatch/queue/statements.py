"""The queue in SQL. A wake is a job: its `queueing_lock` is the run, its `lock` the thread, its queue the profile.

Every statement is whole in itself, and harmless when several processes send it at once. Those that make wakes make them
for the profiles they are given, with the priority of each: others may share the store with agents of their own, and no
worker would ever take a job of theirs.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, Final

from pollux.core.ids import Instant

Statement = tuple[bytes, Sequence[Any]]

TASK: Final = "pollux.drive"
GONE_SECONDS: Final = 6
"""A worker that was not heard for so long has lost its jobs."""
SWEEP_SECONDS: Final = (3.0, 60.0)
"""How long ago a run was last written that is owed and has no job: nobody is about to make one any more."""
MOST: Final = 1000
"""So many wakes are made at once."""

# What the listener of Procrastinate's worker understands.
_NOTICE = """pg_notify('procrastinate_any_queue_v1', '{"type": "job_inserted", "job_id": 0}')"""

_JOB = f"""
    INSERT INTO pollux.procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, priority)
    SELECT left(profile, 128), '{TASK}', thread_id, run_id, jsonb_build_object('run_id', run_id),
        (known.profiles ->> profile)::integer
    FROM pollux.runs, (SELECT %s::jsonb AS profiles) AS known
    WHERE known.profiles ? profile AND
"""
_ROOM = 120
"""So much of a profile's name stands before a version: a queue's name has 128 characters."""
_ONCE = "ON CONFLICT (queueing_lock) WHERE status = 'todo'"
_WITHOUT_JOB = """
    NOT EXISTS (SELECT FROM pollux.procrastinate_jobs WHERE queueing_lock = run_id AND status = 'todo')
    AND NOT EXISTS (SELECT FROM pollux.procrastinate_jobs WHERE lock = thread_id AND status = 'doing')
"""
# In the transaction of an event. A job that waits already is written once more, so that nobody takes it before we
# commit: it would look at the run too early, and the wake would be lost.
_ENQUEUE = f"{_JOB} run_id = ANY(%s) ORDER BY run_id {_ONCE} DO UPDATE SET attempts = procrastinate_jobs.attempts"


def _noticed(insert: str) -> bytes:
    return f"WITH put AS ({insert} RETURNING 1) SELECT count(*), {_NOTICE} FROM put HAVING count(*) > 0".encode()


def known(priorities: Mapping[str, int]) -> str:
    """The profiles that wakes are made for, each with its priority, as the statements take them."""
    return json.dumps(dict(priorities))


def queues_of(profiles: Iterable[str], version: int) -> list[str]:
    """Where a worker looks that can read events up to this version: one queue for each profile and version."""
    names = list(profiles)
    newer = [f"{name[:_ROOM]}@{number}" for name in names for number in range(2, version + 1)]
    return [*(name[:128] for name in names), *newer]


def enqueue(run_ids: Sequence[str], profiles: str) -> Statement:
    """A wake for each of these runs, whatever it is at. For a transaction that goes on."""
    return _ENQUEUE.encode(), (profiles, list(run_ids))


def wake(run_ids: Sequence[str], profiles: str) -> Statement:
    """A wake for each of these runs, and notice of it."""
    return _WAKE, (profiles, list(run_ids))


def notice() -> Statement:
    """Workers look for jobs now."""
    return f"SELECT {_NOTICE}".encode(), ()


def due(now: Instant, profiles: str) -> Statement:
    """A wake for every run whose moment has come, unless somebody is at it."""
    return _DUE, (profiles, now)


def due_here(now: Instant, worker_id: int) -> Statement:
    """The runs whose moment has come while this worker is at them."""
    return _DUE_HERE, (worker_id, now)


def left_alone(now: Instant, profiles: str, *, since: float | None = SWEEP_SECONDS[1]) -> Statement:
    """A wake for every owed run that has none and that nobody is at. Without `since`, whenever it was written.

    A run is dated by the host that wrote it, whose clock may be another than ours.
    """
    if since is None:
        return _LEFT_ALONE, (profiles, inf, -inf)
    return _LEFT_ALONE, (profiles, now - SWEEP_SECONDS[0], now - since)


def register(*, stands_in: bool) -> Statement:
    """One more worker: its number."""
    return b"INSERT INTO procrastinate_workers (stands_in) VALUES (%s) RETURNING id", (stands_in,)


def beat(worker_id: int) -> Statement:
    """The worker is alive. No row: it was given up and forgotten."""
    return _BEAT, (worker_id,)


def finish(job_id: int, worker_id: int, attempts: int) -> Statement:
    """The job is done: its lock. Nothing happens where it has become another's meanwhile."""
    return _FINISH, (job_id, worker_id, attempts)


def call_next(lock: str) -> Statement:
    """Workers look for jobs now, if one has waited for this lock.

    For a transaction after the one that frees it: a wake that was written meanwhile is seen by one of the two.
    """
    return _CALL_NEXT, (lock,)


def give_back(worker_id: int, job_id: int | None = None) -> Statement:
    """What this worker has begun is to be done by others: one job, or all."""
    return _GIVE_BACK, (worker_id, job_id, job_id)


def hand_up(worker_id: int, job_id: int, version: int) -> Statement:
    """The job is for workers that can read events of this version, and goes where only they look."""
    return _HAND_UP, (worker_id, job_id, version)


def leave(worker_id: int) -> Statement:
    return b"DELETE FROM procrastinate_workers WHERE id = %s", (worker_id,)


_WAKE = _noticed(f"{_JOB} run_id = ANY(%s) AND owed ORDER BY run_id {_ONCE} DO NOTHING")
_DUE = _noticed(f"{_JOB} wake_at <= %s AND {_WITHOUT_JOB} ORDER BY wake_at, run_id LIMIT {MOST} {_ONCE} DO NOTHING")
_DUE_HERE = b"""
    SELECT run_id FROM pollux.procrastinate_jobs JOIN pollux.runs ON run_id = queueing_lock
    WHERE procrastinate_jobs.status = 'doing' AND worker_id = %s AND wake_at <= %s
"""
_LEFT_ALONE = _noticed(
    f"{_JOB} owed AND updated_at < %s AND updated_at > %s AND {_WITHOUT_JOB}"
    f" ORDER BY created_at, run_id LIMIT {MOST} {_ONCE} DO NOTHING"
)
_BEAT = b"UPDATE procrastinate_workers SET last_heartbeat = clock_timestamp() WHERE id = %s RETURNING id"
_FINISH = b"""
    DELETE FROM procrastinate_jobs WHERE id = %s AND worker_id = %s AND attempts = %s AND status = 'doing'
    RETURNING lock
"""
_CALL_NEXT = f"""
    SELECT {_NOTICE} WHERE EXISTS (SELECT FROM procrastinate_jobs WHERE lock = %s AND status = 'todo')
""".encode()


def _returned(which: str, more: str = "") -> bytes:
    # Where the run was woken again meanwhile, one wake is enough.
    return f"""
        WITH lost AS ({which} FOR UPDATE OF job SKIP LOCKED),
        doubled AS (
            DELETE FROM procrastinate_jobs AS job USING lost WHERE job.id = lost.id AND EXISTS (
                SELECT FROM procrastinate_jobs AS next
                WHERE next.queueing_lock = lost.queueing_lock AND next.status = 'todo'
            ) RETURNING job.id
        ),
        returned AS (
            UPDATE procrastinate_jobs AS job SET status = 'todo', attempts = attempts + 1, worker_id = NULL{more}
            FROM lost WHERE job.id = lost.id AND NOT EXISTS (
                SELECT FROM procrastinate_jobs AS next
                WHERE next.queueing_lock = lost.queueing_lock AND next.status = 'todo'
            ) RETURNING job.id
        )
        SELECT count(*), {_NOTICE} FROM lost HAVING count(*) > 0
    """.encode()


_GIVE_BACK = _returned("""
    SELECT id, queueing_lock FROM procrastinate_jobs AS job
    WHERE status = 'doing' AND worker_id = %s AND (%s::bigint IS NULL OR id = %s)
""")
_HAND_UP = _returned(
    "SELECT id, queueing_lock FROM procrastinate_jobs AS job WHERE status = 'doing' AND worker_id = %s AND id = %s",
    f", queue_name = (SELECT left(profile, {_ROOM}) || '@' || %s::integer FROM pollux.runs"
    " WHERE run_id = lost.queueing_lock)",
)
# Right after a start of the server nobody has had time to be heard again, so nobody is given up.
REAP: Final[Statement] = (
    _returned(f"""
        SELECT job.id, queueing_lock FROM procrastinate_jobs AS job
        LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
        WHERE status = 'doing'
        AND pg_postmaster_start_time() < clock_timestamp() - interval '{GONE_SECONDS} seconds'
        AND (worker.id IS NULL OR last_heartbeat < clock_timestamp() - interval '{GONE_SECONDS} seconds')
    """),
    (),
)
FORGET: Final[Statement] = (
    b"DELETE FROM procrastinate_workers WHERE last_heartbeat < clock_timestamp() - interval '1 hour'",
    (),
)
WORKED: Final[Statement] = (
    f"SELECT EXISTS (SELECT FROM procrastinate_workers WHERE NOT stands_in"
    f" AND last_heartbeat > clock_timestamp() - interval '{GONE_SECONDS} seconds')".encode(),
    (),
)
"""Whether a worker is alive that does nothing else."""
