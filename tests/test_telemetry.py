"""Spans: what they say of a run, what they never say, and that nobody pays for them unasked."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, Tracer
from tests.engine.builders import FakeTool, HeldTool, Lab, answer, ask, settle, until
from tests.waiting import HANG_SECONDS

from pollux.core.errors import ModelError, ToolError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.messages import JSON, Usage, user
from pollux.core.profile import Profile
from pollux.core.tools import Tool, ToolContext, ToolSpec
from pollux.engine.model import Done, ModelEvent, ModelRequest, TextDelta, Turns
from pollux.providers.scripted import ScriptedProvider, Step, call, chunks, fail, reply
from pollux.telemetry import AgentSpan, traced_provider, traced_tool, tracer
from pollux.tools.define import Args, FunctionTool

CANARY = "sk-canary-0123456789"
CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))
REQUEST = ModelRequest("gemini-3.8-flash", Turns([user("hello")]))


class Spans:
    """A tracer, and the spans that it has finished."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer: Tracer = provider.get_tracer("test")

    @property
    def all(self) -> Sequence[ReadableSpan]:
        return self._kept.get_finished_spans()

    def one(self, name: str) -> ReadableSpan:
        (span,) = (span for span in self.all if span.name == name)
        return span

    def text(self) -> str:
        return "\n".join(span.to_json() for span in self.all)


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    lab = Lab("memory", tmp_path)
    yield lab
    await lab.close()


def said(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def provided(spans: Spans, *steps: Step, name: str = "gemini", **more: Any):
    return traced_provider(ScriptedProvider(*steps, name=name), spans.tracer, **more)


async def read(provider: Any, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    return [event async for event in provider.stream(request)]


async def test_a_run_is_seen_as_its_agent_its_calls_and_its_tools(lab: Lab, spans: Spans):
    tool = traced_tool(FakeTool("look"), spans.tracer)
    provider = provided(spans, call("look", {"at": "it"}), reply("seen"))
    engine = await lab.engine(tools=[tool], provider=provider, profile=Profile("guide", tools=("look",)))
    agent = AgentSpan(spans.tracer, "guide", model="gemini-3.8-flash", provider="gemini")
    with agent.current():
        run = await ask(engine, profile="guide")
    run = await settle(engine, run)
    agent.end(run)

    whole = spans.one("invoke_agent guide")
    assert [span.name for span in spans.all] == [
        "chat gemini-3.8-flash",
        "execute_tool look",
        "chat gemini-3.8-flash",
        "invoke_agent guide",
    ]
    assert whole.context is not None
    assert {span.parent.span_id for span in spans.all if span.parent} == {whole.context.span_id}
    assert said(whole) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "guide",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.conversation.id": run.thread_id,
        "gen_ai.request.model": "gemini-3.8-flash",
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 10,
    }
    assert whole.kind is SpanKind.INTERNAL
    assert whole.status.status_code is StatusCode.UNSET


async def test_a_call_of_a_model_says_what_was_asked_for_and_what_it_took(spans: Spans):
    answer = replace(reply("hi"), usage=Usage(input=100, output=30, thoughts=20, cached=60))
    provider = provided(spans, answer, base_url="https://generativelanguage.googleapis.com")
    await read(provider, replace(REQUEST, max_output_tokens=64, temperature=0.5, output_schema={"type": "object"}))

    span = spans.one("chat gemini-3.8-flash")
    assert span.kind is SpanKind.CLIENT
    assert said(span) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-3.8-flash",
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": 64,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.output.type": "json",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.reasoning.output_tokens": 20,
        "server.address": "generativelanguage.googleapis.com",
        "server.port": 443,
    }


async def test_what_is_not_known_is_not_claimed(spans: Spans):
    quiet = replace(reply("hi"), usage=Usage())
    await read(provided(spans, quiet, name="openai"), replace(REQUEST, model="llama3.2", stream=False))
    assert said(spans.one("chat llama3.2")) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "llama3.2",
        "gen_ai.response.finish_reasons": ("stop",),
    }


async def test_the_model_that_answered_is_named_where_it_is_told(spans: Spans):
    class Telling(ScriptedProvider):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            async for event in super().stream(request):
                yield replace(event, model="gemini-3.8-flash-001") if isinstance(event, Done) else event

    await read(traced_provider(Telling(reply("hi")), spans.tracer))
    assert said(spans.one("chat gemini-3.8-flash"))["gen_ai.response.model"] == "gemini-3.8-flash-001"


@pytest.mark.parametrize(
    ("url", "address", "port"),
    [("http://127.0.0.1:11434/v1", "127.0.0.1", 11434), ("http://hub.example", "hub.example", 80), ("", None, None)],
)
async def test_a_server_is_named_with_its_port(spans: Spans, url: str, address: str | None, port: int | None):
    await read(provided(spans, reply("hi"), base_url=url))
    attributes = said(spans.one("chat gemini-3.8-flash"))
    assert (attributes.get("server.address"), attributes.get("server.port")) == (address, port)


@pytest.mark.parametrize("after", ["", "some of it"])
async def test_a_failed_call_says_which_kind_of_failure_it_was(spans: Spans, after: str):
    with pytest.raises(ModelError):
        await read(provided(spans, fail("rate_limit", f"slow down, {CANARY}", after=after)))
    span = spans.one("chat gemini-3.8-flash")
    assert said(span)["error.type"] == "rate_limit"
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert CANARY not in spans.text()


async def test_a_provider_that_breaks_is_named_by_its_exception(spans: Spans):
    with pytest.raises(AssertionError):
        await read(provided(spans))
    assert said(spans.one("chat gemini-3.8-flash"))["error.type"] == "AssertionError"


async def test_a_provider_that_refuses_at_once_ends_its_span_too(spans: Spans):
    class Refusing(ScriptedProvider):
        def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            raise ModelError("no", kind="bad_request")

    with pytest.raises(ModelError):
        await read(traced_provider(Refusing(), spans.tracer))
    assert said(spans.one("chat gemini-3.8-flash"))["error.type"] == "bad_request"


async def test_a_reader_who_stops_early_ends_the_span_and_the_provider_s_stream(spans: Spans):
    closed: list[str] = []

    class Endless(ScriptedProvider):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            try:
                while True:
                    yield TextDelta("more")
            finally:
                closed.append("closed")

    events = cast("Any", traced_provider(Endless(), spans.tracer).stream(REQUEST))
    async with aclosing(events):
        async for _ in events:
            break
    span = spans.one("chat gemini-3.8-flash")
    assert (span.status.status_code, closed) == (StatusCode.UNSET, ["closed"])
    assert "error.type" not in said(span)


async def test_the_span_of_a_call_is_not_current_for_whoever_reads_it(spans: Spans):
    async for _ in provided(spans, chunks(["a", "b"])).stream(REQUEST):
        assert not trace.get_current_span().get_span_context().is_valid


async def test_a_cancelled_call_says_so(lab: Lab, spans: Spans):
    asked, never = asyncio.Event(), asyncio.Event()

    async def hang(request: ModelRequest) -> Any:
        asked.set()
        await never.wait()

    engine = await lab.engine(provider=provided(spans, hang))
    run = await ask(engine)
    agent = AgentSpan(spans.tracer, "guide")
    async with asyncio.timeout(HANG_SECONDS):
        await asked.wait()
    await engine.cancel(run.id, by=UserId("ada"))
    agent.end(await settle(engine, run))
    await lab.close()
    assert said(spans.one("chat gemini-3.8-flash"))["error.type"] == "cancelled"
    assert spans.one("invoke_agent guide").status.status_code is StatusCode.ERROR


async def test_an_executed_tool_is_named_and_described(spans: Spans):
    assert await traced_tool(FakeTool("look"), spans.tracer).run(CONTEXT, {"a": 1}) == "seen"
    span = spans.one("execute_tool look")
    assert span.kind is SpanKind.INTERNAL
    assert said(span) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "act_1_1.0",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "The tool look.",
    }


@pytest.mark.parametrize(
    ("problem", "error_type"),
    [
        (ToolError(f"no {CANARY}"), "tool_call_failure"),
        (ValueError(CANARY), "ValueError"),
        (SystemExit(1), "SystemExit"),
    ],
)
async def test_a_tool_that_fails_says_how_and_not_why(spans: Spans, problem: BaseException, error_type: str):
    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        raise problem

    with pytest.raises(type(problem)):
        await traced_tool(FakeTool("look", body=body), spans.tracer).run(CONTEXT, {})
    span = spans.one("execute_tool look")
    assert (said(span)["error.type"], span.status.status_code) == (error_type, StatusCode.ERROR)
    assert (span.status.description, list(span.events)) == (None, [])


async def test_a_tool_that_is_stopped_ends_its_span(lab: Lab, spans: Spans):
    held = HeldTool("slow")
    engine = await lab.engine(provider=provided(spans, call("slow")), tools=[traced_tool(held, spans.tracer)])
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await held.began.wait()
    await engine.cancel(run.id, by=UserId("ada"))
    await until(engine, run, lambda now: not now.is_open)
    assert said(spans.one("execute_tool slow"))["error.type"] == "cancelled"


async def test_what_a_tool_does_is_found_below_it_also_in_its_thread(spans: Spans):
    def work(context: ToolContext, args: Args) -> None:
        spans.tracer.start_span("fetch").end()

    tool = FunctionTool(ToolSpec("look", "", {"type": "object"}), work)
    await traced_tool(tool, spans.tracer).run(CONTEXT, {})
    inner, outer = spans.one("fetch"), spans.one("execute_tool look")
    assert inner.parent == outer.context
    assert not trace.get_current_span().get_span_context().is_valid
    assert "gen_ai.tool.description" not in said(outer)


async def test_everything_else_of_a_provider_and_a_tool_is_as_before(spans: Spans):
    provider, bare = provided(spans), ScriptedProvider(name="gemini")
    assert provider.name == "gemini"
    assert await provider.count_tokens(REQUEST) == await bare.count_tokens(REQUEST)
    assert await provider.models() == await bare.models()
    await provider.close()
    spec = ToolSpec("look", "Look.", {})
    inner = FunctionTool(spec, lambda context, args: None, subjects=lambda args: frozenset("x"))
    tool: Tool = traced_tool(inner, spans.tracer)
    assert (tool.spec, tool.prepare({"a": 1}), tool.subjects({}), tool.preview({})) == (
        spec,
        {"a": 1},
        frozenset("x"),
        "look()",
    )
    assert (await tool.reconcile(CONTEXT, {})).outcome == "unknown"
    assert spans.all == ()


async def test_nothing_that_was_said_or_done_is_in_a_span(lab: Lab, spans: Spans):
    tool = FakeTool("look", f"result {CANARY}")
    steps = call("look", {"key": f"argument {CANARY}"}, text=f"thinking {CANARY}"), reply(f"answer {CANARY}")
    engine = await lab.engine(
        provider=provided(spans, *steps),
        tools=[traced_tool(tool, spans.tracer)],
        profile=Profile("guide", instructions=f"instructions {CANARY}", tools=("look",)),
    )
    agent = AgentSpan(spans.tracer, "guide")
    with agent.current():
        run = await answer(engine, f"prompt {CANARY}", profile="guide")
    agent.end(run)
    assert (run.status, len(tool.ran), len(spans.all)) == ("completed", 1, 4)
    assert CANARY not in spans.text()


async def test_a_failed_run_is_a_failed_agent(lab: Lab, spans: Spans):
    engine = await lab.engine(provider=provided(spans, fail("auth", f"bad key {CANARY}")))
    agent = AgentSpan(spans.tracer, "guide", thread_id=ThreadId("thr_1"))
    agent.end(await answer(engine))
    span = spans.one("invoke_agent guide")
    assert (said(span)["error.type"], span.status.status_code) == ("auth_error", StatusCode.ERROR)
    assert CANARY not in spans.text()


def test_an_agent_that_never_got_to_a_run_says_what_stopped_it(spans: Spans, caplog: pytest.LogCaptureFixture):
    agent = AgentSpan(spans.tracer, "")
    agent.end(error=ModelError("no such model", kind="not_found"))
    agent.end()
    assert said(spans.one("invoke_agent")) == {"gen_ai.operation.name": "invoke_agent", "error.type": "not_found"}
    assert caplog.records == []


def test_without_a_tracer_everything_stays_as_it_is():
    provider, tool, agent = ScriptedProvider(), FakeTool(), AgentSpan(None, "guide")
    assert traced_provider(provider, None) is provider
    assert traced_tool(tool, None) is tool
    with agent.current():
        assert not trace.get_current_span().get_span_context().is_valid
    agent.end()


async def test_every_attribute_is_one_of_the_conventions(spans: Spans):
    listed = vars(import_module("opentelemetry.semconv._incubating.attributes.gen_ai_attributes"))
    known = {value for name, value in listed.items() if name.startswith("GEN_AI")}
    provider = provided(spans, replace(reply("hi"), usage=Usage(1, 2, 3, 4)))
    await read(provider, replace(REQUEST, max_output_tokens=1, temperature=0.0))
    await traced_tool(FakeTool(), spans.tracer).run(CONTEXT, {})
    AgentSpan(spans.tracer, "guide", thread_id=ThreadId("t"), model="m", provider="p").end()
    used = {key for span in spans.all for key in said(span)}
    assert {key for key in used if key.startswith("gen_ai.")} <= known
    assert len(used) >= 15


PROCESS = """
import json, sys
from pollux import telemetry
from pollux.providers.scripted import ScriptedProvider
unimported = telemetry.tracer()
provider = ScriptedProvider()
unwrapped = telemetry.traced_provider(provider, unimported) is provider
pulled_in = [name for name in sys.modules if name.startswith("opentelemetry")]
from opentelemetry import trace
not_set_up = telemetry.tracer()
trace.set_tracer_provider({provider})
tracer = telemetry.tracer()
scope = tracer and (tracer._instrumentation_scope.name, tracer._instrumentation_scope.version)
print(json.dumps([unimported, unwrapped, pulled_in, not_set_up, scope]))
"""


@pytest.mark.parametrize(
    ("provider", "is_real"),
    [("__import__('opentelemetry.sdk.trace').sdk.trace.TracerProvider()", True), ("trace.NoOpTracerProvider()", False)],
)
def test_spans_are_made_only_where_the_application_has_set_them_up(provider: str, is_real: bool):
    script = PROCESS.format(provider=provider)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=2 * HANG_SECONDS, check=True
    )
    *before, scope = json.loads(done.stdout)
    assert before == [None, True, [], None]
    assert (scope is not None) == is_real
    assert scope is None or scope[0] == "pollux"


def test_in_this_process_nobody_has_set_them_up():
    assert tracer() is None
