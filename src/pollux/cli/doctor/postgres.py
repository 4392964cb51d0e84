"""What `pollux doctor` finds out about a PostgreSQL store: the server, the role, the way to it, the queue, the key."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pollux.cli.doctor.checks import Check, opened
from pollux.config import Settings
from pollux.core.errors import PolluxError

if TYPE_CHECKING:
    from pollux.bootstrap import Examination

OLDEST_SERVER: Final = 14
NEARLY_ALL: Final = 0.8
"""Of the connections, taken: the next process may find none."""
LONG_SECONDS: Final = 60.0
SERVERS_MOST, WORKERS_MOST = 14, 24
"""How many connections a `pollux serve` and a `pollux worker` take when they are busy."""


async def postgres(settings: Settings) -> list[Check]:
    """Everything about the server and what is in it. Where it cannot be reached, that."""
    from pollux.bootstrap import examine_postgres

    try:
        found = await examine_postgres(settings)
    except PolluxError as problem:
        return [Check("store", "error", str(problem))]
    checks = [server(found), role(found), listen(found, settings), connections(found)]
    checks += [audit_key(found, settings.home / "audit.key"), *queue(found)]
    is_open = store(found)
    # Opening would bring an older store up to date, and make a key where there is none.
    if found.has_this_key and found.version >= found.newest and all(check.status != "error" for check in checks):
        return [*await opened(settings, is_open=is_open), *checks]
    return [is_open, *checks]


def store(found: "Examination") -> Check:
    """Whether it answers, and how old its tables are."""
    if found.version == 0:
        return Check("store", "ok", f"{found.place} answers; its tables are made when it is first needed")
    if found.readable_from > found.newest:
        why = f"{found.place} was brought to version {found.version} by a newer Pollux; this one knows {found.newest}"
        return Check("store", "error", why, "Update Pollux on this host")
    said = f"{found.place} answers, with tables of version {found.version}"
    if found.version < found.newest:
        return Check("store", "ok", f"{said}; the next start brings them to {found.newest}")
    if found.version > found.newest:
        why = f"{said}, which a newer Pollux made and this one can live with"
        return Check("store", "warning", why, "Update Pollux on this host: runs that use something new wait for it")
    return Check("store", "ok", said)


def server(found: "Examination") -> Check:
    """Whether the server is one that we can rely on."""
    said = f"PostgreSQL {found.server}"
    if found.number // 10000 < OLDEST_SERVER:
        return Check("server", "error", f"{said} is too old", f"Use PostgreSQL {OLDEST_SERVER} or newer")
    if found.encoding != "UTF8":
        advice = "Create another database with ENCODING 'UTF8', and TEMPLATE template0 if need be"
        return Check("server", "error", f"the database is in {found.encoding}, but texts need UTF8", advice)
    if found.is_replica:
        advice = "Name the server that writes in POLLUX_STORE"
        return Check("server", "error", f"{said} is a replica, which cannot be written", advice)
    if found.unsafe:
        off = " and ".join(found.unsafe)
        advice = "Switch it on in postgresql.conf: without it a crash of the host can lose or damage what was kept"
        return Check("server", "warning", f"{said} runs with {off} off", advice)
    return Check("server", "ok", f"{said}, in UTF8")


def role(found: "Examination") -> Check:
    """Whether the second wall between users holds for us."""
    if found.is_above_walls:
        why = "the role is a superuser or has BYPASSRLS: the database does not wall one user's rows off from another's"
        return Check("role", "warning", why, "Use an ordinary role that owns the database: CREATE ROLE pollux LOGIN")
    return Check("role", "ok", "the role is an ordinary one, and rows are walled off by their owners")


def listen(found: "Examination", settings: Settings) -> Check:
    """Whether we would hear of what others do."""
    if found.deaf:
        advice = "Set POLLUX_PG_LISTEN_URL to an address of the same database that goes past the pooler"
        return Check("listen", "error", found.deaf, advice)
    way = "POLLUX_PG_LISTEN_URL" if settings.pg_listen_url else "the store's own address"
    return Check("listen", "ok", f"notices are heard over {way}")


def connections(found: "Examination") -> Check:
    """Whether there is room for more processes."""
    most, taken, ours = found.connections
    said = f"{taken} of {most} connections are taken, {ours} of them by Pollux"
    if taken < NEARLY_ALL * most:
        return Check("connections", "ok", said)
    advice = (
        f"A busy server takes up to {SERVERS_MOST}, a worker {WORKERS_MOST}: raise max_connections, or put a pooler"
        " before POLLUX_STORE"
    )
    return Check("connections", "warning", said, advice)


def audit_key(found: "Examination", key: Path) -> Check:
    """Whether this host has the key that the others have."""
    if found.has_this_key:
        return Check("audit key", "ok", f"{key} is the one that the store was made with")
    if found.has_this_key is False:
        advice = "Copy audit.key from a host that works. What it signed cannot be signed by another one"
        return Check("audit key", "error", f"{key} is not the key that the store was made with", advice)
    if found.version and not key.exists():
        advice = "Copy audit.key from a host that works, readable by its owner alone"
        return Check("audit key", "error", f"{key} is missing, but the store is there", advice)
    return Check("audit key", "ok", "the first start decides which key the store is made with")


def queue(found: "Examination") -> list[Check]:
    """Who takes jobs, and what waits for them. Nothing, where there is no store yet."""
    queue = found.queue
    if queue is None:
        said = "there is none yet: the first `pollux serve` or `pollux worker` makes it"
        return [Check("queue", "ok", said)] if found.version else []
    said = f"{_alive(queue.workers, queue.stand_ins)}; {queue.waiting} waiting, {queue.taken} under way"
    if queue.waiting:
        said += f", the oldest for {queue.oldest_seconds:.0f} s"
    if queue.left_alone:
        said += f"; {queue.left_alone} owed and without a job for a minute"
        return [Check("queue", "warning", said, "Start a worker that has the profiles of these runs")]
    if queue.waiting and not queue.workers + queue.stand_ins:
        return [Check("queue", "warning", said, "Start `pollux worker`, or `pollux serve` with a --concurrency")]
    if queue.oldest_seconds > LONG_SECONDS:
        return [Check("queue", "warning", said, "Start more workers, or see what keeps these busy")]
    return [Check("queue", "ok", said)]


def _alive(workers: int, stand_ins: int) -> str:
    if workers:
        return f"{workers} {'worker is' if workers == 1 else 'workers are'} alive"
    if stand_ins:
        return "no worker is alive, and servers take the jobs themselves"
    return "nobody is alive to take jobs"
