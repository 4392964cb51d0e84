"""An agent as a newcomer meets it: prompts, tools, answers, and what is refused."""

import asyncio
import os
import threading
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.conftest import Bench
from tests.waiting import HANG_SECONDS

import pollux
from pollux import (
    Agent,
    GeminiAgent,
    Rule,
    RunFailed,
    SessionContext,
    ToolContext,
    ToolDefinition,
    ToolError,
    ValidationError,
    define_tool,
    tool,
)
from pollux.core.errors import MissingCredential
from pollux.testing import call, calls, chunks, fail, reply


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


NAMELESS: object = eval("lambda x: x")


async def test_an_answer_comes_with_its_usage(bench: Bench):
    async with bench.agent(reply("Hello.")) as agent:
        result = await agent.send("Hi")
    assert (result.text, result.usage.total, result.reason, str(result)) == ("Hello.", 15, "completed", "Hello.")


async def test_a_tool_is_called_and_its_result_goes_to_the_model(bench: Bench):
    async with bench.agent(call("add", {"a": 2, "b": 3}), reply("It is 5."), tools=[add]) as agent:
        result = await agent.send("What is 2 + 3?")
    assert result.text == "It is 5."
    assert [(use.name, use.args, use.result, use.error) for use in result.tool_calls] == [
        ("add", {"a": 2, "b": 3}, 5, None)
    ]


async def test_a_plain_function_with_hints_and_a_docstring_is_a_tool(bench: Bench):
    def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    async with bench.agent(call("double", {"n": 4}), reply("8"), tools=[double]) as agent:
        assert (await agent.send("?")).tool_calls[0].result == 8


async def test_the_stream_tells_what_happens_in_order(bench: Bench):
    async with bench.agent(call("add", {"a": 1, "b": 1}), chunks(["It ", "is 2."]), tools=[add]) as agent:
        events = [event async for event in agent.send_stream("?")]
    # How an answer is cut into pieces depends on when they come.
    assert [kind for kind, _ in groupby(event.type for event in events)] == [
        "model_info", "tool_call_request", "usage", "tool_call_response", "content", "usage", "finished",
    ]  # fmt: skip
    assert "".join(event.text for event in events if event.type == "content") == "It is 2."
    assert events[-1].type == "finished" and events[-1].usage.total == 30


async def test_thoughts_are_told_apart_from_the_answer(bench: Bench):
    async with bench.agent(reply("42", thought="hm")) as agent:
        events = [event async for event in agent.send_stream("?")]
        assert [(e.type, e.text) for e in events if e.type == "thought" or e.type == "content"] == [
            ("thought", "hm"),
            ("content", "42"),
        ]


async def test_what_was_said_before_a_tool_is_part_of_the_text_and_not_of_the_last_text(bench: Bench):
    steps = [call("add", {"a": 1, "b": 1}, text="Let me see. "), reply("2")]
    async with bench.agent(*steps, tools=[add]) as agent:
        result = await agent.send("?")
    assert (result.text, result.last_text) == ("Let me see. 2", "2")


async def test_a_conversation_goes_on(bench: Bench):
    async with bench.agent(reply("Hello Ada."), reply("Ada.")) as agent:
        await agent.send("I am Ada.")
        await agent.send("Who am I?")
    assert [message.text for message in bench.model.requests[1].turns] == ["I am Ada.", "Hello Ada.", "Who am I?"]


async def test_instructions_may_be_a_function_of_the_session_asked_before_every_call(bench: Bench):
    def instruct(context: SessionContext) -> str:
        return f"{len(context.transcript)} messages in {context.cwd.name}"

    steps = [call("add", {"a": 1, "b": 1}), reply("2")]
    async with bench.agent(*steps, instructions=instruct, tools=[add]) as agent:
        await agent.send("?")
    assert [bench.system(1), bench.system(2)] == ["1 messages in work", "3 messages in work"]


async def test_instructions_may_be_async(bench: Bench):
    async def instruct(context: SessionContext) -> str:
        await asyncio.sleep(0)
        return context.session_id

    async with bench.agent(reply("ok"), instructions=instruct) as agent:
        await agent.send("?")
        assert bench.system() == agent.session_id


async def test_instructions_that_fail_fail_the_run(bench: Bench):
    def instruct(context: SessionContext) -> str:
        raise OSError("secret path")

    async with bench.agent(instructions=instruct) as agent:
        with pytest.raises(RunFailed, match="OSError") as failed:
            await agent.send("?")
    assert failed.value.code == "instructions_failed" and "secret" not in str(failed.value)


async def test_an_error_of_the_model_is_told_and_raised(bench: Bench):
    async with bench.agent(fail("bad_request", "no such thing"), fail("bad_request", "no such thing")) as agent:
        events = [event async for event in agent.send_stream("?")]
        assert [(e.type) for e in events][-2:] == ["error", "finished"]
        with pytest.raises(RunFailed, match="no such thing") as failed:
            await agent.send("?")
    assert (failed.value.code, failed.value.result.reason) == ("model_error", "failed")


async def test_a_session_goes_on_after_an_error(bench: Bench):
    async with bench.agent(fail("bad_request"), reply("Back.")) as agent:
        with pytest.raises(RunFailed):
            await agent.send("?")
        assert (await agent.send("again?")).text == "Back."


async def test_without_a_key_it_is_said_before_anything_is_kept_or_asked(bench: Bench):
    agent = Agent("Hi", cwd=bench.cwd)
    with pytest.raises(MissingCredential, match="GEMINI_API_KEY"):
        await agent.send("?")
    assert await agent.list_sessions() == []
    await agent.aclose()


async def test_the_answer_can_have_a_type(bench: Bench):
    @dataclass
    class City:
        name: str
        people: int

    async with bench.agent(reply('{"name": "Bern", "people": 134000}'), reply("a plain word")) as agent:
        result = await agent.send("?", output_type=City)
        assert result.output == City("Bern", 134000)
        assert bench.model.requests[0].output_schema is not None
        await agent.send("And now without.")
        assert bench.model.requests[1].output_schema is None


async def test_the_answer_can_have_a_schema(bench: Bench):
    schema: Any = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    async with bench.agent(reply('{"n": 1}'), reply('{"n": "one"}')) as agent:
        assert (await agent.send("?", output_type=schema)).output == {"n": 1}
        with pytest.raises(ValidationError, match="output_type: n:"):
            await agent.send("?", output_type=schema)


async def test_an_answer_of_another_type_is_refused_with_the_reason(bench: Bench):
    async with bench.agent(reply("[1, 2, true]"), reply("no JSON")) as agent:
        with pytest.raises(ValidationError, match="output_type"):
            await agent.send("?", output_type=list[int])
        with pytest.raises(ValidationError, match="JSON"):
            await agent.send("?", output_type=list[int])


async def test_prompts_carry_images_and_files(bench: Bench):
    picture, notes = bench.cwd / "cat.png", bench.cwd / "notes.md"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    notes.write_text("# Notes")
    async with bench.agent(reply("A cat.")) as agent:
        await agent.send(["What is this?", picture, notes])
    _, image, text = bench.model.requests[0].turns[0].parts
    assert (getattr(image, "mime", ""), getattr(text, "mime", "")) == ("image/png", "text/markdown")


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ([], "empty"),
        (None, "found None"),
        (7, "found int"),
        (["a", 7], "found int"),
        ("a\ud800", "surrogate"),
        ([Path("/no/such/file.png")], "not a file"),
        (b"bytes", "found bytes"),
    ],
)
async def test_a_prompt_that_cannot_be_sent_is_refused(bench: Bench, prompt: object, said: str):
    agent = bench.agent()
    with pytest.raises(ValidationError, match=said):
        await agent.send(prompt)  # pyright: ignore[reportArgumentType, reportCallIssue]


async def test_a_file_too_large_to_send_is_refused_unread(bench: Bench):
    large = bench.cwd / "video.mp4"
    with large.open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(ValidationError, match=r"100,000,000 bytes.*FileRef"):
        await bench.agent().send([large, "What happens?"])


async def test_define_tool_takes_a_schema_and_an_action(bench: Bench):
    def greet(params: dict[str, str], context: ToolContext) -> str:
        return f"Hello {params['name']} from {context.origin}"

    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    greeting = define_tool("greet", "Greet somebody.", schema, greet)
    async with bench.agent(call("greet", {"name": "Ada"}), reply("Done."), tools=[greeting]) as agent:
        result = await agent.send("?")
    assert result.tool_calls[0].result == f"Hello Ada from {bench.cwd}"


async def test_a_tool_definition_is_a_tool_and_is_told_who_asks(bench: Bench):
    greeting = ToolDefinition(
        name="greet",
        description="Greet whoever asks.",
        input_schema={"type": "object", "properties": {}},
        side_effect=False,
        execute=lambda context, args: f"Hello {context.uid}",
    )
    async with bench.agent(call("greet", {}), reply("Done."), tools=[greeting]) as agent:
        result = await agent.send("?")
    assert result.tool_calls[0].result == "Hello local"


async def test_a_tools_own_error_goes_to_the_model(bench: Bench):
    @tool
    def look(place: str) -> str:
        """Look somewhere."""
        raise ToolError(f"{place} is closed")

    async with bench.agent(call("look", {"place": "the shop"}), reply("Sorry."), tools=[look]) as agent:
        result = await agent.send("?")
    assert (result.text, result.tool_calls[0].error) == ("Sorry.", "the shop is closed")


async def test_other_errors_go_to_the_model_only_where_the_author_says_so(bench: Bench):
    @tool
    def quiet() -> str:
        """Fail."""
        raise ValueError("the inside")

    @tool(send_errors_to_model=True)
    def open_hearted() -> str:
        """Fail."""
        raise ValueError("the inside")

    async with bench.agent(
        calls(("quiet", {}), ("open_hearted", {})), reply("ok"), tools=[quiet, open_hearted]
    ) as agent:
        first, second = (await agent.send("?")).tool_calls
    assert (first.error, second.error) == ("the tool failed (ValueError)", "the inside")


async def test_arguments_that_the_schema_does_not_name_are_refused(bench: Bench):
    async with bench.agent(call("add", {"a": 1, "b": 2, "c": 3}), reply("ok"), tools=[add]) as agent:
        use = (await agent.send("?")).tool_calls[0]
    assert use.error == "there is a member that is not expected. Known: a, b"


async def test_calls_of_one_turn_run_side_by_side(bench: Bench):
    both = asyncio.Barrier(2)

    @tool
    async def meet() -> str:
        """Wait for the other."""
        await both.wait()
        return "met"

    async with bench.agent(calls(("meet", {}), ("meet", {})), reply("ok"), tools=[meet]) as agent:
        async with asyncio.timeout(HANG_SECONDS):
            result = await agent.send("?")
    assert [use.result for use in result.tool_calls] == ["met", "met"]


async def test_a_tool_may_ask_for_its_session(bench: Bench):
    @tool
    async def note(text: str, context: SessionContext) -> str:
        """Write a note."""
        await context.fs.write_file("note.txt", text)
        assert await context.fs.read_file("missing.txt") is None
        return f"{context.session_id} {len(context.transcript)} {context.agent.session_id == context.session_id}"

    allowed = Rule("allow", tool="write_file", subjects=("note.txt",))
    async with bench.agent(call("note", {"text": "milk"}), reply("ok"), tools=[note], policy=allowed) as agent:
        result = await agent.send("?")
        assert result.tool_calls[0].result == f"{agent.session_id} 2 True"
    assert (bench.cwd / "note.txt").read_text() == "milk"


def test_blocking_callers_get_the_same_answer(bench: Bench):
    agent = bench.agent(call("add", {"a": 2, "b": 2}), reply("4"), reply("Bye."), tools=[add])
    assert agent.send_sync("?").text == "4"
    assert agent.send_sync("!").text == "Bye."
    agent.close()


async def test_blocking_works_where_a_loop_is_running_as_in_a_notebook(bench: Bench):
    agent = bench.agent(reply("Hello."))
    assert agent.send_sync("?").text == "Hello."
    agent.close()


def test_one_agent_serves_one_loop_after_the_other(bench: Bench):
    agent = bench.agent(reply("one"), reply("two"))
    assert asyncio.run(agent.send("?")).text == "one"
    assert asyncio.run(agent.send("?")).text == "two"
    assert len(bench.model.requests[1].turns) == 3
    asyncio.run(agent.aclose())


def test_an_agent_that_outlives_its_loops_leaves_no_threads_or_files_behind(bench: Bench):
    agent = bench.agent(*[reply("ok")] * 12)
    asyncio.run(agent.send("?"))
    before = (threading.active_count(), len(os.listdir("/dev/fd")))
    for _ in range(10):
        asyncio.run(agent.send("?"))
    assert (threading.active_count(), len(os.listdir("/dev/fd"))) <= (before[0] + 1, before[1] + 2)
    asyncio.run(agent.aclose())


async def test_a_blocking_call_from_the_agents_own_loop_is_refused(bench: Bench):
    @tool
    async def ask_again(context: SessionContext) -> str:
        """Ask the same agent."""
        return context.agent.send_sync("?").text

    agent = bench.agent(call("ask_again"), reply("ok"), tools=[ask_again])
    result = await asyncio.to_thread(agent.send_sync, "?")
    assert result.tool_calls[0].error is not None and "never end" in result.tool_calls[0].error
    agent.close()


async def test_one_agent_does_not_serve_two_loops_at_once(bench: Bench):
    async with bench.agent(reply("one")) as agent:
        await agent.send("?")
        with pytest.raises(ValidationError, match="another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(agent.send("?")))


def test_gemini_agents_ask_gemini_whatever_else_is_configured(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    config = bench.path / "config.toml"
    config.write_text('model = "gpt-5"')
    monkeypatch.setenv("POLLUX_CONFIG", str(config))
    assert Agent("x", cwd=bench.cwd).model == "gpt-5"
    assert GeminiAgent("x", cwd=bench.cwd).model.startswith("gemini-")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"instructions": None}, "instructions must be a text or a function"),
        ({"tools": "add"}, r"tools=\["),
        ({"tools": ["unknown"]}, "no tool set 'unknown'"),
        ({"tools": [7]}, "found int"),
        ({"tools": [add, add]}, "two tools are called 'add'"),
        ({"tools": [NAMELESS]}, "lambda"),
        ({"cwd": "/no/such/place"}, "cwd must be a directory"),
        ({"session_id": "../etc/passwd"}, "session_id must be an id"),
        ({"session_id": ""}, "session_id must be an id"),
        ({"session_id": 7}, "session_id must be an id"),
        ({"compression_threshold": 0}, "above 0 and at most 1"),
        ({"compression_threshold": 1.5}, "above 0 and at most 1"),
        ({"compression_threshold": float("nan")}, "above 0 and at most 1"),
        ({"compression_threshold": "half"}, "above 0 and at most 1"),
        ({"policy": "yolo"}, "policy must be"),
        ({"policy": 7}, "policy must be"),
        ({"limits": {"model_calls": 0}}, "model_calls must be a number above 0"),
        ({"limits": {"calls": 3}}, "mapping of"),
        ({"limits": 3}, "limits must be"),
        ({"log_level": "loud"}, "log level"),
        ({"logger": object()}, "logging.Logger"),
        ({"store": 7}, "store must be"),
        ({"model": 7}, "model must be"),
        ({"on_approval": "yes"}, "on_approval must be"),
        ({"skills": ["a/path"]}, "skill_dir"),
        ({"skills": "a/path"}, "found 'a/path'"),
        ({"prices": {"m": 3}}, "prices must be"),
        ({"prices": [1]}, "prices must be"),
        ({"sandbox": "maybe"}, "sandbox must be one of"),
        ({"name": ""}, "name must be"),
        ({"clock": 7}, "clock must be"),
    ],
)
def test_options_that_do_not_fit_are_refused_with_what_was_expected(
    bench: Bench, options: dict[str, object], said: str
):
    with pytest.raises(ValidationError, match=said):
        bench.agent(**options)


def test_an_unknown_option_names_the_one_that_was_meant(bench: Bench):
    with pytest.raises(TypeError, match="did you mean 'tools'"):
        bench.agent(toolz=[])
    with pytest.raises(TypeError, match="The options are: instructions, tools"):
        bench.agent(zzz=1)


async def test_a_model_name_of_no_known_form_is_refused(bench: Bench):
    agent = Agent("x", model="llama", cwd=bench.cwd)
    with pytest.raises(ValidationError, match="no known form"):
        await agent.send("?")
    await agent.aclose()


def test_the_public_names_are_these():
    contract = (
        "Agent GeminiAgent tool define_tool ToolError ToolContext SessionContext skill_dir SessionNotFound load_session"
        " message_records_to_history"
    )
    more = (
        "ApprovalRequired Approve Blob Edit FileRef Limits Message NotFound PolluxError Price Reconciled Reject Result"
        " Rule RunFailed Text ToolDefinition ToolExecutionContext ValidationError __version__ files shell"
    )
    assert sorted(pollux.__all__) == sorted([*contract.split(), *more.split()])
    assert all(getattr(pollux, name) is not None for name in pollux.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pollux.nothing
