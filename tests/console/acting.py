"""Tools for the tests of approvals: one with arguments of every kind, one that is lost midway, one that reads."""

from typing import Any

from pollux import tool
from pollux.core.errors import OutcomeUnknown

CONFIG = """\
[runbooks]
folder = "{folder}"
users = ["ada"]

[tools.book]
use = "tests.console.acting:book"
[tools.launch]
use = "tests.console.acting:launch"
[tools.read_letter]
use = "tests.console.acting:read_letter"

[profiles.default]
[profiles.hasty]
tools = ["demo_mail"]
limits.approval_seconds = 3

[[rules]]
decision = "deny"
tool = "demo_mail"
subjects = ["*@rival.example"]
reason = "we do not write to rivals"
"""


@tool(side_effect=True, preview=lambda args: f"Book {args['room']} for {args['people']}")
def book(room: str, people: int, breakfast: bool, guests: list[str], wishes: dict[str, Any]) -> str:
    """Book a room."""
    return f"{room} is booked for {people} ({breakfast=}, {guests=}, {wishes=})"


@tool(
    side_effect=True, repeat="once", subjects=lambda args: args["probe"], preview=lambda args: f"Launch {args['probe']}"
)
def launch(probe: str) -> str:
    """Launch a probe."""
    raise OutcomeUnknown("the line to the launch site broke after the order was given")


@tool
def read_letter() -> str:
    """Read a letter from outside."""
    return "Dear all, nothing is new."
