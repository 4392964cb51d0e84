"""The tables of the PostgreSQL store, and how an older database becomes a current one.

Each migration is one transaction together with its number: a process killed in the middle leaves the database as it
was. An advisory lock lets one process migrate while the others wait.

Hosts are updated one by one. A migration that is `Additive` leaves room for processes of the version before: they go on
beside it, and may start again. After any other one they are refused, so it belongs in a release after the one whose
code needs no more what it takes away. The database says itself which versions can live with it (`readable_from`), for
old code cannot know what a newer one did.

A second wall around what users own: a row is seen only under the scope of its owner, or of the engine, whatever the
query forgot to ask. It holds for the tables' owner too, but for no superuser.
"""

import hmac
from collections.abc import Sequence

from pollux.core.errors import StoreError
from pollux.stores import usage
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.scopes import Db
from pollux.stores.schema import Additive

USAGE_SLOTS = 8
"""A power of two. What one user's runs of a day and a model used is kept in so many rows."""
_MIGRATING = 0x706F6C6C7578
"""The advisory lock of whoever migrates: "pollux" in ASCII."""

# Ids compare byte by byte, as everywhere else in Pollux, whatever the database's own language is.
_ID = 'text COLLATE "C"'

_TABLES = (
    # Journals of runs (`r:` and id) and of threads (`t:` and id). Facts only: what was said lies in `content`.
    f"""
    CREATE TABLE pollux.events (
        stream {_ID} NOT NULL, seq integer NOT NULL, kind text NOT NULL, v integer NOT NULL,
        at double precision NOT NULL, facts text NOT NULL, PRIMARY KEY (stream, seq)
    )
    """,
    f"""
    CREATE TABLE pollux.content (
        thread_id {_ID} NOT NULL, digest {_ID} NOT NULL, body bytea NOT NULL, PRIMARY KEY (thread_id, digest)
    )
    """,
    f"""
    CREATE TABLE pollux.messages (
        thread_id {_ID} NOT NULL, seq integer NOT NULL, run_id {_ID}, role text NOT NULL, digest {_ID} NOT NULL,
        PRIMARY KEY (thread_id, seq)
    )
    """,
    f"""
    CREATE TABLE pollux.threads (
        thread_id {_ID} PRIMARY KEY, "user" {_ID} NOT NULL, created_at double precision NOT NULL,
        updated_at double precision NOT NULL, title text NOT NULL, version integer NOT NULL, head integer NOT NULL,
        open_run {_ID}, compressed bytea, context_tokens bigint NOT NULL, forked_from {_ID}, erased boolean NOT NULL,
        project text NOT NULL, sources text NOT NULL
    ) WITH (fillfactor = 80)
    """,
    'CREATE INDEX threads_of_user ON pollux.threads ("user", updated_at, thread_id) WHERE NOT erased',
    # With room in each page, so that a run's new state lies beside its old one and no index is touched.
    f"""
    CREATE TABLE pollux.runs (
        run_id {_ID} PRIMARY KEY, thread_id {_ID} NOT NULL, "user" {_ID} NOT NULL, profile text NOT NULL,
        status text NOT NULL, created_at double precision NOT NULL, updated_at double precision NOT NULL,
        wake_at double precision, owed boolean NOT NULL, epoch integer NOT NULL, driver {_ID} NOT NULL,
        parent {_ID}, root {_ID}, tokens bigint NOT NULL, version integer NOT NULL
    ) WITH (fillfactor = 80)
    """,
    'CREATE INDEX runs_of_user ON pollux.runs ("user", created_at, run_id)',
    "CREATE INDEX runs_of_thread ON pollux.runs (thread_id, created_at, run_id)",
    "CREATE INDEX runs_of_parent ON pollux.runs (parent) WHERE parent IS NOT NULL",
    "CREATE INDEX runs_owed ON pollux.runs (created_at, run_id) WHERE owed",
    "CREATE INDEX runs_waking ON pollux.runs (wake_at, run_id) WHERE wake_at IS NOT NULL",
    f"""
    CREATE TABLE pollux.approvals (
        approval_id {_ID} PRIMARY KEY, run_id {_ID} NOT NULL, root {_ID} NOT NULL, "user" {_ID} NOT NULL,
        status text NOT NULL, requested_at double precision NOT NULL, expires_at double precision NOT NULL
    )
    """,
    'CREATE INDEX approvals_of_user ON pollux.approvals ("user", requested_at, approval_id)',
    """
    CREATE INDEX approvals_waiting ON pollux.approvals ("user", requested_at, approval_id) WHERE status = 'pending'
    """,
    f"""
    CREATE TABLE pollux.grants (
        grant_id {_ID} PRIMARY KEY, "user" {_ID} NOT NULL, tool text NOT NULL, subject text NOT NULL,
        scope text NOT NULL, granted_at double precision NOT NULL, thread_id {_ID}, approval_id {_ID}
    )
    """,
    'CREATE INDEX grants_of_user ON pollux.grants ("user")',
    "CREATE INDEX grants_of_thread ON pollux.grants (thread_id) WHERE scope = 'session'",
    f"""
    CREATE TABLE pollux.secrets (
        "user" {_ID} NOT NULL, name {_ID} NOT NULL, sealed bytea NOT NULL, PRIMARY KEY ("user", name)
    )
    """,
    f"""
    CREATE TABLE pollux.audit (
        seq bigint PRIMARY KEY, at double precision NOT NULL, kind text NOT NULL, "user" {_ID} NOT NULL,
        run_id text NOT NULL, thread_id text NOT NULL, action_id text NOT NULL, model_name text NOT NULL,
        tool_name text NOT NULL, input_hash text NOT NULL, policy_decision text NOT NULL, approval_id text NOT NULL,
        execution_status text NOT NULL, error_code text NOT NULL, message text NOT NULL, by text NOT NULL,
        started_at double precision, ended_at double precision, previous text NOT NULL, hash text NOT NULL,
        seal text NOT NULL
    )
    """,
    'CREATE INDEX audit_of_user ON pollux.audit ("user", seq)',
    # The end of the chain, in one row that is locked by whoever adds to it. Entries removed at the end leave a trace.
    "CREATE TABLE pollux.audit_head (one boolean PRIMARY KEY CHECK (one), seq bigint NOT NULL, hash text NOT NULL)",
    "INSERT INTO pollux.audit_head VALUES (true, 0, repeat('0', 64))",
    # Who drives, and when each was last heard. What else makes one alive is in listening.py.
    f"CREATE TABLE pollux.drivers (driver {_ID} PRIMARY KEY, heard_at timestamptz NOT NULL)",
)

_SCOPE = "(SELECT current_setting('pollux.scope', true))"
_OWNER = "(SELECT current_setting('pollux.user', true))"
_FIRST_OWNED = ("threads", "runs", "approvals", "grants", "secrets", "audit")
OWNED = (*_FIRST_OWNED, "sessions", "usage")
"""Tables whose rows each have a user."""
INNER = ("events", "content", "messages")
"""Tables that only the engine reads: whose they are is known by their threads and runs."""


def _walls(owned: Sequence[str], inner: Sequence[str] = ()) -> Sequence[str]:
    rules = dict.fromkeys(owned, f"{_SCOPE} = 'engine' OR ({_SCOPE} = 'user' AND \"user\" = {_OWNER})")
    rules |= dict.fromkeys(inner, f"{_SCOPE} = 'engine'")
    return [
        statement
        for table, rule in rules.items()
        for statement in (
            f"ALTER TABLE pollux.{table} ENABLE ROW LEVEL SECURITY",
            f"ALTER TABLE pollux.{table} FORCE ROW LEVEL SECURITY",
            f"CREATE POLICY {table}_of_their_owner ON pollux.{table} USING ({rule})",
        )
    ]


_REFUSAL = """
BEGIN RAISE EXCEPTION 'the audit is only ever added to' USING ERRCODE = 'integrity_constraint_violation'; END
"""
_REFUSE = f"CREATE FUNCTION pollux.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $${_REFUSAL}$$"
TRIGGERS = {
    f"audit_refuses_{verb}": (
        f"CREATE TRIGGER audit_refuses_{verb} BEFORE {verb.upper()} ON pollux.audit"
        f" FOR EACH {each} EXECUTE FUNCTION pollux.refuse_change()"
    )
    for verb, each in (("update", "ROW"), ("delete", "ROW"), ("truncate", "STATEMENT"))
}
"""What refuses changes of the audit. Whoever owns the database can drop them; `verify_audit` then says so."""

# ALWAYS: also where somebody plays a replica's part to get around them.
_GUARDS = [
    _REFUSE,
    *TRIGGERS.values(),
    *(f"ALTER TABLE pollux.audit ENABLE ALWAYS TRIGGER {name}" for name in TRIGGERS),
]

LOST_TRIGGERS = (
    b"SELECT wanted.name FROM unnest(%s::text[], %s::text[]) AS wanted (name, definition) WHERE NOT EXISTS ("
    b" SELECT FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid"
    b" WHERE tgrelid = 'pollux.audit'::regclass AND tgname = wanted.name AND tgenabled = 'A'"
    b" AND pg_get_triggerdef(pg_trigger.oid) = wanted.definition AND prosrc = %s)"
)
LOST_TRIGGERS_VALUES = (list(TRIGGERS), list(TRIGGERS.values()), _REFUSAL)

_GLANCES = Additive((
    # A glance at each run for lists and sums, and the version it was taken at: older processes leave it behind. With
    # constant defaults no row is written again.
    """
    ALTER TABLE pollux.runs
        ADD COLUMN model text NOT NULL DEFAULT '', ADD COLUMN code text NOT NULL DEFAULT '',
        ADD COLUMN input bigint NOT NULL DEFAULT 0, ADD COLUMN output bigint NOT NULL DEFAULT 0,
        ADD COLUMN thoughts bigint NOT NULL DEFAULT 0, ADD COLUMN cached bigint NOT NULL DEFAULT 0,
        ADD COLUMN cost double precision, ADD COLUMN unknown integer NOT NULL DEFAULT 0,
        ADD COLUMN told integer NOT NULL DEFAULT 0
    """,
))  # fmt: skip

_GRANTS = Additive((
    # For which document and which tool a grant counts, and who made it. Older ones say nothing of it, and are void.
    """
    ALTER TABLE pollux.grants
        ADD COLUMN document text NOT NULL DEFAULT '', ADD COLUMN definition text NOT NULL DEFAULT '',
        ADD COLUMN "by" text NOT NULL DEFAULT ''
    """,
))  # fmt: skip

_SESSIONS = Additive((
    # Browsers that are signed in. Of the secret in a browser's cookie only a keyed digest is here.
    f"""
    CREATE TABLE pollux.sessions (
        id {_ID} PRIMARY KEY, "user" {_ID} NOT NULL, digest {_ID} NOT NULL, made_by text NOT NULL, mark text NOT NULL,
        rights text NOT NULL, created_at double precision NOT NULL, expires_at double precision NOT NULL,
        ended_at double precision
    )
    """,
    "CREATE UNIQUE INDEX sessions_by_digest ON pollux.sessions (digest)",
    'CREATE INDEX sessions_of_user ON pollux.sessions ("user", created_at, id)',
    "CREATE INDEX sessions_by_end ON pollux.sessions (expires_at)",
    *_walls(("sessions",)),
))  # fmt: skip

_IN_ORDER = Additive((
    # Where a row stands in its user's lists: numbered when it is written, for the clocks of hosts may differ. By the
    # tables themselves, so that it also holds for rows of older processes. Older rows are at 0, in the order of their
    # moments, and with a constant default none of them is written again.
    "CREATE SEQUENCE pollux.listed",
    *(
        f"ALTER TABLE pollux.{table} {change}"
        for table in ("threads", "runs", "approvals")
        for change in (
            "ADD COLUMN listed bigint NOT NULL DEFAULT 0",
            "ALTER COLUMN listed SET DEFAULT nextval('pollux.listed')",
        )
    ),
    "DROP INDEX pollux.threads_of_user, pollux.approvals_of_user, pollux.approvals_waiting, pollux.runs_of_thread",
    'CREATE INDEX threads_of_user ON pollux.threads ("user", listed, updated_at, thread_id) WHERE NOT erased',
    'CREATE INDEX approvals_of_user ON pollux.approvals ("user", listed, requested_at, approval_id)',
    """
    CREATE INDEX approvals_waiting ON pollux.approvals ("user", listed, requested_at, approval_id)
    WHERE status = 'pending'
    """,
    "CREATE INDEX runs_of_thread ON pollux.runs (thread_id, listed, created_at, run_id)",
    # Beside the one that sums up what was spent since a moment.
    'CREATE INDEX runs_in_order ON pollux.runs ("user", listed, created_at, run_id)',
    """
    CREATE FUNCTION pollux.move_up() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN NEW.listed := nextval('pollux.listed'); RETURN NEW; END$$
    """,
    """
    CREATE TRIGGER threads_move_up BEFORE UPDATE OF updated_at ON pollux.threads
    FOR EACH ROW WHEN (NEW.updated_at <> OLD.updated_at) EXECUTE FUNCTION pollux.move_up()
    """,
))  # fmt: skip

_BUDGETS = Additive((
    # What each run may spend. Of runs begun by older processes nobody says it here.
    "ALTER TABLE pollux.runs ADD COLUMN budget bigint",
    # What all visitors begin in a day. An entry is never moved.
    "CREATE INDEX runs_by_age ON pollux.runs (created_at)",
))  # fmt: skip

_ENDS = Additive((
    # When each run ended, and nothing while it is open: the indexes are touched at the end alone.
    """
    ALTER TABLE pollux.runs ADD COLUMN ended_at double precision GENERATED ALWAYS AS (
        CASE WHEN status IN ('completed', 'failed', 'cancelled') THEN updated_at END
    ) STORED
    """,
    # What a day cost: of a user, and of all visitors. A run may be open for longer.
    'CREATE INDEX runs_of_user_by_end ON pollux.runs ("user", ended_at)',
    "DROP INDEX pollux.runs_by_age",
    "CREATE INDEX runs_by_end ON pollux.runs (ended_at)",
))  # fmt: skip

_KEYS = '"user", day, model, slot'


def _at(row: str) -> str:
    """The user, day, model and slot that a run's row counts for."""
    day, slot = f"CAST(floor({row}created_at / {usage.DAY}) AS bigint)", f"hashtext({row}run_id) & {USAGE_SLOTS - 1}"
    return f'{row}"user", {day}, {usage.name(row)}, {slot}'


def _counting(name: str, event: str, when: str, *work: str) -> Sequence[str]:
    body = f"BEGIN {' '.join(work)} RETURN NULL; END"
    return (
        f"CREATE FUNCTION pollux.{name}() RETURNS trigger LANGUAGE plpgsql AS $${body}$$",
        f"CREATE TRIGGER {name} AFTER {event} ON pollux.runs FOR EACH ROW {when} EXECUTE FUNCTION pollux.{name}()",
    )


_COUNT_NEW = (
    f"INSERT INTO pollux.usage AS sums ({_KEYS}, {', '.join(usage.COLUMNS)})"
    f" VALUES ({_at('NEW.')}, {', '.join(usage.amounts('NEW.'))})"
    f" ON CONFLICT ({_KEYS}) DO UPDATE SET {usage.more('sums')};"
)
_COUNT = f"UPDATE pollux.usage SET {{}} WHERE ({_KEYS}) = ({{}});"
_MOVED = f"UPDATE OF {usage.TOLD}"

_USAGE = Additive((
    # What was used, by day and model: a sum reads these instead of every run. In slots, by the run: who begins many at
    # once would have them wait for one row. By triggers: also for rows of older processes.
    f"""
    CREATE TABLE pollux.usage (
        "user" {_ID} NOT NULL, day bigint NOT NULL, model {_ID} NOT NULL, slot integer NOT NULL,
        {' bigint NOT NULL, '.join(usage.COLUMNS)} bigint NOT NULL, PRIMARY KEY ({_KEYS})
    ) WITH (fillfactor = 50)
    """,
    *_walls(("usage",)),
    # The triggers first: they hold whoever writes until what lies before is summed up, once.
    *_counting("usage_begins", "INSERT", "", _COUNT_NEW),
    *_counting(
        "usage_grows",
        _MOVED,
        f"WHEN (NOT ({usage.IS_ANOTHER}) AND {usage.IS_CHANGED})",
        _COUNT.format(usage.CHANGED, _at("NEW.")),
    ),
    *_counting(
        "usage_moves", _MOVED, f"WHEN ({usage.IS_ANOTHER})", _COUNT.format(usage.LESS, _at("OLD.")), _COUNT_NEW
    ),
    "SELECT set_config('pollux.scope', 'engine', true)",
    f"INSERT INTO pollux.usage SELECT {_at('')}, {', '.join(f'sum({amount})' for amount in usage.amounts())}"
    " FROM pollux.runs GROUP BY 1, 2, 3, 4",
))  # fmt: skip

MIGRATIONS: Sequence[Sequence[str]] = (
    (*_TABLES, *_walls(_FIRST_OWNED, INNER), *_GUARDS),
    _GLANCES,
    _GRANTS,
    _SESSIONS,
    _IN_ORDER,
    _BUDGETS,
    _ENDS,
    _USAGE,
)
"""Statements by version: the first brings an empty database to version 1, and so on."""


def migrate(db: Db, place: Address, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the database to the newest version. Raises StoreError for one that a newer Pollux made unfit for this."""
    while (version := version_of(db)) < len(migrations):
        with db.transaction():
            # Released with the transaction. Whoever waited here finds the work done.
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
            if version_of(db) == version:
                _apply(db, migrations[version], version + 1)
    if version > len(migrations) and _readable_from(db, version) > len(migrations):
        raise StoreError(
            f"expected the store at {place} at version {len(migrations)} or older, found {version}. Update Pollux"
        )


def _apply(db: Db, statements: Sequence[str], number: int) -> None:
    if number == 1:
        # Where an administrator has made the schema already, nobody needs the right to make one.
        found = db.execute("SELECT FROM pg_namespace WHERE nspname = 'pollux'").fetchone()
        if found is None:
            db.execute("CREATE SCHEMA pollux")
        db.execute("CREATE TABLE pollux.meta (name text PRIMARY KEY, value text NOT NULL)")
    for statement in statements:
        db.execute(statement.encode())
    if isinstance(statements, Additive):
        _note(db, "readable_from", _readable_from(db, number - 1))
    else:
        db.execute("DELETE FROM pollux.meta WHERE name = 'readable_from'")
    _note(db, "version", number)


def _note(db: Db, name: str, number: int) -> None:
    db.execute(
        "INSERT INTO pollux.meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, str(number)),
    )


def _readable_from(db: Db, version: int) -> int:
    """The oldest version whose code can live with the tables. Where nobody wrote it down, it is their own."""
    row = db.execute("SELECT value FROM pollux.meta WHERE name = 'readable_from'").fetchone()
    return int(row[0]) if row else version


def version_of(db: Db) -> int:
    """How far the database was migrated."""
    # Not `to_regclass`, which answers from a cache: whoever waited for another's migration would not see it.
    found = (db.execute("SELECT FROM pg_tables WHERE schemaname = 'pollux' AND tablename = 'meta'")).fetchone()
    if found is None:
        return 0
    row = db.execute("SELECT value FROM pollux.meta WHERE name = 'version'").fetchone()
    if row and not str(row[0]).isdecimal():
        raise StoreError("expected the schema pollux to be ours, but its table meta is not. Use a database of its own")
    return int(row[0]) if row else 0


def know_key(db: Db, place: Address, key: bytes) -> None:
    """See that this is the key the store was made with. With another one, the whole audit would look forged.

    Raises:
        StoreError: it is another one.
    """
    mark = mark_of(key)
    db.execute("INSERT INTO pollux.meta VALUES ('key', %s) ON CONFLICT DO NOTHING", (mark,))
    row = db.execute("SELECT value FROM pollux.meta WHERE name = 'key'").fetchone()
    if row is None or not hmac.compare_digest(str(row[0]), mark):
        raise StoreError(
            f"expected the key that the store at {place} was made with, found another. Put its audit.key back in place"
        )


def mark_of(key: bytes) -> str:
    """By what a store knows its key. It tells nothing of it."""
    return hmac.digest(key, b"pollux.store", "sha256").hex()
