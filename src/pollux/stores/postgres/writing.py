"""One commit: two round trips, one transaction.

The first locks what the change is about, always in the same order (thread, run, end of the audit), and reads it. The
shared rules judge. The second writes everything, commits, and tells the other processes. Until COMMIT is sent nothing
can have been written; after it, only its answer tells.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import Pipeline

from pollux.core.errors import Conflict, PolluxError, StoreError
from pollux.core.frozen import frozen
from pollux.engine.ports import Change
from pollux.stores import memory as rules
from pollux.stores.audit import Kept, Tip, chained
from pollux.stores.lineage import PUT_BACK, lineage_of, refusal
from pollux.stores.postgres import rows
from pollux.stores.postgres.news import CHANNEL
from pollux.stores.postgres.scopes import Db, Statement
from pollux.stores.postgres.troubles import NOT_WRITTEN
from pollux.stores.rows import Prepared

logger = logging.getLogger(__name__)

Beside = Callable[[Change], Iterable[Statement]]
"""What else is to be written in the transaction of a change: a queue's wake, for one."""

TRIES = 4

_BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
# For this transaction alone, since a pooler may lend the session to others. On a process that was stopped while it held
# the locks, the server hangs up; where it was stopped while it wrote, listening.py sees to that.
_SETTINGS = (
    b"SELECT set_config('pollux.scope', 'engine', true), set_config('lock_timeout', '10s', true),"
    b" set_config('idle_in_transaction_session_timeout', '4s', true), set_config('synchronous_commit',"
    b" CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"
)
_LOCK_THREAD = b"SELECT thread_id, version, head, open_run, erased FROM pollux.threads WHERE thread_id = %s FOR UPDATE"
_LOCK_RUN = b"SELECT version FROM pollux.runs WHERE run_id = %s FOR UPDATE"
_LOCK_HEAD = (
    b"SELECT seq, hash, (SELECT value FROM pollux.meta WHERE name = 'adoptions'),"
    b" (SELECT value FROM pollux.meta WHERE name = 'restored') FROM pollux.audit_head FOR UPDATE"
)
# After the end of the audit, which whoever revokes one locks first. Until this commits, it cannot be revoked.
_LOCK_GRANTS = b"SELECT grant_id FROM pollux.grants WHERE grant_id = ANY(%s) FOR SHARE"
# After COMMIT, in a transaction of its own: inside, every commit would wait for the disk of the one before.
_NOTIFY = f"SELECT pg_notify('{CHANNEL}', %s)".encode()


class Unsettled(Exception):
    """The connection was lost after COMMIT was sent. Nobody can know whether it was written."""


@frozen
class Written:
    """What a commit leaves to do: the audit's new end, to be signed."""

    tip: Tip | None = None
    at: float = 0.0


class _Standing(NamedTuple):
    id: str
    version: int
    head: int
    open_run: str | None
    erased: bool


class _Found(NamedTuple):
    thread: _Standing | None
    events: int
    is_known: bool
    tip: Tip
    restored: str = ""
    granted: Sequence[str] = ()


def write(
    db: Db, prepared: Prepared, *, key: bytes, told: str | None, beside: Beside | None = None, reached: int = 0
) -> Written:
    """Write a prepared change, and tell `told` to those who listen. A change of no run is no news.

    The audit must hold entry `reached`, which this process has written.

    Raises:
        Conflict, ThreadBusy: it does not fit what is stored.
        Unsettled: it may have been written.
        psycopg.Error: it was not.
    """
    tries = 0
    while True:
        try:
            return _attempt(db, prepared, key, told, beside, reached)
        except NOT_WRITTEN as problem:
            db.execute(b"ROLLBACK")
            tries += 1
            # Somebody began the same thing at the same time. Now that it is there, the rules have words for it.
            if tries == TRIES:
                raise _given_up(problem) from problem


def _given_up(problem: psycopg.Error) -> PolluxError:
    if isinstance(problem, psycopg.errors.UniqueViolation):
        return Conflict("expected what is to be written to be new, but something of it is there already")
    return StoreError("expected to be alone with the run, but others were in the way each time. Try again")


def _attempt(db: Db, prepared: Prepared, key: bytes, told: str | None, beside: Beside | None, reached: int) -> Written:
    change = prepared.change
    is_sent = False
    entries: list[Kept] = []
    lineage = ""
    ended: psycopg.Cursor[tuple[Any, ...]] | None = None
    try:
        with db.pipeline() as pipeline:
            found = _lock(db, pipeline, change, key)
            _check_still_there(found, change, reached)
            rules.check(change, events=found.events, thread=found.thread, granted=found.granted)
            lineage = found.tip.lineage
            entries += chained(change.audit, found.tip, key)
            statements = rows.written(prepared, stored=found.thread, is_known=found.is_known, entries=entries)
            if beside:
                statements = [*statements, *beside(change)]
            for statement in statements:
                db.execute(*statement)
            is_sent = True
            ended = db.execute(b"COMMIT")
            if told:
                db.execute(_NOTIFY, (told,))
    except (psycopg.Error, IndexError) as problem:
        # IndexError: psycopg's own, where an error comes at the very end of a pipeline and no statement waits for it.
        if ended is None or ended.statusmessage != "COMMIT":
            if is_sent and (db.closed or isinstance(problem, IndexError) or problem.sqlstate is None):
                raise Unsettled from problem
            raise
        # It is written. Others hear of it with the next change, or when they look.
        logger.warning("a commit could not be told to the others: %s", type(problem).__name__)
    except PolluxError:
        db.execute(b"ROLLBACK")
        raise
    if ended.statusmessage != "COMMIT":
        # What PostgreSQL answers to the COMMIT of a transaction that had failed.
        raise StoreError("expected the database to commit, but it rolled back. Try again")
    return _to_sign(entries, lineage)


def _check_still_there(found: _Found, change: Change, reached: int) -> None:
    """See that nobody has put the database back meanwhile: what has an effect is in the audit first."""
    why = found.restored or (PUT_BACK if found.tip.seq < reached else "")
    if change.audit and not change.adopts and why:
        raise refusal(why)


def _lock(db: Db, pipeline: Pipeline, change: Change, key: bytes) -> _Found:
    thread_id = rules.thread_of(change)
    thread = run = head = grants = None
    db.execute(_BEGIN)
    db.execute(_SETTINGS)
    if thread_id:
        thread = db.execute(_LOCK_THREAD, (thread_id,))
    if change.run:
        run = db.execute(_LOCK_RUN, (change.run.id,))
    if change.audit:
        head = db.execute(_LOCK_HEAD)
    if counted := rules.counted_on(change):
        grants = db.execute(_LOCK_GRANTS, (list(counted),))
    # Not by leaving the pipeline: that sends something more, and a server that was sent something is not idle.
    pipeline.sync()
    stored = thread.fetchone() if thread else None
    known = run.fetchone() if run else None
    end = head.fetchone() if head else None
    tip = Tip(end[0], end[1], lineage_of(end[2], key).name) if end else Tip()
    why = end[3] or "" if end else ""
    granted = [grant for (grant,) in grants] if grants else []
    standing = _Standing(*stored) if stored else None
    return _Found(standing, known[0] if known else 0, known is not None, tip, why, granted)


def _to_sign(entries: Sequence[Kept], lineage: str) -> Written:
    return Written(rows.tip_after(entries, lineage), entries[-1].entry.at) if entries else Written()
