"""A small world for runbooks: documents in a few words, an engine on any store, and what was told of a run."""

import json
import uuid
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.waiting import until

from pollux.bootstrap import Fixed
from pollux.core.ids import RunId, UserId
from pollux.core.machine import pending
from pollux.core.redact import Secret
from pollux.core.run import Run
from pollux.core.tools import Tool
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine
from pollux.engine.ports import Store
from pollux.engine.system import SystemClock
from pollux.providers.scripted import ScriptedProvider, Step
from pollux.runbooks.agents.internal import NO_OUTFITS, Outfits
from pollux.runbooks.agents.program import programs_of
from pollux.runbooks.blocks.started import scripts_of
from pollux.runbooks.documents import read
from pollux.runbooks.following import follow
from pollux.runbooks.opening import Opening, folder_of
from pollux.runbooks.runtime import Runbooks, make_runbooks
from pollux.runbooks.settings import DEFAULT_AGENTS, AgentEntry
from pollux.runbooks.shelf import digest_of
from pollux.runbooks.trust import Trust
from pollux.stores.memory import MemoryStore
from pollux.tools.files.root import Root
from pollux.tools.shell.agent_shell import Runner
from pollux.tools.shell.sandbox import Sandbox

ADA = UserId("ada")
SPACE = uuid.UUID("0b0f4a5e-8a3f-4d49-9b1a-8f1a6f2f7c11")


def id_of(name: str) -> str:
    """The id of the block of this name, the same in every run of a test."""
    return str(uuid.uuid5(SPACE, name))


def block(type_: str, name: str, **props: Any) -> dict[str, Any]:
    return {"id": id_of(name), "type": type_, "props": {"name": name, **props}, "children": []}


def script(name: str, code: str, **props: Any) -> dict[str, Any]:
    return block("script", name, interpreter="bash", code=code, **props)


def agent(name: str, prompt: str, **props: Any) -> dict[str, Any]:
    """Our own agent, unless the properties name another source."""
    return block("agent", name, **{"source": {"type": "internal", "model": "scripted"}, "prompt": prompt, **props})


def document(*blocks: dict[str, Any], name: str = "Test") -> str:
    return json.dumps({"id": id_of("document"), "name": name, "version": 1, "content": list(blocks)})


class RunbookLab:
    """One directory, one store, and engines that come and go."""

    def __init__(self, path: Path, store: Callable[[], Store] | None = None) -> None:
        self.path = path
        self.home = path / "home"
        self.work = path / "work"
        self.home.mkdir(exist_ok=True)
        self.work.mkdir(exist_ok=True)
        memory = MemoryStore()
        self._store = store or (lambda: memory)
        self._stack = AsyncExitStack()
        self.trust = Trust(self.home)
        self._agents: dict[str, AgentEntry] = {}

    async def engine(
        self,
        *steps: Step,
        agents: dict[str, AgentEntry] | None = None,
        model: str = "scripted",
        store: Store | None = None,
        secrets: Iterable[Secret] = (),
        sandbox: Sandbox = "auto",
        outfits: Outfits = NO_OUTFITS,
        tools: Iterable[Tool] = (),
    ) -> tuple[Engine, Runbooks]:
        self._agents = agents or {}
        runbooks = make_runbooks(
            root=Root(self.work),
            runner=Runner(self.work, sandbox=sandbox),
            roots=lambda path: Root(Path(path)),
            agents={**DEFAULT_AGENTS, **(agents or {})},
            model=model,
            trust=self.trust,
            secrets=secrets,
            outfits=outfits,
        )
        clock = SystemClock()
        engine = Engine(
            store=store or self._store(),
            providers=runbooks.providers(Fixed(ScriptedProvider(*steps))),
            tools=(*runbooks.tools, *tools),
            profiles=runbooks.profiles,
            clock=clock,
            dispatcher=LocalDispatcher(clock),
        )
        await self._stack.enter_async_context(engine)
        runbooks.host.serve(engine)
        return engine, runbooks

    async def close(self) -> None:
        await self._stack.aclose()

    def opening(self, source: str, **more: Any) -> Opening:
        return Opening(source, "json", str(self.work), **more)

    async def start(self, runbooks: Runbooks, source: str, *, trusted: bool = True, **more: Any) -> Run:
        if trusted:
            self.accept(source)
        return await runbooks.start(self.opening(source, **more), user=ADA)

    def accept(self, source: str, folder: Path | None = None) -> None:
        """A person accepts this document, as it lies in the working directory or in this folder."""
        place = folder_of("", str(folder or self.work))
        runbook, registry = read(source, form="json"), {**DEFAULT_AGENTS, **self._agents}
        self.trust.pin(
            "runbook",
            digest_of(source),
            what="test",
            by="ada",
            folder=place,
            programs=programs_of(runbook, directory=str(self.work), places=(place,), registry=registry),
            scripts=scripts_of(runbook, directory=str(self.work), places=(place,), shell="bash"),
        )


async def told(engine: Engine, runbooks: Runbooks, run: Run) -> list[dict[str, Any]]:
    """Everything that is told of the run, to its end."""
    return [each async for each in follow(engine, runbooks.types, run.id, user=ADA)]


async def ended(engine: Engine, run: Run) -> Run:
    """The run once it has ended."""
    async for _ in engine.watch(run.id):
        pass
    return await engine.queries.run(run.id)


async def waiting(engine: Engine, run_id: RunId) -> Run:
    """The run, or the child that it waits for, once a person is asked."""

    async def asking() -> Run | None:
        run = await engine.queries.run(run_id)
        if run.approvals:
            return run
        assert not run.ending, run.ending
        for action in run.open:
            if action.where == "child" and action.handed_over:
                child = await engine.queries.run(engine.queries.child_of(action.id))
                if child.approvals and not pending(child):
                    return child
        return None

    found = await until(asking)
    assert found is not None
    return found


def outputs(events: Iterable[dict[str, Any]], name: str) -> dict[str, Any]:
    """What the block of this name gave out."""
    return next(
        each["data"]["object"]
        for each in events
        if each["type"] == "blockFinished" and each["data"]["blockId"] == id_of(name)
    )


def states(events: Iterable[dict[str, Any]], name: str) -> list[str]:
    """The statuses of an agent block, in order."""
    return [
        each["data"]["state"]["status"]
        for each in events
        if each["type"] == "agentStateChanged" and each["data"]["blockId"] == id_of(name)
    ]
