"""Blocks at work without an engine: called as the provider calls them, run as the engine runs them."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.tools import Answered, ToolContext
from pollux.engine.gate import Toolbox
from pollux.engine.perform import plain
from pollux.runbooks.blocks import BlockType, Call
from pollux.runbooks.documents import Block, Runbook
from pollux.runbooks.scene import Scene, Variable

ID = "11111111-1111-4111-8111-111111111111"


class Told:
    """What a tool has shown while it was at work, by stream."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, str]] = []

    def all(self, stream: str = "stdout") -> str:
        return "".join(text for name, text in self.pieces if name == stream)

    async def note(self, value: JSON) -> None:
        raise AssertionError("blocks note nothing")

    def tell(self, text: str, *, stream: str = "stdout") -> None:
        self.pieces.append((stream, text))

    async def ask(self, tool: str, args: dict[str, JSON], capabilities: Collection[str]) -> Answered:
        raise AssertionError("blocks ask for nothing")

    async def objection(self, tool: str, args: dict[str, JSON]) -> str:
        return ""

    async def observe(self, tool: str, title: str, status: str) -> None:
        raise AssertionError("blocks observe nothing")


def block(type: str, /, **props: Any) -> Block:
    return Block(id=ID, type=type, name=str(props.get("name", "A block")), props=props, line=7)


def scene(
    directory: object = "/", *, variables: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None
) -> Scene:
    given = {name: Variable(value) for name, value in (variables or {}).items()}
    runbook = Runbook(id=ID, name="A runbook", version=1, blocks=())
    return Scene(runbook=runbook, directory=str(directory), variables=given, env=dict(env or {}))


def prepared(kind: BlockType, call: Call) -> dict[str, JSON]:
    """The arguments as the gate has them. Raises ValidationError."""
    return Toolbox(kind.tools).prepare(call.tool, call.args)


def subjects(kind: BlockType, call: Call) -> frozenset[str]:
    return Toolbox(kind.tools)[call.tool].subjects(prepared(kind, call))


def preview(kind: BlockType, call: Call) -> str:
    return Toolbox(kind.tools)[call.tool].preview(prepared(kind, call))


async def run(kind: BlockType, block: Block, scene: Scene, *, told: Told | None = None) -> Any:
    """The result, as the journal keeps it."""
    call = kind.call(block, scene)
    args = prepared(kind, call)
    context = ToolContext(
        user=UserId("u"),
        origin="",
        run_id=RunId("r"),
        action_id=ActionId("a"),
        thread_id=ThreadId("t"),
        reach=told or Told(),
    )
    result = plain(await Toolbox(kind.tools)[call.tool].run(context, args))
    return json.loads(json.dumps(result))
