"""Go on with a store that was put back from a backup, or copied.

What happened after the backup was taken is in no journal: a run that waits there may have been approved, sent and ended
since. So nothing of it is repeated by itself. Each open run is marked: what may have been done is looked up where its
tool can be asked, and otherwise has an unknown outcome; whatever else the run wants to do is asked about. Every grant
is revoked: nobody knows whether it was revoked after the backup.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pollux.core.errors import UNREMEMBERED, Misfit, NotFound
from pollux.core.events import Event, RunRestored
from pollux.core.frozen import frozen
from pollux.core.ids import Instant
from pollux.core.machine import conclude, step
from pollux.core.run import Action, Run
from pollux.engine.ledger import change_of
from pollux.engine.ports import AuditFact, Change, RunRow, Store

Fate = Literal["asked", "looked_up", "unknown", "child", "page"]
"""What becomes of an open action: a person is asked, its tool is, nobody knows, or another run or a page has it."""


@frozen
class Doubtful:
    """An open run of a restored store, and its actions that may have been done since."""

    run: Run
    actions: tuple[tuple[Action, Fate], ...]


async def doubtful(store: Store) -> Sequence[Doubtful]:
    """Every run that could repeat something, oldest first."""
    runs = [await _run_of(store, row) for row in await store.open_runs()]
    return [Doubtful(run, tuple((a, fate) for a in run.open if (fate := fate_of(a)))) for run in runs]


def fate_of(action: Action) -> Fate | None:
    """What adoption makes of an action; None where a repetition does no harm, or it has ended."""
    if action.outcome or not action.side_effect:
        return None
    if action.where == "child":
        return "child"
    if action.handed_over:
        return "page"
    if action.is_asked:
        return "asked"
    return "looked_up" if action.repeat == "checkable" else "unknown"


async def adopt(store: Store, *, by: str, at: Instant) -> int:
    """Mark every open run, revoke every grant, note who adopted the store, and let it take writes.

    Returns how many runs were open.

    When it is stopped in the middle, the store is still in doubt, and adopting it again does the rest.

    Raises:
        Misfit: the store is not in doubt.
        StoreError: it could not be written.
    """
    why = await store.restored()
    if not why:
        said = "store_adopted needs a store that was restored or copied, but this one was not"
        raise Misfit(said, code="not_restored")
    last = await store.audit(newest_first=True, limit=1)
    after = f"after entry {last[0].seq} ({last[0].hash})" if last else "at its beginning"
    rows = await store.open_runs()
    await store.begin_lineage()
    message = f"{why}; goes on {after} with {len(rows)} open runs"
    fact = AuditFact(at=at, kind="adopted", user=by, by=by, message=message)
    grants = await store.grants(None)
    taken = [AuditFact(at=at, kind="revoked", user=grant.user, tool_name=grant.tool, by=by) for grant in grants]
    await store.commit(Change(audit=(fact, *taken), revoked=tuple(grant.id for grant in grants), adopts=True))
    for row in rows:
        await store.commit(await _marked(store, await _run_of(store, row), by=by, at=at))
    await store.trust()
    return len(rows)


async def confirm(store: Store, *, by: str, at: Instant) -> None:
    """Let a store take writes that no host remembers: a person says that it is the newest state.

    Raises:
        Misfit: it is not in doubt, or for another reason.
        StoreError: it could not be written.
    """
    if await store.restored() != UNREMEMBERED:
        said = "store_trusted needs a store that no host remembers, but this one is trusted or known to be restored"
        raise Misfit(said, code="not_restored")
    fact = AuditFact(at=at, kind="trusted", user=by, by=by, message=UNREMEMBERED)
    await store.commit(Change(audit=(fact,), adopts=True))
    await store.trust()


async def _marked(store: Store, run: Run, *, by: str, at: Instant) -> Change:
    thread = await store.thread(run.thread_id)
    if thread is None:
        raise NotFound(f"there is no thread {run.thread_id!r}")
    events: tuple[Event, ...] = (RunRestored(by=by, at=at),)
    after = step(run, events[0])
    while (ending := conclude(after, at)) is not None:
        after, events = step(after, ending), (*events, ending)
    return replace(change_of(run, after, events, thread=thread), adopts=True)


async def _run_of(store: Store, row: RunRow) -> Run:
    run = await store.run(row.run_id)
    if run is None:
        raise NotFound(f"there is no run {row.run_id!r}")
    return run
