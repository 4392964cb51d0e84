"""The queue on Procrastinate: what a wake is, whose a job is, and what becomes of it."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import psycopg
import pytest
from tests.dispatch.queue_lab import QueueLab, opened, rows
from tests.stores.postgres import fresh_database
from tests.waiting import HANG_SECONDS, until

from pollux.core.errors import StoreError, ValidationError
from pollux.core.ids import RunId
from pollux.dispatch.queue import schema, statements
from pollux.dispatch.queue.dispatcher import ProcrastinateDispatcher
from pollux.dispatch.queue.link import Link, parameters_of
from pollux.dispatch.queue.schema import install
from pollux.engine.engine import Engine, Start
from pollux.engine.system import SystemClock
from pollux.providers.scripted import ScriptedProvider, call, reply
from pollux.testing.dispatcher_suite import ADA, Held, LabTool, mail

pytestmark = pytest.mark.slow

DEFAULT = statements.known({"default": 0})


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


@pytest.fixture
async def lab(url: str) -> AsyncGenerator[QueueLab]:
    lab = QueueLab(url)
    yield lab
    await lab.close()


@pytest.fixture
async def link(url: str) -> AsyncGenerator[Link]:
    link = Link(parameters_of(url))
    yield link
    await link.close()


# What a wake is.


async def test_a_wake_is_there_as_soon_as_the_run_is(lab: QueueLab):
    server, _ = await opened(lab.url, lab.clock, ScriptedProvider())
    run = await server.start(Start("go on", user=ADA))
    # Whatever becomes of the server now.
    [job] = _jobs(lab.url)
    assert job == {"queue_name": "default", "status": "todo", "lock": run.thread_id, "queueing_lock": run.id}
    await server.close()


async def test_a_refused_change_wakes_nobody(lab: QueueLab):
    server, _ = await opened(lab.url, lab.clock, ScriptedProvider())
    run = await server.start(Start("go on", user=ADA))
    _empty(lab.url)
    with pytest.raises(Exception, match="open run"):
        await server.start(Start("go on", user=ADA, thread_id=run.thread_id))
    assert _jobs(lab.url) == []
    await server.close()


async def test_many_wakes_of_one_run_are_one_job(lab: QueueLab, link: Link):
    server, dispatcher = await opened(lab.url, lab.clock, ScriptedProvider())
    run = await server.start(Start("go on", user=ADA))
    for _ in range(20):
        dispatcher.wake(run.id)
        await link.ask(statements.wake([run.id], DEFAULT))
        await link.ask(statements.enqueue([run.id], DEFAULT))
        await link.ask(statements.due(lab.clock.now() + 10**6, DEFAULT))
        await link.ask(statements.left_alone(lab.clock.now() + 10, DEFAULT))
    assert len(_jobs(lab.url)) == 1
    await server.close()


async def test_a_wake_is_not_taken_before_the_change_that_made_it_is_written(lab: QueueLab, link: Link):
    server, _ = await opened(lab.url, lab.clock, ScriptedProvider())
    run = await server.start(Start("go on", user=ADA))
    number = await _worker(link)
    with psycopg.connect(lab.url) as db:
        db.execute("SELECT set_config('pollux.scope', 'engine', true)")
        db.execute(*statements.enqueue([run.id], DEFAULT))
        assert await _fetched(link, number) is None
    assert await _fetched(link, number) is not None
    await server.close()


async def test_a_waiting_run_has_no_job_and_no_task(lab: QueueLab):
    house = await lab.open(ScriptedProvider(call("send_mail")), [mail()])
    run = await house.door.start(Start("go on", user=ADA))
    await house.door.wait_settled(run.id, seconds=HANG_SECONDS)
    await until(lambda: not _jobs(lab.url))
    assert (await house.door.queries.run(run.id)).status == "awaiting_confirmation"
    # The row goes first, and the task that held it a moment later.
    await until(lambda: not vars(house.taking)["_jobs"])


async def test_a_run_that_was_forgotten_is_found_by_the_sweep(lab: QueueLab, link: Link):
    server, _ = await opened(lab.url, lab.clock, ScriptedProvider())
    run = await server.start(Start("go on", user=ADA))
    _empty(lab.url)
    # Somebody may just be about to wake it.
    await link.ask(statements.left_alone(lab.clock.now() + 1, DEFAULT))
    assert _jobs(lab.url) == []
    await link.ask(statements.left_alone(lab.clock.now() + 5, DEFAULT))
    assert [job["queueing_lock"] for job in _jobs(lab.url)] == [run.id]
    _empty(lab.url)
    # However long ago that was, and also where the clock of whoever wrote it is ahead of ours.
    for apart in (3600, -3600):
        _empty(lab.url)
        await link.ask(statements.left_alone(lab.clock.now() + apart, DEFAULT, since=None))
        assert len(_jobs(lab.url)) == 1
    await server.close()


async def test_a_job_that_nobody_can_do_is_put_aside(lab: QueueLab):
    await lab.open(ScriptedProvider(reply("Hello.")))
    with psycopg.connect(lab.url, autocommit=True) as db:
        # As a newer version may write them one day.
        for task, args in (("pollux.other", "{}"), ("pollux.drive", "{}"), ("pollux.drive", '{"run_id": "x", "a": 1}')):
            db.execute(
                "INSERT INTO pollux.procrastinate_jobs (queue_name, task_name, lock, args)"
                " VALUES ('default', %s, 't', %s)",
                (task, args),
            )
    await until(lambda: [job["status"] for job in _jobs(lab.url)] == ["failed"] * 3)


# Whose a job is.


async def test_a_run_whose_last_driver_lives_but_takes_no_jobs_is_driven_by_another(lab: QueueLab):
    script, tool = ScriptedProvider(call("send_mail"), reply("Sent.")), mail()
    house = await lab.open(script, [tool])
    run = await house.door.start(Start("go on", user=ADA))
    run = await house.door.wait_settled(run.id, seconds=HANG_SECONDS)
    house.taking.stop()
    await house.door.resolve(run.approvals[0].id, "approved", by=ADA)
    other, _ = await opened(lab.url, lab.clock, script, [tool], concurrency=5)
    assert (await house.door.wait_settled(run.id, seconds=HANG_SECONDS)).text == "Sent."
    await other.close()


async def test_a_worker_that_is_told_to_stop_ends_what_it_has_and_takes_no_more(lab: QueueLab):
    slow = Held()
    house = await lab.open(ScriptedProvider(call("look"), reply("Done.")), [LabTool("look", slow)])
    first = await house.door.start(Start("go on", user=ADA))
    await asyncio.wait_for(slow.began.wait(), HANG_SECONDS)
    house.taking.stop()
    second = await house.door.start(Start("go on", user=ADA))
    slow.let_go.set()
    assert (await house.door.wait_settled(first.id, seconds=HANG_SECONDS)).text == "Done."
    await until(lambda: [job["queueing_lock"] for job in _jobs(lab.url)] == [second.id])
    assert (await house.door.queries.run(second.id)).status == "queued"


async def test_a_job_is_ended_by_its_owner_alone(lab: QueueLab, link: Link):
    server, _ = await opened(lab.url, lab.clock, ScriptedProvider())
    await server.start(Start("go on", user=ADA))
    first, second = await _worker(link), await _worker(link)
    job = await _fetched(link, first)
    assert job
    await link.ask(statements.give_back(first))
    assert await _fetched(link, second) == job
    await link.ask(statements.finish(job, first, 0))
    await link.ask(statements.finish(job, first, 1))
    await link.ask(statements.finish(job, second, 0))
    assert len(_jobs(lab.url)) == 1
    await link.ask(statements.finish(job, second, 1))
    assert _jobs(lab.url) == []
    await server.close()


async def test_a_job_given_back_gives_way_to_a_newer_wake(lab: QueueLab, link: Link):
    server, _ = await opened(lab.url, lab.clock, ScriptedProvider())
    run = await server.start(Start("go on", user=ADA))
    number = await _worker(link)
    await _fetched(link, number)
    await link.ask(statements.wake([run.id], DEFAULT))
    assert [job["status"] for job in _jobs(lab.url)] == ["doing", "todo"]
    # Two of one thread are never at work at once.
    assert await _fetched(link, number) is None
    await link.ask(statements.give_back(number))
    assert [job["status"] for job in _jobs(lab.url)] == ["todo"]
    await server.close()


async def test_a_worker_takes_jobs_of_its_profiles_alone(lab: QueueLab, link: Link):
    server, _ = await opened(lab.url, lab.clock, ScriptedProvider())
    await server.start(Start("go on", user=ADA))
    number = await _worker(link)
    assert await _fetched(link, number, ["another"]) is None
    assert await _fetched(link, number, ["another", "default"])
    await server.close()


async def test_runs_of_other_agents_on_the_store_get_no_job_that_nobody_would_take(lab: QueueLab, link: Link):
    server, _ = await opened(lab.url, lab.clock, ScriptedProvider())
    run = await server.start(Start("go on", user=ADA))
    _empty(lab.url)
    others = statements.known({"another": 0})
    await link.ask(statements.wake([run.id], others))
    await link.ask(statements.enqueue([run.id], others))
    await link.ask(statements.left_alone(lab.clock.now() + 5, others))
    assert _jobs(lab.url) == []
    await server.close()


async def test_runs_of_a_higher_priority_are_taken_first(lab: QueueLab, link: Link):
    server, _ = await opened(lab.url, lab.clock, ScriptedProvider())
    runs = [await server.start(Start("go on", user=ADA)) for _ in range(3)]
    _empty(lab.url)
    for run, priority in zip(runs, (0, 7, -7), strict=True):
        await link.ask(statements.wake([run.id], statements.known({"default": priority})))
    number = await _worker(link)
    taken = [await _fetched(link, number) for _ in runs]
    assert [runs[1].id, runs[0].id, runs[2].id] == [_run_of(lab.url, job) for job in taken]
    await server.close()


async def test_a_server_drives_runs_itself_only_while_no_worker_is_alive(lab: QueueLab):
    script = ScriptedProvider(reply("Alone."), reply("By the worker."), reply("Alone again."))
    clock = SystemClock()
    server, standing = await opened(lab.url, clock, script, concurrency=5, stands_in=True)
    assert await _said(server) == "Alone."
    worker, _ = await opened(lab.url, clock, script, concurrency=5)
    await until(lambda: not _is_needed(standing))
    run = await server.start(Start("go on", user=ADA))
    assert (await server.wait_settled(run.id, seconds=HANG_SECONDS)).driver == vars(worker)["_name"]
    await worker.close()
    await until(lambda: _is_needed(standing))
    assert await _said(server) == "Alone again."
    await server.close()


async def test_a_worker_goes_on_after_its_connections_were_cut(lab: QueueLab):
    house = await lab.open(ScriptedProvider(reply("One."), reply("Two.")))
    first = await house.door.start(Start("go on", user=ADA))
    await house.door.wait_settled(first.id, seconds=HANG_SECONDS)
    with psycopg.connect(lab.url, autocommit=True) as db:
        cut = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'pollux-queue' AND datname = current_database()"
        )
        assert db.execute(cut).rowcount > 3
    second = await house.door.start(Start("go on", user=ADA))
    assert (await house.door.wait_settled(second.id, seconds=HANG_SECONDS)).text == "Two."
    await until(lambda: not _jobs(lab.url))


async def test_a_closed_worker_leaves_its_job_to_others_and_no_trace(lab: QueueLab):
    slow = Held()
    house = await lab.open(ScriptedProvider(call("look")), [LabTool("look", slow)])
    run = await house.door.start(Start("go on", user=ADA))
    await asyncio.wait_for(slow.began.wait(), HANG_SECONDS)
    await house.worker.close()
    [job] = _jobs(lab.url)
    assert (job["queueing_lock"], job["status"]) == (run.id, "todo")
    assert rows(lab.url, "procrastinate_workers") == []


async def test_a_run_that_is_not_there_costs_nothing(lab: QueueLab):
    house = await lab.open(ScriptedProvider(reply("Hello.")))
    house.dispatcher.wake(RunId("run_nobody"))
    run = await house.door.start(Start("go on", user=ADA))
    assert (await house.door.wait_settled(run.id, seconds=HANG_SECONDS)).text == "Hello."


# Its tables.


async def test_several_processes_make_the_tables_at_once(url: str):
    await asyncio.gather(*(install(parameters_of(url)) for _ in range(5)))
    assert _jobs(url) == []
    assert rows(url, "procrastinate_steps")


async def test_tables_that_were_half_made_are_made_again(url: str, monkeypatch: pytest.MonkeyPatch):
    whole = vars(schema)["_OURS"]
    monkeypatch.setattr(schema, "_OURS", {**whole, "broken": (b"SELECT 1 / 0",)})
    with pytest.raises(StoreError, match="tables"):
        await install(parameters_of(url))
    monkeypatch.setattr(schema, "_OURS", whole)
    await install(parameters_of(url))
    assert _jobs(url) == []


async def test_a_later_step_of_procrastinate_is_made_up_for_and_leaves_its_triggers_off(url: str):
    await install(parameters_of(url))
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("DROP TRIGGER procrastinate_trigger_status_events_update_v1 ON pollux.procrastinate_jobs")
        db.execute("DELETE FROM pollux.procrastinate_steps WHERE name LIKE '03.04.00_50%'")
        await install(parameters_of(url))
        wanted = "SELECT tgenabled FROM pg_trigger WHERE tgname = 'procrastinate_trigger_status_events_update_v1'"
        assert db.execute(wanted).fetchall() == [("D",)]
        assert db.execute("SELECT FROM pollux.procrastinate_steps WHERE name LIKE '03.04.00_50%'").rowcount == 1


async def test_an_address_that_is_none_is_not_repeated():
    with pytest.raises(ValidationError) as refusal:
        ProcrastinateDispatcher("postgres://u:geheim@[x", clock=QueueLab("").clock)
    assert "geheim" not in str(refusal.value)


def _jobs(url: str) -> list[dict[str, Any]]:
    wanted = ("queue_name", "status", "lock", "queueing_lock")
    with psycopg.connect(url, autocommit=True) as db:
        found = db.execute(f"SELECT {', '.join(wanted)} FROM pollux.procrastinate_jobs ORDER BY id".encode()).fetchall()
    return [dict(zip(wanted, row, strict=True)) for row in found]


def _run_of(url: str, job: int | None) -> str:
    with psycopg.connect(url, autocommit=True) as db:
        found = db.execute("SELECT queueing_lock FROM pollux.procrastinate_jobs WHERE id = %s", (job,)).fetchone()
    assert found
    return found[0]


def _is_needed(dispatcher: ProcrastinateDispatcher) -> bool:
    return vars(dispatcher)["_tending"].needed.is_set()


async def _said(server: Engine) -> str:
    run = await server.start(Start("go on", user=ADA))
    return (await server.wait_settled(run.id, seconds=HANG_SECONDS)).text


def _empty(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("DELETE FROM pollux.procrastinate_jobs")


async def _worker(link: Link) -> int:
    [(number,)] = await link.ask(statements.register(stands_in=False))
    return number


async def _fetched(link: Link, worker: int, queues: list[str] | None = None) -> int | None:
    """The id of the job that Procrastinate would take next."""
    [(job,)] = await link.ask((b"SELECT id FROM procrastinate_fetch_job_v2(%s::varchar[], %s)", (queues, worker)))
    return job
