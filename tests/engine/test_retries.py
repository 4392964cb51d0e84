"""When a model call is tried again, and what a run may spend: calls, tokens, seconds."""

import asyncio

import pytest
from tests.engine.builders import FakeTool, HeldTool, Lab, answer, ask, kinds, settle, until
from tests.waiting import HANG_SECONDS

from pollux.core.errors import ModelError
from pollux.core.messages import Usage
from pollux.core.profile import Limits, Profile
from pollux.core.run import Run
from pollux.engine.retry import retry_at
from pollux.providers.scripted import Answer, call, calls, fail, reply


def failed_with(run: Run) -> str:
    assert run.ending is not None
    return run.ending.code


async def test_a_refused_call_is_tried_again_when_the_server_said(lab: Lab):
    engine = await lab.engine(fail("rate_limit", retry_after=7), reply("There."))
    run = await answer(engine)
    assert run.retry_at == lab.clock.now() + 7
    lab.clock.advance(6.5)
    assert (await settle(engine, run)).is_open
    lab.clock.advance(0.5)
    run = await until(engine, run, lambda now: now.ending)
    assert (run.text, run.model_calls) == ("There.", 1)


async def test_without_the_server_s_word_the_wait_doubles_and_the_fourth_try_is_the_last(lab: Lab):
    engine = await lab.engine(*[fail("server")] * 5)
    run = await answer(engine)
    waits: list[float] = []
    while run.retry_at is not None:
        waits.append(run.retry_at - lab.clock.now())
        attempt = run.attempt
        lab.clock.advance(waits[-1])
        run = await until(engine, run, lambda now, a=attempt: now.ending or (now.attempt > a and now.retry_at))
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, [0.5, 1.0, 2.0], strict=True))
    assert (failed_with(run), len(lab.model.requests)) == ("model_error", 4)


def test_those_who_failed_together_do_not_come_back_together():
    waits = {
        retry_at(ModelError("busy", kind="overloaded"), attempt=3, since=0, now=0, limits=Limits()) for _ in range(50)
    }
    assert len(waits) > 10 and all(wait is not None and 1 <= wait <= 2 for wait in waits)


async def test_a_wait_beyond_half_a_minute_is_not_waited(lab: Lab):
    engine = await lab.engine(fail("rate_limit", "quota is used up", retry_after=31))
    run = await answer(engine)
    assert failed_with(run) == "model_error"
    assert run.ending and run.ending.message == "quota is used up"


async def test_the_limits_of_a_run_say_how_often_and_how_long_it_is_tried(lab: Lab):
    engine = await lab.engine(*[fail("server")] * 5)
    run = await answer(engine, limits=Limits(tries=1))
    assert (failed_with(run), len(lab.model.requests)) == ("model_error", 1)
    engine = await lab.engine(fail("rate_limit", retry_after=40), reply("There."))
    run = await answer(engine, limits=Limits(retry_seconds=60))
    assert run.retry_at == lab.clock.now() + 40
    engine = await lab.engine(fail("rate_limit", retry_after=5))
    assert failed_with(await answer(engine, limits=Limits(retry_seconds=4))) == "model_error"


async def test_the_limits_of_a_run_say_how_long_an_answer_may_take_and_stay_away(lab: Lab):
    engine = await lab.engine(reply("One."), reply("Two."))
    await answer(engine, limits=Limits(idle_seconds=5, answer_seconds=90.5, answer_bytes=1000))
    await answer(engine)
    bounds = [(each.idle_seconds, each.total_seconds, each.answer_bytes) for each in lab.model.requests]
    assert bounds == [(5, 90.5, 1000), (60, 600, 4 * 1024 * 1024)]


def test_a_wait_after_very_many_tries_can_be_worked_out():
    limits = Limits(tries=10_000, retry_seconds=1e9)
    again = retry_at(ModelError("busy", kind="overloaded"), attempt=5000, since=0, now=0, limits=limits)
    assert again is not None and again > 1000


async def test_the_half_minute_is_counted_from_the_first_try(lab: Lab):
    engine = await lab.engine(fail("overloaded", retry_after=20), fail("overloaded", retry_after=20))
    run = await answer(engine)
    lab.clock.advance(20)
    assert failed_with(await until(engine, run, lambda now: now.ending)) == "model_error"


async def test_after_the_first_word_nothing_is_tried_again(lab: Lab):
    engine = await lab.engine(fail("connection", after="I was say"))
    run = await answer(engine, live=True)
    assert (failed_with(run), run.text) == ("stream_interrupted", "")


@pytest.mark.parametrize(("fault", "code"), [("auth", "auth_error"), ("bad_request", "model_error")])
async def test_what_will_not_pass_is_not_tried_again(lab: Lab, fault: str, code: str):
    engine = await lab.engine(fail(fault))  # pyright: ignore[reportArgumentType]
    assert failed_with(await answer(engine)) == code


async def test_a_run_out_of_time_fails_while_its_tool_is_stopped(lab: Lab):
    slow = HeldTool()
    limits = Limits(seconds=30)
    engine = await lab.engine(call("slow"), tools=[slow], profile=Profile(tools=("slow",), limits=limits))
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    lab.clock.advance(30)
    run = await until(engine, run, lambda now: now.ending)
    assert (failed_with(run), slow.stops) == ("timeout", 1)


async def test_a_run_out_of_time_gives_up_a_retry(lab: Lab):
    profile = Profile(limits=Limits(seconds=5))
    engine = await lab.engine(fail("server", retry_after=20), profile=profile)
    run = await answer(engine)
    lab.clock.advance(5)
    assert failed_with(await until(engine, run, lambda now: now.ending)) == "timeout"


async def test_no_model_call_starts_beyond_the_limit_and_no_tool_for_nobody(lab: Lab):
    look = FakeTool()
    limits = Limits(model_calls=2)
    engine = await lab.engine(call("look"), call("look"), tools=[look], profile=Profile(tools=("look",), limits=limits))
    run = await answer(engine)
    assert (failed_with(run), len(lab.model.requests), len(look.ran)) == ("loop_limit", 2, 1)


async def test_a_run_that_may_call_no_model_fails_at_once(lab: Lab):
    engine = await lab.engine(profile=Profile(limits=Limits(model_calls=0)))
    assert failed_with(await answer(engine)) == "loop_limit"


async def test_no_model_call_starts_once_the_tokens_are_spent(lab: Lab):
    look = FakeTool()
    profile = Profile(tools=("look",), limits=Limits(tokens=15))
    engine = await lab.engine(call("look"), tools=[look], profile=profile)
    run = await answer(engine)
    assert (failed_with(run), len(lab.model.requests)) == ("budget", 1)


async def test_what_an_answer_may_put_out_shrinks_with_what_is_left(lab: Lab):
    look = FakeTool()
    profile = Profile(tools=("look",), limits=Limits(tokens=100), max_output_tokens=90)
    spent = Answer(calls=(("look", {}),), usage=Usage(30, 20))
    engine = await lab.engine(spent, Answer(calls=(("look", {}),), usage=Usage(30, 19)), tools=[look], profile=profile)
    run = await answer(engine)
    assert [request.max_output_tokens for request in lab.model.requests] == [90, 50, 16]
    assert failed_with(run) == "model_error"


async def test_a_budget_without_an_output_limit_is_the_output_limit(lab: Lab):
    engine = await lab.engine(reply("."), profile=Profile(limits=Limits(tokens=100)))
    await answer(engine)
    assert lab.model.requests[0].max_output_tokens == 100


async def test_a_budget_holds_across_a_restart(lab: Lab):
    slow = HeldTool()
    profile = Profile(tools=("slow",), limits=Limits(model_calls=2, tokens=1000))
    before = await lab.engine(call("slow"), tools=[slow], profile=profile)
    run = await ask(before)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    await before.close()
    slow.let_go.set()
    after = await lab.engine(call("slow"), tools=[slow], profile=profile)
    await after.recover()
    run = await settle(after, run)
    assert (failed_with(run), run.model_calls, run.usage.total) == ("loop_limit", 2, 30)


async def test_a_crash_loop_spends_the_model_calls_it_made(lab: Lab):
    async def never(request: object) -> Answer:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    profile = Profile(limits=Limits(model_calls=3))
    run: Run | None = None
    for _ in range(4):
        engine = await lab.engine(never, profile=profile)
        if run is None:
            run = await ask(engine)
        else:
            await engine.recover()
        await asyncio.sleep(0)
        await engine.close()
    assert run is not None
    engine = await lab.engine(profile=profile)
    run = await engine.queries.run(run.id)
    assert (failed_with(run), run.model_calls) == ("loop_limit", 3)


async def test_two_parallel_calls_cost_one_model_call(lab: Lab):
    engine = await lab.engine(calls(("look", {}), ("look", {})), reply("."), tools=[FakeTool()])
    run = await answer(engine)
    assert (run.model_calls, (await kinds(engine, run)).count("ActionStarted")) == (2, 2)
