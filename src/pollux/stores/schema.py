"""The tables of the SQLite store, and how an older file becomes a current one.

Each migration is one transaction together with its new `user_version`: a process killed in the middle leaves the file
as it was. The caller holds the store's file lock.

A migration that is `Additive` leaves room for processes of the version before: they go on beside it, and may start
again. After any other one they are refused. The file says itself which versions can live with it (`readable_from`), for
old code cannot know what a newer one did.
"""

import hmac
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from pollux.core.errors import StoreError
from pollux.stores import usage


class Additive(tuple[str, ...]):
    """A migration that takes nothing away and needs nothing: what older code writes and reads still fits.

    A new table or index; a new column that is nullable or has a default.
    """

    __slots__ = ()


FIRST = (
    # Journals of runs (`r:` and id) and of threads (`t:` and id). Facts only: what was said lies in `content`.
    """
    CREATE TABLE events (
        stream TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, v INTEGER NOT NULL, at REAL NOT NULL,
        facts TEXT NOT NULL, PRIMARY KEY (stream, seq)
    )
    """,
    # With row numbers, so that new bodies lie side by side at the end: fewer pages to write than in digest order.
    """
    CREATE TABLE content (
        id INTEGER PRIMARY KEY, thread_id TEXT NOT NULL, digest TEXT NOT NULL, body BLOB NOT NULL,
        UNIQUE (thread_id, digest)
    )
    """,
    """
    CREATE TABLE messages (
        thread_id TEXT NOT NULL, seq INTEGER NOT NULL, run_id TEXT, role TEXT NOT NULL, digest TEXT NOT NULL,
        PRIMARY KEY (thread_id, seq)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE threads (
        thread_id TEXT PRIMARY KEY, user TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL,
        title TEXT NOT NULL, version INTEGER NOT NULL, head INTEGER NOT NULL, open_run TEXT, compressed BLOB,
        context_tokens INTEGER NOT NULL, forked_from TEXT, erased INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX threads_of_user ON threads (user, updated_at, thread_id) WHERE erased = 0",
    """
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, user TEXT NOT NULL, profile TEXT NOT NULL,
        status TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL, wake_at REAL, owed INTEGER NOT NULL,
        epoch INTEGER NOT NULL, driver TEXT NOT NULL, parent TEXT, root TEXT, version INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX runs_of_user ON runs (user, created_at, run_id)",
    "CREATE INDEX runs_of_thread ON runs (thread_id, created_at, run_id)",
    "CREATE INDEX runs_of_parent ON runs (parent) WHERE parent IS NOT NULL",
    "CREATE INDEX runs_owed ON runs (created_at, run_id) WHERE owed = 1",
    "CREATE INDEX runs_waking ON runs (wake_at, run_id) WHERE wake_at IS NOT NULL",
    """
    CREATE TABLE approvals (
        approval_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, root TEXT NOT NULL, user TEXT NOT NULL,
        status TEXT NOT NULL, requested_at REAL NOT NULL, expires_at REAL NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX approvals_of_user ON approvals (user, requested_at, approval_id)",
    """
    CREATE TABLE grants (
        grant_id TEXT PRIMARY KEY, user TEXT NOT NULL, tool TEXT NOT NULL, subject TEXT NOT NULL, scope TEXT NOT NULL,
        granted_at REAL NOT NULL, thread_id TEXT, approval_id TEXT
    ) WITHOUT ROWID
    """,
    "CREATE INDEX grants_of_user ON grants (user)",
    # AUTOINCREMENT remembers the highest number ever given: entries removed at the end leave a trace.
    """
    CREATE TABLE audit (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, kind TEXT NOT NULL, user TEXT NOT NULL,
        run_id TEXT NOT NULL, thread_id TEXT NOT NULL, action_id TEXT NOT NULL, model_name TEXT NOT NULL,
        tool_name TEXT NOT NULL, input_hash TEXT NOT NULL, policy_decision TEXT NOT NULL, approval_id TEXT NOT NULL,
        execution_status TEXT NOT NULL, error_code TEXT NOT NULL, message TEXT NOT NULL, by TEXT NOT NULL,
        started_at REAL, ended_at REAL, previous TEXT NOT NULL, hash TEXT NOT NULL, seal TEXT NOT NULL
    )
    """,
    "CREATE INDEX audit_of_user ON audit (user, seq)",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)

TRIGGERS = {
    "audit_refuses_update": (
        "CREATE TRIGGER audit_refuses_update BEFORE UPDATE ON audit"
        " BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END"
    ),
    "audit_refuses_delete": (
        "CREATE TRIGGER audit_refuses_delete BEFORE DELETE ON audit"
        " BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END"
    ),
    # INSERT OR REPLACE deletes without asking the trigger above, unless the connection has recursive_triggers on.
    "audit_refuses_replace": (
        "CREATE TRIGGER audit_refuses_replace BEFORE INSERT ON audit"
        " WHEN NEW.seq <= (SELECT max(seq) FROM audit)"
        " BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END"
    ),
}
"""What refuses changes of the audit. Whoever has the file can drop them; `verify_audit` then says so."""

SETTINGS = (
    "PRAGMA busy_timeout = 10000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    # Ours run under the file lock: two at once can lose commits in SQLite before 3.51.3.
    "PRAGMA wal_autocheckpoint = 0",
    "PRAGMA recursive_triggers = ON",
    # What is erased must not stay readable in the file.
    "PRAGMA secure_delete = ON",
)
"""How the writing connection is set."""

SECOND = (
    # Where a thread was begun, so that a project's own can be told from the rest.
    "ALTER TABLE threads ADD COLUMN project TEXT NOT NULL DEFAULT ''",
)

THIRD = (
    # What each run has spent. Of older runs nobody counted it here; it is in their journals.
    "ALTER TABLE runs ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0",
)

FOURTH = (
    # Which tools have spoken in a thread, a line for each. Of older threads nobody kept it.
    "ALTER TABLE threads ADD COLUMN sources TEXT NOT NULL DEFAULT ''",
    # What users have entrusted to us, sealed with a key that is not in this file.
    "CREATE TABLE secrets (user TEXT NOT NULL, name TEXT NOT NULL, sealed BLOB NOT NULL, PRIMARY KEY (user, name))",
)

FIFTH = Additive(
    f"ALTER TABLE runs ADD COLUMN {column}"
    for column in (
        # A glance at each run for lists and sums, and the version it was taken at: older processes leave it behind.
        "model TEXT NOT NULL DEFAULT ''",
        "code TEXT NOT NULL DEFAULT ''",
        "input INTEGER NOT NULL DEFAULT 0",
        "output INTEGER NOT NULL DEFAULT 0",
        "thoughts INTEGER NOT NULL DEFAULT 0",
        "cached INTEGER NOT NULL DEFAULT 0",
        "cost REAL",
        "unknown INTEGER NOT NULL DEFAULT 0",
        "told INTEGER NOT NULL DEFAULT 0",
    )
)

SIXTH = Additive(
    # For which document and which tool a grant counts, and who made it. Older ones say nothing of it, and are void.
    f"ALTER TABLE grants ADD COLUMN {column} TEXT NOT NULL DEFAULT ''"
    for column in ("document", "definition", "by")
)

SEVENTH = Additive((
    # Browsers that are signed in. Of the secret in a browser's cookie only a keyed digest is here.
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, user TEXT NOT NULL, digest TEXT NOT NULL, made_by TEXT NOT NULL, mark TEXT NOT NULL,
        rights TEXT NOT NULL, created_at REAL NOT NULL, expires_at REAL NOT NULL, ended_at REAL
    ) WITHOUT ROWID
    """,
    "CREATE UNIQUE INDEX sessions_by_digest ON sessions (digest)",
    "CREATE INDEX sessions_of_user ON sessions (user, created_at, id)",
    "CREATE INDEX sessions_by_end ON sessions (expires_at)",
))  # fmt: skip


def _number(table: str, key: str, where: str = "user = NEW.user") -> str:
    last = f"SELECT ifnull(max(listed), 0) FROM {table} WHERE {where}"
    return f"BEGIN UPDATE {table} SET listed = ({last}) + 1 WHERE {key} = NEW.{key}; END"


_NUMBER_THREAD = _number("threads", "thread_id", "user = NEW.user AND erased = 0")

EIGHTH = Additive((
    # Where a row stands in its user's lists: numbered when it is written, for the clocks of processes may differ. By
    # triggers, so that it also holds for rows of older processes. Older rows are at 0, in the order of their moments,
    # and with a constant default none of them is written again.
    "ALTER TABLE threads ADD COLUMN listed INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN listed INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE approvals ADD COLUMN listed INTEGER NOT NULL DEFAULT 0",
    "DROP INDEX threads_of_user",
    "CREATE INDEX threads_of_user ON threads (user, listed, updated_at, thread_id) WHERE erased = 0",
    "DROP INDEX approvals_of_user",
    "CREATE INDEX approvals_of_user ON approvals (user, listed, requested_at, approval_id)",
    # Beside the one that sums up what was spent since a moment.
    "CREATE INDEX runs_in_order ON runs (user, listed, created_at, run_id)",
    # Last, for SQLite prefers the newest of two that would do: a thread has few runs.
    "DROP INDEX runs_of_thread",
    "CREATE INDEX runs_of_thread ON runs (thread_id, listed, created_at, run_id)",
    f"CREATE TRIGGER runs_are_numbered AFTER INSERT ON runs {_number('runs', 'run_id')}",
    f"CREATE TRIGGER approvals_are_numbered AFTER INSERT ON approvals {_number('approvals', 'approval_id')}",
    f"CREATE TRIGGER threads_are_numbered AFTER INSERT ON threads {_NUMBER_THREAD}",
    "CREATE TRIGGER threads_move_up AFTER UPDATE OF updated_at ON threads WHEN NEW.updated_at <> OLD.updated_at"
    f" {_NUMBER_THREAD}",
))  # fmt: skip

NINTH = Additive((
    # What each run may spend. Of runs begun by older processes nobody says it here.
    "ALTER TABLE runs ADD COLUMN budget INTEGER",
    # What all visitors begin in a day. Runs are begun in this order: an entry is added at the end, and never moved.
    "CREATE INDEX runs_by_age ON runs (created_at)",
))  # fmt: skip

_ENDED = "('completed', 'failed', 'cancelled')"
_NOTE_END = (
    f"WHEN NEW.status IN {_ENDED} BEGIN UPDATE runs SET ended_at = NEW.updated_at WHERE run_id = NEW.run_id; END"
)

TENTH = Additive((
    # When each run ended, and nothing while it is open. By triggers: also for rows of older processes, and so that the
    # indexes are written again at the end alone.
    "ALTER TABLE runs ADD COLUMN ended_at REAL",
    f"UPDATE runs SET ended_at = updated_at WHERE status IN {_ENDED}",
    f"CREATE TRIGGER runs_begin_ended AFTER INSERT ON runs {_NOTE_END}",
    f"CREATE TRIGGER runs_end AFTER UPDATE OF status ON runs {_NOTE_END}",
    # What a day cost: of a user, and of all visitors. A run may be open for longer.
    "CREATE INDEX runs_of_user_by_end ON runs (user, ended_at)",
    "DROP INDEX runs_by_age",
    "CREATE INDEX runs_by_end ON runs (ended_at)",
))  # fmt: skip


def _at(row: str) -> list[str]:
    """The user, day and model that a run's row counts for."""
    return [f"{row}user", f"CAST({row}created_at / {usage.DAY} AS INTEGER)", usage.name(row)]


_COUNT_NEW = (
    f"INSERT INTO usage (user, day, model, {', '.join(usage.COLUMNS)})"
    f" VALUES ({', '.join([*_at('NEW.'), *usage.amounts('NEW.')])})"
    f" ON CONFLICT (user, day, model) DO UPDATE SET {usage.more('usage')};"
)
_COUNT = "UPDATE usage SET {} WHERE (user, day, model) = ({});"
_COUNT_CHANGE = _COUNT.format(usage.CHANGED, ", ".join(_at("NEW.")))
_COUNT_LESS = _COUNT.format(usage.LESS, ", ".join(_at("OLD.")))

ELEVENTH = Additive((
    # What was used, by day and model: a sum reads these instead of every run. By triggers: also for rows of older
    # processes. What lies before is summed up once.
    f"""
    CREATE TABLE usage (
        user TEXT NOT NULL, day INTEGER NOT NULL, model TEXT NOT NULL,
        {' INTEGER NOT NULL, '.join(usage.COLUMNS)} INTEGER NOT NULL, PRIMARY KEY (user, day, model)
    ) WITHOUT ROWID
    """,
    f"INSERT INTO usage SELECT {', '.join([*_at(''), *(f'sum({amount})' for amount in usage.amounts())])}"
    " FROM runs GROUP BY 1, 2, 3",
    f"CREATE TRIGGER usage_begins AFTER INSERT ON runs BEGIN {_COUNT_NEW} END",
    f"CREATE TRIGGER usage_grows AFTER UPDATE OF {usage.TOLD} ON runs"
    f" WHEN NOT ({usage.IS_ANOTHER}) AND {usage.IS_CHANGED} BEGIN {_COUNT_CHANGE} END",
    f"CREATE TRIGGER usage_moves AFTER UPDATE OF {usage.TOLD} ON runs"
    f" WHEN {usage.IS_ANOTHER} BEGIN {_COUNT_LESS} {_COUNT_NEW} END",
))  # fmt: skip

MIGRATIONS: Sequence[Sequence[str]] = (
    (*FIRST, *TRIGGERS.values()),
    SECOND,
    THIRD,
    FOURTH,
    FIFTH,
    SIXTH,
    SEVENTH,
    EIGHTH,
    NINTH,
    TENTH,
    ELEVENTH,
)
"""Statements by version: the first brings an empty file to version 1, and so on."""


def migrate(db: sqlite3.Connection, path: Path, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the file to the newest version. Raises StoreError for one that a newer Pollux made unfit for this one."""
    version, known = version_of(db), len(migrations)
    if version > known and _readable_from(db, version) > known:
        raise StoreError(f"expected the store {path} at version {known} or older, found {version}. Update Pollux")
    for number, statements in enumerate(migrations[version:], version + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                db.execute(statement)
            _note_reach(db, number, statements)
            db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")


def _note_reach(db: sqlite3.Connection, number: int, statements: Sequence[str]) -> None:
    """Write down the oldest version whose code can live with this one. Without a word it is this one's own."""
    if isinstance(statements, Additive):
        oldest = _readable_from(db, number - 1)
        db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('readable_from', ?)", (str(oldest),))
    else:
        db.execute("DELETE FROM meta WHERE name = 'readable_from'")


def _readable_from(db: sqlite3.Connection, version: int) -> int:
    try:
        found = db.execute("SELECT value FROM meta WHERE name = 'readable_from'").fetchone()
    except sqlite3.OperationalError:
        # Somebody else's file: it says nothing to us.
        found = None
    return int(found[0]) if found else version


def know_key(db: sqlite3.Connection, path: Path, key: bytes) -> None:
    """See that this is the key the store was made with. With another one, the whole audit would look forged.

    Raises:
        StoreError: it is another one.
    """
    mark = hmac.digest(key, b"pollux.store", "sha256").hex()
    found = db.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
    if found is None:
        db.execute("INSERT INTO meta (name, value) VALUES ('key', ?)", (mark,))
    elif not hmac.compare_digest(found[0], mark):
        raise StoreError(
            f"expected the key that the store {path} was made with, found another. Put its audit.key back in place"
        )


def version_of(db: sqlite3.Connection) -> int:
    """How far the file was migrated."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def lost_triggers(db: sqlite3.Connection) -> list[str]:
    """Those of the audit's triggers that are gone or say something else."""
    found = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
    return [name for name, sql in TRIGGERS.items() if found.get(name) != sql]
