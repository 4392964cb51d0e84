"""The emulator as a running server: one handler that records, routes, answers and sends.

Law: it owns everything it starts; when its block ends, nothing of it is left, however many clients still wait.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from pollux.emulator import recorder, replay, routes
from pollux.emulator.answer import Answer
from pollux.emulator.anthropic import face as anthropic
from pollux.emulator.faults import HEADER, Fault, FaultBook, UnknownFault, read_rules
from pollux.emulator.gemini import face as gemini
from pollux.emulator.gemini.errors import Refusal
from pollux.emulator.guard import application
from pollux.emulator.openai import face as openai
from pollux.emulator.recorder import RecordedRequest
from pollux.emulator.transport import send

_LARGEST = 100 * 1024 * 1024
# A server left running must not grow without end.
_KEPT = 10_000


@dataclass
class Emulator:
    """A running emulator: where it is, what it saw."""

    url: str = ""
    seed: int = 0
    faults: FaultBook = field(default_factory=FaultBook)
    recording: replay.Recording | None = None
    requests: list[RecordedRequest] = field(default_factory=list[RecordedRequest])
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    def clear(self) -> None:
        """Forget what was seen, and how often faults were given."""
        self.requests.clear()
        self.faults.used.clear()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request of any kind."""
        is_anthropic = "anthropic-version" in request.headers
        # Ollama's clients bring no key at all, and ask for its models by OpenAI's path.
        is_chat = _bearer(request) is not None or (request.path == "/v1/models" and not _has_key(request))
        route = routes.find(request.path, bearer=is_chat, anthropic=is_anthropic)
        try:
            content = await request.read()
        except web.HTTPRequestEntityTooLarge:
            answer = gemini.refuse(Refusal(400, f"Request payload size exceeds the limit: {_LARGEST} bytes."))
            return await send(request, answer, fault=None, closing=self.closing)
        if route.kind in ("requests", "ledger"):
            return await send(request, self._own(request, route), fault=None, closing=self.closing)
        self._remember(recorder.record(request, content))
        answer, fault = self._answer(request, route, content)
        return await send(request, answer, fault=fault, closing=self.closing)

    def _own(self, request: web.Request, route: routes.Route) -> Answer:
        if request.method not in route.allowed:
            return _not_allowed(request, route)
        if request.method == "DELETE":
            self.clear()
        seen = [recorder.shown(one) for one in self.requests] if route.kind == "requests" else []
        return gemini.answer_json(seen)

    def _answer(self, request: web.Request, route: routes.Route, content: bytes) -> tuple[Answer, Fault | None]:
        if self.recording is not None and (found := self.recording.find(request.method, request.path_qs, content)):
            return found, None
        if route.kind == "none":
            return gemini.refuse(Refusal(404, f"The path {request.path} does not exist.")), None
        if request.method not in route.allowed:
            return _not_allowed(request, route), None
        match route.kind:
            case "chat" | "chat-models":
                return self._openai_answer(request, route, content)
            case "messages" | "messages-count" | "messages-models":
                return self._anthropic_answer(request, route, content)
            case _:
                return self._gemini_answer(request, route, content)

    def _gemini_answer(self, request: web.Request, route: routes.Route, content: bytes) -> tuple[Answer, Fault | None]:
        try:
            return self._gemini(request, route, content)
        except UnknownFault as error:
            return gemini.refuse(Refusal(400, str(error))), None
        except Refusal as refusal:
            return gemini.refuse(refusal), None

    def _openai_answer(self, request: web.Request, route: routes.Route, content: bytes) -> tuple[Answer, Fault | None]:
        try:
            return self._openai(request, route, content)
        except UnknownFault as error:
            return openai.refuse(openai.bad_request(str(error))), None
        except openai.Refusal as refusal:
            return openai.refuse(refusal), None

    def _anthropic_answer(
        self, request: web.Request, route: routes.Route, content: bytes
    ) -> tuple[Answer, Fault | None]:
        known_as = anthropic.request_id(self.seed, content)
        try:
            return self._anthropic(request, route, content, known_as)
        except UnknownFault as error:
            return anthropic.refuse(anthropic.bad_request(str(error)), known_as), None
        except anthropic.Refusal as refusal:
            return anthropic.refuse(refusal, known_as), None

    def _gemini(self, request: web.Request, route: routes.Route, content: bytes) -> tuple[Answer, Fault | None]:
        key = request.headers.get("x-goog-api-key") or request.query.get("key") or _bearer(request)
        gemini.check_key(key)
        fault = self._fault(request, route.target.model if route.target else route.model or "", content)
        if route.target is None and (scripted := gemini.answer_fault(fault, model=route.model or "")) is not None:
            return scripted, fault
        if route.kind == "models":
            size = _page_size(request.query.get("pageSize", "50"), default=50)
            return gemini.list_models(size=size, token=request.query.get("pageToken", "")), fault
        if route.target is None:
            return gemini.get_model(route.model or "", version=route.version), fault
        as_events = request.query.get("alt") == "sse"
        return gemini.answer_call(route.target, content, seed=self.seed, as_events=as_events, fault=fault), fault

    def _openai(self, request: web.Request, route: routes.Route, content: bytes) -> tuple[Answer, Fault | None]:
        key = _bearer(request)
        if route.kind == "chat-models":
            if key is not None or request.path != "/v1/models":
                openai.check_key(key)
            return openai.models(route.model), None
        if key is not None or not openai.is_keyless(content):
            openai.check_key(key)
        chat = openai.read(content)
        fault = self._fault(request, chat.model, content)
        return openai.answer_chat(chat, seed=self.seed, fault=fault), fault

    def _anthropic(
        self, request: web.Request, route: routes.Route, content: bytes, known_as: str
    ) -> tuple[Answer, Fault | None]:
        anthropic.check_key(request.headers.get("x-api-key") or _bearer(request))
        version = anthropic.check_version(request.headers.get("anthropic-version"))
        if route.kind == "messages-models":
            size = _page_size(request.query.get("limit", "20"), default=20)
            after = request.query.get("after_id", "")
            return anthropic.models(route.model, size=size, after=after, request=known_as), None
        betas = frozenset(name.strip() for name in request.headers.get("anthropic-beta", "").split(","))
        counting = route.kind == "messages-count"
        talk = anthropic.read(content, version=version, betas=betas, counting=counting)
        fault = self._fault(request, talk.ask.model, content)
        if counting:
            return anthropic.answer_count(talk, fault=fault, request=known_as), fault
        return anthropic.answer_message(talk, seed=self.seed, fault=fault, request=known_as), fault

    def _fault(self, request: web.Request, model: str, content: bytes) -> Fault | None:
        text = recorder.searchable(content) if self.faults.rules else ""
        return self.faults.choose(header=request.headers.get(HEADER), model=model, text=text)

    def _remember(self, recorded: RecordedRequest) -> None:
        self.requests.append(recorded)
        if len(self.requests) > _KEPT:
            del self.requests[: _KEPT // 2]


@asynccontextmanager
async def run_emulator(
    *,
    port: int = 0,
    seed: int = 0,
    scenario: object = None,
    replay: str | Path | None = None,
    host: str = "127.0.0.1",
) -> AsyncGenerator[Emulator]:
    """Run the emulator in this process for as long as the block lasts. `scenario` is a list of rules."""
    emulator = Emulator(seed=seed, faults=FaultBook(read_rules(scenario)), recording=_recording(replay))
    guarded = application(emulator.handle, host=host, largest=_LARGEST)
    runner = web.AppRunner(guarded, access_log=None, shutdown_timeout=1.0, handler_cancellation=True)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        bound = runner.addresses[0]
        emulator.url = f"http://{host}:{bound[1]}"
        yield emulator
    finally:
        emulator.closing.set()
        await runner.cleanup()


def _recording(path: str | Path | None) -> replay.Recording | None:
    return replay.load(Path(path)) if path is not None else None


def _not_allowed(request: web.Request, route: routes.Route) -> Answer:
    answer = gemini.refuse(Refusal(405, f"Method {request.method} is not allowed here."))
    return Answer(answer.status, answer.frames, answer.content_type, headers={"Allow": ", ".join(route.allowed)})


def _page_size(text: str, *, default: int) -> int:
    return max(1, int(text)) if text.isdecimal() and len(text) < 6 else default


def _has_key(request: web.Request) -> bool:
    return any(name in request.headers for name in ("x-goog-api-key", "x-api-key")) or "key" in request.query


def _bearer(request: web.Request) -> str | None:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
