"""Spans by OpenTelemetry's conventions for generative AI, for applications that have it switched on.

OpenTelemetry is reached for only where the application has imported it already; elsewhere everything stays unwrapped.
Spans say what was done, for how long and at what size. What was said, called with or answered is never in them, and
neither is the text of an error.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pollux._version import __version__
from pollux.core.errors import ModelError, PolluxError
from pollux.core.events import Stop
from pollux.core.ids import ThreadId
from pollux.core.messages import JSON, Usage
from pollux.core.run import Run
from pollux.core.tools import Reconciled, Tool, ToolContext, ToolSpec
from pollux.engine.definitions import functions_of
from pollux.engine.model import Done, ModelEvent, ModelInfo, ModelRequest, Provider

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Attributes = dict[str, str | int | float | bool | list[str]]

_PROVIDERS: Final = {"gemini": "gcp.gemini"}
"""What the conventions call those that we call otherwise."""
_FINISH_REASONS: Final[dict[Stop, str]] = {"end": "stop", "tool_calls": "tool_call", "blocked": "content_filter"}
_PORTS: Final = {"http": 80, "https": 443}


def tracer() -> "Tracer | None":
    """What to make spans with, or None unless the application has set up OpenTelemetry in this process."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace

    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return provider.get_tracer("pollux", __version__)


def traced_provider(provider: Provider, tracer: "Tracer | None", *, base_url: str = "") -> Provider:
    """The provider with a span for each call, or as it is where nobody listens. `base_url` says where it calls."""
    return provider if tracer is None else TracedProvider(provider, tracer, base_url)


def traced_tool(tool: Tool, tracer: "Tracer | None") -> Tool:
    """The tool with a span for each execution, or as it is where nobody listens."""
    return tool if tracer is None else TracedTool(tool, tracer)


class TracedProvider:
    """A provider whose calls are seen, each as a span that ends with the answer."""

    def __init__(self, provider: Provider, tracer: "Tracer", base_url: str = "") -> None:
        self._provider = provider
        self._tracer = tracer
        self._known: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(provider.name, provider.name),
            **_server(base_url),
        }

    @property
    def name(self) -> str:
        return self._provider.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        # The span is nobody's current one: what is current in a generator is current for whoever reads it, too.
        span = _start(self._tracer, f"chat {request.model}", self._known | _asked(request), calls_out=True)
        events: AsyncIterator[ModelEvent] | None = None
        try:
            events = self._provider.stream(request)
            async for event in events:
                if type(event) is Done:
                    span.set_attributes(_answered(event))
                yield event
        except GeneratorExit:
            # The reader had enough. Nothing is wrong with that.
            raise
        except BaseException as problem:
            _fail(span, _error_type(problem))
            raise
        finally:
            try:
                if (close := getattr(events, "aclose", None)) is not None:
                    await close()
            finally:
                span.end()

    async def count_tokens(self, request: ModelRequest) -> int:
        return await self._provider.count_tokens(request)

    async def models(self) -> tuple[ModelInfo, ...]:
        return await self._provider.models()

    async def close(self) -> None:
        await self._provider.close()


class TracedTool:
    """A tool whose executions are seen, each as the current span of whatever the tool does."""

    def __init__(self, tool: Tool, tracer: "Tracer") -> None:
        self._tool = tool
        self._tracer = tracer

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
        return self._tool.prepare(args)

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        return self._tool.subjects(args)

    def preview(self, args: dict[str, JSON]) -> str:
        return self._tool.preview(args)

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> Any:
        spec = self._tool.spec
        known: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": spec.name,
            "gen_ai.tool.call.id": context.action_id,
            "gen_ai.tool.type": "function",
        }
        if spec.description:
            known["gen_ai.tool.description"] = spec.description
        span = _start(self._tracer, f"execute_tool {spec.name}", known)
        try:
            with _current(span):
                return await self._tool.run(context, args)
        except BaseException as problem:
            _fail(span, _error_type(problem))
            raise
        finally:
            span.end()

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        return await self._tool.reconcile(context, args)

    def functions(self) -> tuple[object, ...]:
        return tuple(functions_of(self._tool))


class AgentSpan:
    """One agent at work on one prompt. Without a tracer it does nothing, at no cost.

    Start the run inside `current()`, so that its calls and tools are found below this span, and leave the block before
    anything is yielded. `end` may be called anywhere, and more than once.
    """

    def __init__(
        self,
        tracer: "Tracer | None",
        name: str,
        *,
        thread_id: ThreadId | None = None,
        model: str = "",
        provider: str = "",
    ) -> None:
        self._span: Span | None = None
        if tracer is not None:
            known = {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": name,
                "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
                "gen_ai.conversation.id": thread_id or "",
                "gen_ai.request.model": model,
            }
            given: Attributes = {key: value for key, value in known.items() if value}
            self._span = _start(tracer, f"invoke_agent {name}".rstrip(), given)

    def current(self) -> AbstractContextManager[None]:
        """A block in which this is the current span."""
        return nullcontext() if self._span is None else _current(self._span)

    def end(self, run: Run | None = None, *, error: BaseException | None = None) -> None:
        """It is over: with this run, whose usage and ending are noted, or with an error before there was one."""
        span, self._span = self._span, None
        if span is None:
            return
        if run is not None:
            span.set_attributes({"gen_ai.conversation.id": run.thread_id, **_used(run.usage)})
            if run.ending and run.ending.status != "completed":
                _fail(span, run.ending.code or run.ending.status)
        if error is not None:
            _fail(span, _error_type(error))
        span.end()


def _start(tracer: "Tracer", name: str, attributes: Attributes, *, calls_out: bool = False) -> "Span":
    from opentelemetry.trace import SpanKind

    return tracer.start_span(name, kind=SpanKind.CLIENT if calls_out else SpanKind.INTERNAL, attributes=attributes)


@contextmanager
def _current(span: "Span") -> Generator[None]:
    from opentelemetry.trace import use_span

    # Left to itself it would write down the error's text and its traceback.
    with use_span(span, end_on_exit=False, record_exception=False, set_status_on_exception=False):
        yield


def _fail(span: "Span", error_type: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", error_type)
    span.set_status(StatusCode.ERROR)


def _error_type(problem: BaseException) -> str:
    match problem:
        case ModelError():
            return problem.kind
        case PolluxError():
            return problem.code
        case asyncio.CancelledError():
            return "cancelled"
        case _:
            return type(problem).__name__


def _server(base_url: str) -> Attributes:
    parts = urlsplit(base_url)
    port = parts.port or _PORTS.get(parts.scheme)
    return {"server.address": parts.hostname, "server.port": port} if parts.hostname and port else {}


def _asked(request: ModelRequest) -> Attributes:
    asked: Attributes = {"gen_ai.request.model": request.model}
    if request.stream:
        asked["gen_ai.request.stream"] = True
    if request.max_output_tokens is not None:
        asked["gen_ai.request.max_tokens"] = request.max_output_tokens
    if request.temperature is not None:
        asked["gen_ai.request.temperature"] = request.temperature
    if request.output_schema is not None:
        asked["gen_ai.output.type"] = "json"
    return asked


def _answered(done: Done) -> Attributes:
    answered: Attributes = {"gen_ai.response.finish_reasons": [_FINISH_REASONS.get(done.stop, done.stop)]}
    if done.model:
        answered["gen_ai.response.model"] = done.model
    return answered | _used(done.usage)


def _used(usage: Usage) -> Attributes:
    counted = {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.reasoning.output_tokens": usage.thoughts,
    }
    # A provider that counts nothing says nothing: zero tokens would be a claim.
    return {name: tokens for name, tokens in counted.items() if tokens}
