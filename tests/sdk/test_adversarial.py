"""What a careless user, a hostile reviewer and bad luck have found. What stays broken is marked, with the reason."""

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.conftest import Bench
from tests.waiting import HANG_SECONDS

from pollux import Agent, Edit, Reject, RunFailed, SessionContext, SessionNotFound, ValidationError, tool
from pollux.bootstrap import memory_store
from pollux.core.errors import ThreadBusy
from pollux.core.messages import Blob, FileRef, Message, Text, ToolCall, Usage
from pollux.core.profile import Limits
from pollux.engine.model import Done, ModelEvent, ModelRequest
from pollux.engine.ports import Store
from pollux.sdk.events import ApprovalRequired
from pollux.testing import call, reply

SENT: list[str] = []
SEND = call("send", {"to": "bob@example.com"})
FORK = hasattr(os, "fork")


@tool(side_effect=True, subjects=lambda args: args["to"])
def send(to: str) -> str:
    """Send a mail."""
    SENT.append(to)
    return "sent"


def yes(question: ApprovalRequired) -> bool:
    return True


@pytest.fixture(autouse=True)
def nothing_sent():
    SENT.clear()


# Two at once.


async def test_of_two_prompts_begun_in_one_breath_one_is_answered_and_one_refused(bench: Bench):
    async with bench.agent(reply("1")) as agent:
        first, second = await asyncio.gather(agent.send("a"), agent.send("b"), return_exceptions=True)
    assert str(first) == "1" and isinstance(second, ThreadBusy)


async def test_a_second_prompt_never_stops_one_that_is_being_waited_for(bench: Bench):
    for delay in range(30):
        steps = [SEND, reply("1"), reply("2")]
        async with bench.agent(*steps, tools=[send], on_approval=yes, store="memory") as agent:
            first = asyncio.create_task(agent.send("a"))
            for _ in range(delay):
                await asyncio.sleep(0)
            (second,) = await asyncio.gather(agent.send("b"), return_exceptions=True)
            assert (await first).text == "1"
            assert isinstance(second, ThreadBusy) or str(second) == "2"


async def deferred(bench: Bench, *steps: Any, tools: list[Any]) -> str:
    """A session whose run waits for an answer."""
    async with bench.agent(*steps, tools=tools, on_approval="defer") as agent:
        await agent.send("Go")
        return agent.session_id


async def test_of_two_that_resume_at_once_one_goes_on_and_the_question_is_put_once(bench: Bench):
    session_id = await deferred(bench, SEND, tools=[send])
    asked: list[str] = []

    async def on_approval(question: ApprovalRequired) -> bool:
        asked.append(question.id)
        await asyncio.sleep(0)
        return True

    async with bench.agent(reply("Sent."), tools=[send], on_approval=on_approval, session_id=session_id) as agent:
        first, second = await asyncio.gather(agent.resume(), agent.resume(), return_exceptions=True)
    assert (str(first), len(asked), len(SENT)) == ("Sent.", 1, 1)
    assert isinstance(second, ThreadBusy)


async def test_a_resumed_stream_that_nobody_reads_any_more_gives_way(bench: Bench):
    session_id = await deferred(bench, SEND, tools=[send])
    async with bench.agent(reply("New."), tools=[send], on_approval="defer", session_id=session_id) as agent:
        paused = agent.resume_stream()
        await anext(paused)
        assert (await agent.send("Another")).text == "New."
        await paused.aclose()


async def test_closing_an_agent_that_resumes_stops_what_it_resumed(bench: Bench):
    began = asyncio.Event()

    @tool(side_effect=True)
    async def wait() -> str:
        """Wait."""
        began.set()
        await asyncio.sleep(3600)
        return "never"

    session_id = await deferred(bench, call("wait"), tools=[wait])
    agent = bench.agent(tools=[wait], on_approval=yes, session_id=session_id)
    resuming = asyncio.create_task(agent.resume())
    await began.wait()
    await agent.aclose()
    with pytest.raises(RunFailed) as stopped:
        await resuming
    assert stopped.value.code == "cancelled"


def test_threads_that_block_on_one_agent_share_one_event_loop(bench: Bench):
    # Another test's agent may still be open.
    before = set(threading.enumerate())
    agent, ready, outcomes = bench.agent(*[reply("Hi.")] * 8), threading.Barrier(8), list[str]()

    def ask() -> None:
        ready.wait(HANG_SECONDS)
        try:
            outcomes.append(agent.send_sync("Hello").text)
        except ThreadBusy:
            outcomes.append("busy")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    agent.close()
    assert len(outcomes) == 8 and set(outcomes) <= {"Hi.", "busy"}
    assert "pollux-agent" not in [thread.name for thread in set(threading.enumerate()) - before]


# Whoever writes into what they are shown.


async def test_a_host_that_writes_into_its_question_changes_nothing(bench: Bench):
    def on_approval(question: ApprovalRequired) -> bool:
        question.args["to"] = "eve@example.com"
        return True

    async with bench.agent(SEND, reply("Sent."), tools=[send], on_approval=on_approval) as agent:
        await agent.send("Mail Bob")
    assert SENT == ["bob@example.com"]


async def test_a_reader_that_writes_into_a_result_does_not_change_what_the_model_reads(bench: Bench):
    @tool
    def look() -> dict[str, list[int]]:
        """Look."""
        return {"found": [1]}

    async with bench.agent(call("look"), reply("One."), tools=[look]) as agent:
        async for event in agent.send_stream("Look"):
            if event.type == "tool_call_response":
                event.result["found"].append(2)
    assert "2" not in str(bench.model.requests[1].turns[-1].parts)


# Prompts.


UNSENDABLE = [
    Message("user", ()),
    Message("user", (Text(" "),)),
    Message("user", (5,)),  # pyright: ignore[reportArgumentType]
    Message("user", (ToolCall("c", "send", {}),)),
    Message("user", (Blob("image/png", b"x" * 20_000_001),)),
    [Blob("text/plain", "text")],  # pyright: ignore[reportArgumentType]
    [Blob(5, b"x")],  # pyright: ignore[reportArgumentType]
    [Blob("text/plain", b"x", "\ud800")],
    [Text(None)],  # pyright: ignore[reportArgumentType]
    [FileRef("text/plain", "\ud800")],
]


@pytest.mark.parametrize("prompt", UNSENDABLE, ids=range(len(UNSENDABLE)))
async def test_a_prompt_that_could_not_be_read_back_is_refused_and_the_session_goes_on(bench: Bench, prompt: Any):
    async with bench.agent(reply("Here.")) as agent:
        with pytest.raises(ValidationError):
            await agent.send(prompt)
        assert (await agent.send("Still there?")).text == "Here."


async def test_files_with_names_that_are_no_text_can_be_attached(bench: Bench):
    class Odd:
        def __fspath__(self) -> bytes:
            return os.fsencode(bench.cwd) + b"/\xff.txt"

    Path(os.fsdecode(os.fspath(Odd()))).write_text("hello")
    async with bench.agent(reply("Read.")) as agent:
        assert (await agent.send([Odd()])).text == "Read."  # pyright: ignore[reportArgumentType]
    (part,) = bench.model.requests[0].turns[-1].parts
    assert isinstance(part, Blob) and part.data == b"hello"


# Answers of a type.


@pytest.mark.parametrize(
    ("text", "said"),
    [("[" * 100_000, "nested"), ('{"a": 1, "a": 2}', "twice"), ("[NaN]", "number"), ("", "JSON")],
)
async def test_an_answer_that_is_no_sound_json_is_refused_with_the_reason(bench: Bench, text: str, said: str):
    async with bench.agent(reply(text or " ")) as agent:
        with pytest.raises(ValidationError, match=said):
            await agent.send("Count", output_type=dict[str, int] if "{" in text else list[float])


class Forgetful:
    """A model that gives every call the same id, as some do."""

    name = "forgetful"

    def __init__(self) -> None:
        self.asked = 0

    async def stream(self, request: ModelRequest):
        self.asked += 1
        part = ToolCall("call_1", "add", {"a": self.asked}) if self.asked < 3 else Text("Done.")
        event: ModelEvent = Done(
            "tool_calls" if self.asked < 3 else "end", Message("assistant", (part,)), Usage(input=1, output=1)
        )
        yield event

    async def close(self) -> None:
        pass


async def test_calls_whose_ids_come_again_are_all_told(bench: Bench):
    @tool
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    model: Any = Forgetful()
    async with Agent("Add.", model=model, cwd=bench.cwd, tools=[add]) as agent:
        result = await agent.send("Add")
    assert [(use.args, use.result) for use in result.tool_calls] == [({"a": 1}, 2), ({"a": 2}, 3)]


# Hosts that misbehave.


async def test_a_host_that_does_not_let_go_does_not_hold_up_a_stop(bench: Bench):
    began, let_go = asyncio.Event(), asyncio.Event()

    async def stubborn(question: ApprovalRequired) -> None:
        began.set()
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    async with bench.agent(SEND, reply("Here."), tools=[send], on_approval=stubborn) as agent:
        task = asyncio.create_task(agent.send("Mail Bob"))
        await began.wait()
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=HANG_SECONDS)
        let_go.set()
        assert done and task.cancelled()
        assert (await agent.send("Still there?")).text == "Here."


async def test_a_host_that_fails_while_it_is_dropped_leaves_no_run_behind(bench: Bench):
    began = asyncio.Event()

    async def clumsy(question: ApprovalRequired) -> None:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            raise OSError("no terminal")

    async with bench.agent(SEND, reply("Here."), tools=[send], on_approval=clumsy) as agent:
        task = asyncio.create_task(agent.send("Mail Bob"))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await agent.send("Still there?")).text == "Here."


async def test_answers_that_are_none_are_refused_and_the_question_stays(bench: Bench):
    async with bench.agent(SEND, tools=[send], on_approval="defer") as agent:
        (question,) = (await agent.send("Mail Bob")).approvals
        for wrong in (Edit(5), Edit({"to": object()}), "yes", 1):  # pyright: ignore[reportArgumentType]
            with pytest.raises(ValidationError):
                await agent.answer(question, wrong)  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValidationError, match="question or its id"):
            await agent.answer(5, True)  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValidationError, match="text"):
            Reject(5)  # pyright: ignore[reportArgumentType]
        assert await agent.approvals() == [question]
        await agent.cancel()


# Sessions.


async def test_nothing_of_a_deleted_session_can_be_read_any_more(bench: Bench):
    async with bench.agent(reply("A secret.")) as agent:
        await agent.send("Tell me a secret")
        assert len(await agent.history()) == 2
        async with bench.agent() as other:
            await other.delete_session(agent.session_id)
        assert await agent.history() == ()
        assert (await agent.usage()).usage == Usage()
        with pytest.raises(SessionNotFound):
            await agent.send("Another")


@pytest.mark.parametrize("limit", [-1, "3", 1.5, True])
async def test_a_number_of_sessions_that_is_none_is_refused(bench: Bench, limit: Any):
    async with bench.agent() as agent:
        with pytest.raises(ValidationError, match="limit must be a whole number"):
            await agent.list_sessions(limit=limit)


@pytest.mark.parametrize(
    "limits",
    [Limits(model_calls=-1), Limits(seconds=float("nan")), {"model_calls": 1.5}, {"seconds": float("inf")},
     Limits(seconds="5"), {"model_calls": None}, {"approval_seconds": None}],  # pyright: ignore[reportArgumentType]
)  # fmt: skip
def test_limits_that_are_none_are_refused_however_they_are_given(bench: Bench, limits: Any):
    with pytest.raises(ValidationError, match="limits"):
        bench.agent(limits=limits)


# Logs.


class Heard:
    """A logger that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def error(self, *said: object) -> None:
        self.said.append(str(said))


@tool(side_effect=True, repeat="repeatable")
def fail() -> str:
    """Fail, and tell the key."""
    raise RuntimeError(f"the key is {os.environ['GEMINI_API_KEY']}")


async def test_a_key_that_is_set_after_the_agent_was_made_is_masked_too(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    heard = Heard()
    agent = bench.agent(
        call("fail"), reply("Failed."), tools=[fail], policy="allow_all", log_level="error", logger=heard
    )
    monkeypatch.setenv("GEMINI_API_KEY", "canary-9f8e7d6c5b4a39281706")
    async with agent:
        await agent.send("Fail")
    assert heard.said and "canary" not in str(heard.said)


@pytest.mark.parametrize("on_approval", [yes, "defer"])
async def test_what_runs_after_an_approval_is_told_to_the_agents_own_logger(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, on_approval: Any
):
    monkeypatch.setenv("GEMINI_API_KEY", "canary-9f8e7d6c5b4a39281706")
    session_id = await deferred(bench, call("fail"), tools=[fail])
    heard, steps = Heard(), [reply("Failed.")]
    options: dict[str, Any] = {"tools": [fail], "on_approval": on_approval, "session_id": session_id}
    with caplog.at_level(logging.ERROR):
        async with bench.agent(*steps, **options, log_level="error", logger=heard) as agent:
            if on_approval == "defer":
                await agent.answer((await agent.approvals())[0], True)
            await agent.resume()
    assert "a tool failed" in str(heard.said) and "canary" not in str(heard.said) + caplog.text


# Life and death.


async def test_an_agent_that_was_not_closed_in_one_piece_leaves_no_task_behind(bench: Bench):
    before = asyncio.all_tasks()
    for delay in range(25):
        agent = bench.agent(reply("Hi."))
        for work in (agent.send("Hello"), agent.aclose()):
            task = asyncio.create_task(work)
            for _ in range(delay):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})
        await agent.aclose()
    assert asyncio.all_tasks() == before


def test_code_that_ends_the_process_from_the_agents_own_loop_is_heard_by_who_waits(bench: Bench):
    async def leave(context: SessionContext) -> str:
        raise SystemExit(3)

    agent = bench.agent(reply("Hi."), instructions=leave)
    with pytest.raises(SystemExit):
        agent.send_sync("Hello")
    agent.close()


@pytest.mark.skipif(not FORK, reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_told_to_make_its_own_agent_and_the_parent_goes_on(bench: Bench):
    agent = bench.agent(reply("1"), reply("2"))
    assert agent.send_sync("Hello").text == "1"
    child = os.fork()
    if child == 0:
        try:
            agent.send_sync("Hello")
        except ValidationError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert agent.send_sync("Hello").text == "2"
    agent.close()


def test_a_stream_left_as_the_event_loop_ends_leaves_a_session_that_goes_on(bench: Bench):
    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(3600)
        return "never"

    agent = bench.agent(call("wait"), reply("Here."), tools=[wait])

    async def leave() -> None:
        async for event in agent.send_stream("Wait"):
            if event.type == "tool_call_request":
                raise OSError("the consumer's own trouble")

    async def go_on() -> str:
        async with agent:
            return (await agent.send("Still there?")).text

    with pytest.raises(OSError, match="own trouble"):
        asyncio.run(leave())
    assert asyncio.run(go_on()) == "Here."


async def test_two_that_cancel_one_run_both_wait_until_it_has_ended(bench: Bench):
    began = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        began.set()
        await asyncio.sleep(3600)
        return "never"

    async with bench.agent(call("wait"), tools=[wait]) as agent:
        task = asyncio.create_task(agent.send("Wait"))
        await began.wait()
        assert await asyncio.gather(agent.cancel(), agent.cancel()) == [True, True]
        with pytest.raises(RunFailed):
            await task


# Not mended yet.


@tool
async def give_up() -> str:
    """Give up."""
    raise GeneratorExit


@tool
async def cancel_itself() -> str:
    """Cancel."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)
    return "never"


@pytest.mark.parametrize("mine", [give_up, cancel_itself])
async def test_a_tool_that_ends_its_own_task_has_failed(bench: Bench, mine: Any):
    async with bench.agent(call(mine.spec.name), reply("It failed."), tools=[mine], store="memory") as agent:
        async with asyncio.timeout(HANG_SECONDS):
            assert (await agent.send("Go")).text == "It failed."


async def test_a_fork_never_splits_a_call_from_its_answer(bench: Bench):
    async with bench.agent(SEND, reply("Sent."), tools=[send], policy="allow_all") as agent:
        await agent.send("Mail Bob")
        forked = await agent.fork_session(upto=2)
    async with bench.agent(reply("Hi."), tools=[send], session_id=forked) as agent:
        await agent.send("And now?")
    turns = list(bench.model.requests[0].turns)
    assert [message for message in turns if message.calls] == [] or any(message.role == "tool" for message in turns)


async def test_instructions_that_are_no_text_are_refused_with_what_was_found(bench: Bench):
    async with bench.agent(reply("Hi."), instructions=lambda context: None) as agent:  # pyright: ignore[reportUnknownLambdaType]
        with pytest.raises(RunFailed, match="NoneType"):
            await agent.send("Hello")


@pytest.mark.parametrize("wrong", [{"timeout": "5"}, {"output_limit": "9"}, {"env": {"A": 5}}, {"env": [1]}], ids=str)
async def test_options_of_a_command_that_do_not_fit_are_refused(bench: Bench, wrong: dict[str, Any]):
    problems: list[BaseException] = []

    @tool(side_effect=True)
    async def run(context: SessionContext) -> str:
        """Run."""
        try:
            await context.shell.exec("true", **wrong)
        except (ValidationError, TypeError) as problem:
            problems.append(problem)
        return "ran"

    async with bench.agent(call("run"), reply("Ran."), tools=[run], policy="allow_all") as agent:
        await agent.send("Run")
    with pytest.raises(ValidationError):
        raise problems[0]


async def test_a_session_file_with_a_time_that_is_none_is_not_the_newest(bench: Bench):
    chats = bench.home / ".gemini" / "tmp" / "project" / "chats"
    chats.mkdir(parents=True)
    told = '{"sessionId":"odd","lastUpdated":"zzz","messages":[{"id":"1","type":"user","content":"hi"}]}'
    (chats / "session-odd.json").write_text(told)
    async with bench.agent(reply("Hi.")) as agent:
        await agent.send("Hello")
        newest, *_ = await agent.list_sessions(all=True)
    assert newest.session_id == agent.session_id


class Overtaken:
    """A store in which something else happens right before one commit."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.before: Callable[[], Awaitable[object]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def commit(self, *commits: Any) -> Any:
        before, self.before = self.before, None
        if before is not None:
            await before()
        return await self._inner.commit(*commits)


async def test_a_prompt_that_another_agents_whole_run_overtook_is_answered(bench: Bench):
    store = memory_store()
    late: Any = Overtaken(store)
    async with bench.agent(reply("1"), reply("2"), store=store) as first:
        await first.send("One")
        async with bench.agent(reply("3"), store=late, session_id=first.session_id) as second:
            await second.history()
            late.before = lambda: first.send("Two")
            assert (await second.send("Three")).text == "3"


async def test_an_answer_in_a_markdown_fence_is_read(bench: Bench):
    async with bench.agent(reply('```json\n{"n": 1}\n```')) as agent:
        assert (await agent.send("?", output_type=dict[str, int])).output == {"n": 1}


@pytest.mark.parametrize(
    ("name", "content", "mime"),
    [
        ("main.rs", b"fn main() {}", "text/plain"),
        ("picture.txt", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("paper", b"%PDF-1.7", "application/pdf"),
        ("what.bin", b"\xff\x00\xfe", "application/octet-stream"),
    ],
)
async def test_a_file_is_sent_as_what_it_holds(bench: Bench, name: str, content: bytes, mime: str):
    (bench.cwd / name).write_bytes(content)
    async with bench.agent(reply("ok")) as agent:
        await agent.send(["What is this?", bench.cwd / name])
    assert getattr(bench.model.requests[0].turns[0].parts[1], "mime", "") == mime


async def test_a_nul_in_a_prompt_is_refused(bench: Bench):
    with pytest.raises(ValidationError, match="NUL"):
        await bench.agent().send("a\0b")
