"""How a PostgreSQL server, the store in it and its queue are. Looking changes nothing: no table is made or updated."""

import asyncio
import hmac
from dataclasses import replace
from typing import Any

import psycopg

from pollux.core.errors import StoreError
from pollux.core.frozen import frozen
from pollux.core.redact import Secret
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.connections import connect
from pollux.stores.postgres.poolers import check_hears, is_direct
from pollux.stores.postgres.schema import MIGRATIONS, mark_of, version_of
from pollux.stores.postgres.scopes import Db, ask
from pollux.stores.postgres.troubles import explained

_SERVER = b"""
    SELECT current_setting('server_version'), current_setting('server_version_num')::integer, getdatabaseencoding(),
        pg_is_in_recovery(), rolsuper OR rolbypassrls,
        ARRAY(SELECT name FROM unnest(ARRAY['fsync', 'full_page_writes']) AS name WHERE current_setting(name) = 'off')
    FROM pg_roles WHERE rolname = current_user
"""
_WHICH = b"SELECT pg_postmaster_start_time(), oid::bigint FROM pg_database WHERE datname = current_database()"
# The role's and the database's own limits are -1 where there is none.
_CONNECTIONS = b"""
    SELECT least(
            current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
            nullif(rolconnlimit, -1), nullif(datconnlimit, -1)
        ),
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
        (SELECT count(*) FROM pg_stat_activity WHERE application_name IN ('pollux', 'pollux-queue')
            AND datname = current_database() AND pid <> pg_backend_pid())
    FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()
"""
_KEY = b"SELECT value FROM pollux.meta WHERE name = 'key'"
_READABLE_FROM = b"SELECT value::integer FROM pollux.meta WHERE name = 'readable_from'"
_HAS_QUEUE = b"SELECT FROM pg_tables WHERE schemaname = 'pollux' AND tablename = 'procrastinate_jobs'"
# A run is not written between the commit that makes its wake and the moment when somebody takes the job.
_QUEUE = b"""
    SELECT
        (SELECT count(*) FROM pollux.procrastinate_workers
            WHERE NOT stands_in AND last_heartbeat > clock_timestamp() - interval '6 seconds'),
        (SELECT count(*) FROM pollux.procrastinate_workers
            WHERE stands_in AND last_heartbeat > clock_timestamp() - interval '6 seconds'),
        (SELECT count(*) FROM pollux.procrastinate_jobs WHERE status = 'doing'),
        (SELECT count(*) FROM pollux.procrastinate_jobs WHERE status = 'todo'),
        (SELECT extract(epoch FROM clock_timestamp()) - min(updated_at)
            FROM pollux.procrastinate_jobs AS job JOIN pollux.runs ON run_id = queueing_lock
            WHERE job.status = 'todo' AND NOT EXISTS (
                SELECT FROM pollux.procrastinate_jobs AS other WHERE other.lock = job.lock AND other.status = 'doing')),
        (SELECT count(*) FROM pollux.runs
            WHERE owed AND updated_at < extract(epoch FROM clock_timestamp()) - 60 AND NOT EXISTS (
                SELECT FROM pollux.procrastinate_jobs AS job WHERE job.lock = thread_id))
"""


@frozen
class Queue:
    """Who takes jobs, and what waits to be taken."""

    workers: int
    stand_ins: int
    taken: int
    waiting: int
    oldest_seconds: float
    """How long the longest of those has waited that could be taken."""
    left_alone: int
    """Runs that are owed work, have no job, and were not written for a minute."""


@frozen
class Examination:
    """What was found. A `queue` of None: no server or worker has been there yet."""

    place: str
    server: str
    number: int
    """The server's version as a number, 150004 for 15.4."""
    encoding: str
    is_replica: bool
    is_above_walls: bool
    unsafe: tuple[str, ...]
    """What is off that a crash needs on."""
    connections: tuple[int, int, int]
    """How many may be had, how many are taken, and how many of those are ours."""
    version: int
    """How far the store's tables were brought; 0 where there are none."""
    newest: int
    """How far this Pollux brings them."""
    readable_from: int
    """The oldest Pollux, by what it brings them to, that can live with them."""
    has_this_key: bool | None
    """Whether the store was made with the given key. None where one of the two is not there yet."""
    queue: Queue | None = None
    deaf: str = ""
    """Why notices would not be heard, if so."""


async def examine(url: Secret | str, listen_url: Secret | str | None, *, key: bytes | None) -> Examination:
    """Look at the server and at what is in it. Raises StoreError, and ValidationError for what is no address."""
    address, direct = Address(url), Address(listen_url) if listen_url else None
    found, is_way_known = await asyncio.to_thread(_look, address, direct, key)
    # On a direct way to the server there is nothing to try out.
    if found.deaf or (is_way_known and direct is None):
        return found
    try:
        await check_hears(direct or address)
    except StoreError as problem:
        return replace(found, deaf=str(problem))
    return found


def _look(address: Address, direct: Address | None, key: bytes | None) -> tuple[Examination, bool]:
    """What was found, and whether the server itself answers at the store's address."""
    # Nothing is prepared: it may be a pooler's address.
    with connect(address, prepare_threshold=None) as db:
        try:
            server, number, encoding, is_replica, is_above, unsafe = _one(db, _SERVER)
            most, taken, ours = _one(db, _CONNECTIONS)
            version = version_of(db)
            found = Examination(
                place=str(address),
                server=server.split()[0],
                number=number,
                encoding=encoding,
                is_replica=is_replica,
                is_above_walls=is_above,
                unsafe=tuple(unsafe),
                connections=(most, taken, ours),
                version=version,
                newest=len(MIGRATIONS),
                readable_from=_readable_from(db, version) if version else 0,
                has_this_key=_is_made_with(db, key) if version and key else None,
                queue=_queue(db) if version else None,
                deaf=_estranged(db, address, direct) if direct else "",
            )
            return found, is_direct(db)
        except psycopg.Error as problem:
            raise explained(problem, address) from problem


def _estranged(db: Db, address: Address, direct: Address) -> str:
    """Why the direct address does not lead to the same database, if so."""
    try:
        with connect(direct, prepare_threshold=None) as other:
            if _one(other, _WHICH) != _one(db, _WHICH):
                return f"expected {direct} to be the same database as {address}, but it is another one"
    except StoreError as problem:
        return str(problem)
    return ""


def _readable_from(db: Db, version: int) -> int:
    row = db.execute(_READABLE_FROM).fetchone()
    return row[0] if row else version


def _is_made_with(db: Db, key: bytes) -> bool | None:
    row = db.execute(_KEY).fetchone()
    return hmac.compare_digest(str(row[0]), mark_of(key)) if row else None


def _queue(db: Db) -> Queue | None:
    if db.execute(_HAS_QUEUE).fetchone() is None:
        return None
    [(workers, stand_ins, taken, waiting, oldest, left_alone)] = ask(db, (_QUEUE, ()))
    return Queue(workers, stand_ins, taken, waiting, max(float(oldest or 0), 0.0), left_alone)


def _one(db: Db, question: bytes) -> tuple[Any, ...]:
    [row] = ask(db, (question, ()))
    return row
