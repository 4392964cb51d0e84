"""What an agent lets others see: logs for those who ask, spans for those who listen, and a secret for nobody."""

import subprocess
import sys

import pytest
from tests.sdk.conftest import Bench
from tests.sdk.test_agent import add

from pollux import RunFailed, tool
from pollux.testing import call, fail, reply


class Collected:
    """A logger that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def debug(self, *said: object) -> None:
        self.lines.append(f"debug {said[0]}")

    def error(self, *said: object) -> None:
        self.lines.append(f"error {said[0]}")


@tool
def broken() -> str:
    """Fail."""
    raise RuntimeError("inside")


async def test_an_agent_is_silent_by_default(bench: Bench, capfd: pytest.CaptureFixture[str]):
    async with bench.agent(call("broken"), reply("ok"), tools=[broken]) as agent:
        await agent.send("?")
    assert capfd.readouterr() == ("", "")


async def test_a_level_and_a_logger_hear_of_trouble(bench: Bench):
    logger = Collected()
    async with bench.agent(call("broken"), reply("ok"), tools=[broken], log_level="error", logger=logger) as agent:
        await agent.send("?")
    assert any("a tool failed" in line and "RuntimeError" in line for line in logger.lines)


async def test_two_agents_do_not_hear_one_another(bench: Bench):
    first, second = Collected(), Collected()
    quiet = bench.agent(reply("ok"), log_level="debug", logger=first)
    async with quiet, bench.agent(call("broken"), reply("ok"), tools=[broken], debug=True, logger=second) as loud:
        await loud.send("?")
        await quiet.send("?")
    assert second.lines and not any("a tool failed" in line for line in first.lines)


async def test_no_key_is_ever_logged(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GEMINI_API_KEY", "canary-key-123456")
    logger = Collected()

    @tool
    def leak() -> str:
        """Fail with a key."""
        raise RuntimeError("could not use canary-key-123456")

    async with bench.agent(call("leak"), reply("ok"), tools=[leak], debug=True, logger=logger) as agent:
        await agent.send("?")
    assert logger.lines and "canary-key" not in "\n".join(logger.lines)


async def test_spans_nest_agent_over_model_and_tool(bench: Bench):
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = trace.get_tracer_provider()
    trace._TRACER_PROVIDER = provider  # pyright: ignore[reportPrivateUsage]
    try:
        async with bench.agent(call("add", {"a": 1, "b": 2}), reply("3"), fail("bad_request"), tools=[add]) as agent:
            await agent.send("a secret question")
            with pytest.raises(RunFailed):
                await agent.send("?")
    finally:
        trace._TRACER_PROVIDER = before if before is not provider else None  # pyright: ignore[reportPrivateUsage]
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == [
        "chat scripted", "execute_tool add", "chat scripted", "invoke_agent agent",
        "chat scripted", "invoke_agent agent",
    ]  # fmt: skip
    parents = {span.parent.span_id for span in spans[:3] if span.parent}
    assert parents == {spans[3].context.span_id if spans[3].context else 0}
    assert not spans[5].status.is_ok and "secret" not in "".join(span.to_json() for span in spans)


def test_importing_pollux_loads_nothing_else():
    code = (
        "import sys, pollux; print(sorted(m for m in sys.modules if m.split('.')[0] in"
        " ('asyncio', 'aiohttp', 'msgspec', 'pydantic', 'opentelemetry', 'yaml', 'tree_sitter', 'sqlite3')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_an_agent_without_telemetry_loads_none_of_it(bench: Bench):
    code = (
        "import sys\nfrom pollux import Agent\nfrom pollux.testing import scripted, reply\n"
        f"agent = Agent('x', model=scripted(reply('ok')), cwd={str(bench.cwd)!r}, store='memory')\n"
        "agent.send_sync('?')\nheavy = {'pydantic', 'opentelemetry', 'tree_sitter', 'aiohttp', 'yaml'}\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & heavy))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]", found.stdout
