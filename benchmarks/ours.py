"""Pollux as a client of the harness (see README.md): one run without streaming, or its text as it arrives."""

from pathlib import Path
from typing import Any

from _common import Client, add, filler, main  # type: ignore[import-not-found]

from pollux.core.ids import ThreadId, UserId
from pollux.core.messages import Message, Text
from pollux.core.profile import Limits, Profile
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine, Start
from pollux.engine.feed import Delta
from pollux.engine.system import SystemClock
from pollux.providers.gemini import GeminiProvider
from pollux.stores.memory import MemoryStore

USER = UserId("bench")
INTEGER = {"type": "integer"}


class Add:
    """The harness's tool: validated, decided on and journalled like any other."""

    spec = ToolSpec(
        "add",
        "Add two integers.",
        {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}, "required": ["a", "b"]},
    )

    def prepare(self, args: dict[str, Any]) -> dict[str, Any]:
        return args

    def subjects(self, args: dict[str, Any]) -> frozenset[str]:
        return frozenset()

    def preview(self, args: dict[str, Any]) -> str:
        return f"add {args['a']} and {args['b']}"

    async def run(self, context: ToolContext, args: dict[str, Any]) -> int:
        return add(args["a"], args["b"])

    async def reconcile(self, context: ToolContext, args: dict[str, Any]) -> Reconciled:
        return Reconciled("not_done")


class Ours(Client):
    persist_kinds = ("sqlite",)

    async def setup(self, job: dict[str, Any]) -> None:
        self.provider = GeminiProvider("bench", job["base"])
        clock = SystemClock()
        profile = Profile(model=job["model"], tools=("add",), limits=Limits(model_calls=1000))
        self.engine = Engine(
            store=_store(job.get("persist")),
            providers=lambda _: self.provider,
            tools=[Add()],
            profiles={"default": profile},
            dispatcher=LocalDispatcher(clock),
            clock=clock,
        )
        await self.engine.__aenter__()

    async def history(self, n: int) -> ThreadId:
        messages = [
            Message("user" if role == "user" else "assistant", (Text(text),)) for role, text in map(filler, range(n))
        ]
        return (await self.engine.threads.open(USER, messages)).id

    async def run(self, prompt: str, history: ThreadId | None = None, thread: str | None = None) -> str:
        where = history or (ThreadId(thread) if thread else None)
        run = await self.engine.start(Start(prompt, user=USER, thread_id=where, create=True))
        return (await self.engine.wait_settled(run.id)).text

    async def stream(self, prompt: str):
        run = await self.engine.start(Start(prompt, user=USER, live=True))
        async for item in self.engine.watch(run.id):
            if type(item) is Delta:
                yield item.text

    async def close(self) -> None:
        await self.engine.close()
        await self.provider.close()


def _store(persist: dict[str, Any] | None):
    if persist is None:
        return MemoryStore()
    from pollux.stores.sqlite import SqliteStore

    return SqliteStore(Path(persist["path"]), key=b"k" * 32, heads=None)


if __name__ == "__main__":
    main(Ours)
