"""What has happened before somebody looks: a few conversations, each made by the real server with the demo model."""

from typing import Final

from pollux.cli.demo.caller import Caller, Unexpected

ANSWERED: Final = "add 19 and 23"
ALWAYS: Final = "send an email to team@example.com saying the demo is running"
ONCE: Final = "send an email to dora@example.com saying your order has left"
REFUSED: Final = "send an email to everybody@example.com saying lunch is on me"
WAITING: Final = "send an email to carol@example.com saying the blue mugs are back"


async def seed(caller: Caller) -> None:
    """An answer, two mails of which one is always allowed from now on, a no, and a question. Raises Unexpected."""
    await caller.ask(ANSWERED)
    await _answered(caller, ALWAYS, "approve_and_always_allow_recipient", "completed")
    await _answered(caller, ONCE, "approve_once", "completed")
    await _answered(caller, REFUSED, "reject", "completed")
    if not (await caller.ask(WAITING))["approvals"]:
        raise Unexpected("a mail was asked for, and nobody is asked about it")


async def _answered(caller: Caller, prompt: str, decision: str, state: str) -> None:
    run = await caller.ask(prompt)
    if not run["approvals"]:
        raise Unexpected("a mail was asked for, and nobody is asked about it")
    answer = await caller.answer(run["approvals"][0], decision)
    if answer["run"]["state"] != state:
        raise Unexpected(f"expected a run to be {state} after its answer, found {answer['run']['summary']}")
