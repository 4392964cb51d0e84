"""What happens in the journals that are kept: short runs that together meet everything a journal can say.

Each scene opens engines of its own on one SQLite file. One that is closed leaves as a crash would, without a word.
"""

import asyncio
from collections.abc import Awaitable, Callable

from tests.engine.builders import (
    ADA,
    TO_BOB,
    FakeTool,
    HeldTool,
    Lab,
    answer,
    approve,
    ask,
    mail,
    question,
    settle,
    until,
)
from tests.waiting import HANG_SECONDS

from pollux.core.errors import ToolError
from pollux.core.ids import RunId
from pollux.core.messages import JSON, Blob, FileRef, Message, Text, Usage, user
from pollux.core.page import Page
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.core.run import Parent, Run
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.engine.engine import Engine, Start
from pollux.providers.scripted import call, calls, fail, reply

Scene = Callable[[Lab], Awaitable[None]]

ANYBODY = (Rule("allow"),)
DAY = 24 * 3600.0
LONG = "x" * 400


async def answered(lab: Lab) -> None:
    engine = await lab.engine(reply("Hello, Ada. 🙂", thought="She greets me."))
    image = Message(
        "user", (Text("hello"), Blob("image/png", b"\x00\xff", "dot.png"), FileRef("text/plain", "files/1"))
    )
    await answer(engine, image, title="A greeting")


async def approved(lab: Lab) -> None:
    engine = await lab.engine(call("send_mail", TO_BOB, text="I send it."), reply("Sent."), tools=[mail()])
    await approve(engine, await answer(engine), scope="session")


async def rejected(lab: Lab) -> None:
    engine = await lab.engine(call("send_mail", TO_BOB), reply("Then not."), tools=[mail()])
    run = await answer(engine)
    await engine.resolve(question(run).id, "rejected", by=ADA, feedback="not today")
    await settle(engine, run)


async def rejected_for_good(lab: Lab) -> None:
    strict = Profile(tools=("send_mail",), on_reject="fail")
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[mail()], profile=strict)
    run = await answer(engine)
    await engine.resolve(question(run).id, "rejected", by=ADA)
    await settle(engine, run)


async def edited(lab: Lab) -> None:
    engine = await lab.engine(call("send_mail", TO_BOB), reply("Sent to Eve."), tools=[mail()])
    run = await answer(engine)
    await engine.edit(question(run).id, {"to": "eve@example.com", "body": "hello"}, by=ADA)
    await approve(engine, await settle(engine, run))


async def expired(lab: Lab) -> None:
    engine = await lab.engine(call("send_mail", TO_BOB), reply("Nobody answered."), tools=[mail()])
    run = await answer(engine)
    lab.clock.advance(DAY + 1)
    await until(engine, run, lambda now: now.ending)


async def refused(lab: Lab) -> None:
    wanted = calls(("teleport", {}), ("send_mail", {"body": "to nobody"}))
    engine = await lab.engine(wanted, reply("I cannot."), tools=[mail()])
    await answer(engine)


async def failed_tool(lab: Lab) -> None:
    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        raise ToolError("the lens is dirty")

    engine = await lab.engine(calls(("look", {}), ("read", {})), reply("One of two."), tools=[
        FakeTool(body=body), FakeTool("read", {"pages": [1, 2.5, None], "é": True})
    ])  # fmt: skip
    await answer(engine)


async def denied(lab: Lab) -> None:
    rules = (Rule("deny", tool="send_mail", subjects=("bob@*",), reason="not to Bob", name="no-bob"),)
    engine = await lab.engine(call("send_mail", TO_BOB), reply("It is forbidden."), tools=[mail()], rules=rules)
    await answer(engine)


async def looped(lab: Lab) -> None:
    short = Profile(tools=("look",), limits=Limits(model_calls=2))
    engine = await lab.engine(call("look"), call("look"), tools=[FakeTool()], profile=short)
    await answer(engine)


async def retried(lab: Lab) -> None:
    engine = await lab.engine(fail("overloaded", retry_after=2), reply("Now."))
    run = await answer(engine)
    lab.clock.advance(3)
    await until(engine, run, lambda now: now.ending)


async def failed_model(lab: Lab) -> None:
    engine = await lab.engine(fail("auth", "the key is wrong"))
    await answer(engine)


async def cancelled(lab: Lab) -> None:
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[mail()])
    run = await answer(engine)
    await engine.cancel(run.id, by=ADA)
    await settle(engine, run)


async def cancelled_in_flight(lab: Lab) -> None:
    slow = HeldTool(side_effect=True, repeat="once")
    engine = await lab.engine(call("slow"), tools=[slow], rules=ANYBODY)
    run = await ask(engine)
    await slow.began.wait()
    await engine.cancel(run.id, by=ADA)
    await until(engine, run, lambda now: now.ending)


async def paged(lab: Lab) -> None:
    click = FakeTool("click", where="page")
    engine = await lab.engine(call("click"), call("click"), reply("It left."), tools=[click])
    run = await answer(engine)
    await engine.submit(run.open[0].id, {"clicked": True}, user=ADA)
    await settle(engine, run)
    lab.clock.advance(61)
    await until(engine, run, lambda now: now.ending)


async def shown(lab: Lab) -> None:
    """In a page that brings a tool of its own, and shows something else afterwards."""
    object_ = {"type": "object", "properties": {"ref": {"type": "string"}}}
    click = ToolSpec("click", "Click", object_, side_effect=True, default_approval="not_required", where="page")
    engine = await lab.engine(call("click", {"ref": "buy"}), reply("Bought."))
    run = await answer(engine, page=Page("There is a button.", (click,)), keep_seconds=600.0)
    await engine.show(run.id, Page("It is in the cart.", (click,)))
    await engine.submit(run.open[0].id, {"ok": True})
    await settle(engine, run)


async def child(lab: Lab) -> None:
    engines: list[Engine] = []

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        parent = Parent(context.run_id, context.action_id, context.run_id)
        await engines[0].start(Start("a part of it", user=context.user, parent=parent, run_id=RunId("run_child")))
        return None

    delegate = FakeTool("delegate", body=body, where="child", repeat="keyed")
    engines.append(await lab.engine(call("delegate"), reply("The part."), reply("The whole."), tools=[delegate]))
    await until(engines[0], await ask(engines[0]), lambda now: now.ending)


async def compressed(lab: Lab) -> None:
    short = Profile(tools=("look",), limits=Limits(compress_at=100))
    steps = reply("Full.", usage=Usage(90, 30)), reply("draft"), reply("They counted."), reply("Three.")
    engine = await lab.engine(*steps, profile=short)
    past = [user(f"one {LONG}"), _said(f"1 {LONG}"), user(f"two {LONG}"), _said(f"2 {LONG}")]
    thread = await engine.threads.open(ADA, past, title="Counting")
    await answer(engine, "fill it", thread_id=thread.id)
    await answer(engine, "and now?", thread_id=thread.id)
    forked = await engine.threads.fork(thread.id, ADA)
    await engine.threads.rename(forked.id, ADA, "Counting, again")


async def reconciled_as_done(lab: Lab) -> None:
    await _interrupted(lab, "checkable", Reconciled("done", {"id": "m1"}))


async def reconciled_as_not_done(lab: Lab) -> None:
    await _interrupted(lab, "checkable", Reconciled("not_done"))


async def reconciled_as_unknown(lab: Lab) -> None:
    await _interrupted(lab, "checkable", Reconciled("unknown"))


async def settled(lab: Lab) -> None:
    engine, run = await _interrupted(lab, "once", None)
    await engine.settle(run.actions[0].id, "done", by=ADA)


async def noted(lab: Lab) -> None:
    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        await context.note({"draft": "d1"})
        return "sent"

    tool = FakeTool("send_mail", body=body, side_effect=True, repeat="checkable")
    engine = await lab.engine(call("send_mail", TO_BOB), reply("Sent."), tools=[tool], rules=ANYBODY)
    await answer(engine)


async def asked(lab: Lab) -> None:
    """A tool at work asks for mails: one is approved, one rejected, and it ends without waiting for the third."""

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        answers = [(await context.ask("send_mail", dict(TO_BOB))).status for _ in range(2)]
        left = asyncio.ensure_future(context.ask("send_mail", dict(TO_BOB)))
        await let_go.wait()
        left.cancel()
        return answers

    let_go = asyncio.Event()
    agent = FakeTool("agent", body=body, side_effect=True, repeat="once")
    rules = (Rule("allow", tool="agent"),)
    engine = await lab.engine(call("agent"), reply("One of three."), tools=[agent, mail()], rules=rules)
    run = await ask(engine)
    for decision in ("approved", "rejected"):
        run = await until(engine, run, lambda now: now.approvals)
        run = await engine.resolve(question(run).id, decision, by=ADA)
    await until(engine, run, lambda now: now.approvals)
    let_go.set()
    await until(engine, run, lambda now: now.ending)


async def observed(lab: Lab) -> None:
    """What an agent did by itself, and what it asked for before its process died."""

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        await context.observe("agent:read", "read notes.txt", "completed")
        return await context.ask("send_mail", dict(TO_BOB))

    agent = FakeTool("agent", body=body, side_effect=True, repeat="once")
    rules = (Rule("allow", tool="agent"),)
    engine = await lab.engine(call("agent"), tools=[agent, mail()], rules=rules)
    run = await until(engine, await ask(engine), lambda now: now.approvals)
    await engine.close()
    later = await lab.engine(tools=[agent, mail()], rules=rules)
    await later.recover()
    await until(later, run, lambda now: now.ending)


async def sourced(lab: Lab) -> None:
    """The second run of a thread in which a tool has spoken, with everything that a door may say about a run."""
    engine = await lab.engine(call("look"), reply("Seen."), reply("As before."), tools=[FakeTool()])
    first = await answer(engine)
    asked = Start(
        "again", user=ADA, thread_id=first.thread_id, rules=(Rule("deny", args="^x", reason="no x"),), request="c" * 64,
        instructions="Be brief.", origin="https://example.com", interactive=False,
    )  # fmt: skip
    await settle(engine, await engine.start(asked))


async def waiting(lab: Lab) -> None:
    """Left open: whoever reads this journal may go on with it."""
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[mail()])
    await answer(engine, "send it")


async def in_flight(lab: Lab) -> None:
    """Left open, with a tool begun of which nobody knows how far it came."""
    slow = HeldTool("send_mail", side_effect=True, repeat="keyed")
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[slow], rules=ANYBODY)
    await ask(engine, "send it")
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()


SCENES: tuple[Scene, ...] = (
    answered, approved, rejected, rejected_for_good, edited, expired, refused, failed_tool, denied, looped, retried,
    failed_model, cancelled, cancelled_in_flight, paged, shown, child, compressed, reconciled_as_done,
    reconciled_as_not_done, reconciled_as_unknown, settled, noted, asked, observed, sourced, waiting, in_flight,
)  # fmt: skip


async def _interrupted(lab: Lab, repeat: str, found: Reconciled | None) -> tuple[Engine, Run]:
    """A process dies while its tool is at work; the next one finds out what became of it."""
    slow = HeldTool("send_mail", side_effect=True, repeat=repeat)
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[slow], rules=ANYBODY)
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    await engine.close()
    tool = FakeTool("send_mail", "sent", side_effect=True, repeat=repeat, found=found)
    later = await lab.engine(reply("That is settled."), tools=[tool], rules=ANYBODY)
    await later.recover()
    return later, await settle(later, run)


def _said(text: str) -> Message:
    return Message("assistant", (Text(text),))
