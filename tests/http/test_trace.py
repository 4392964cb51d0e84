"""How far the story "email Bob the report" travels over HTTP: through few of our files, and never deep.

Counted as in tests/engine/test_trace.py. What lies behind a port (the store, the model, the tool, what hands out work)
is the test's own or named apart: whoever follows a request stops there.
"""

from collections.abc import AsyncIterator
from pathlib import Path

from tests.engine.test_trace import Trail, traced
from tests.http.site import Site, site

from pollux.core.messages import JSON, Message, Text, ToolCall
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.engine.model import Done, ModelEvent, ModelInfo, ModelRequest, TextDelta
from pollux.stores.sqlite import SqliteStore

BUDGET = (20, 12)
"""So many files of ours, so many of our frames on one stack: from the request to its answer."""
COUNTED = ("core/", "engine/", "asgi/", "http/", "serve.py")
ADAPTERS = {"asgi/protocol.py"}
"""Between uvicorn's HTTP and its application: whoever follows a request begins behind it."""
MAIL: dict[str, JSON] = {"to": "bob@example.com", "subject": "Report"}


async def test_a_mail_asked_for_approved_and_sent_crosses_few_files_and_never_deep(tmp_path: Path):
    mail = Mail()
    # A store that waits, as those that remember do: an instant one is run through on the caller's own stack.
    store = SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)
    async with site(tmp_path, OneMail(), tools=[mail], store=store) as here:
        await story(here)
        with traced() as trail:
            await story(here)
    assert len(mail.sent) == 2
    crossed = {file: depth for file, depth in trail.files.items() if file.startswith(COUNTED) and file not in ADAPTERS}
    show(trail, sorted(crossed))
    assert len(crossed) <= BUDGET[0]
    assert max(crossed.values()) <= BUDGET[1]


async def story(here: Site) -> None:
    """Asked, approved, sent."""
    asked = await here.ada.run("email Bob the report")
    assert asked["status"] == "awaiting_confirmation"
    got = await here.ada.resolve(asked["approvals"][0]["id"])
    assert got.body["run"]["status"] == "completed"


def show(trail: Trail, crossed: list[str]) -> None:
    print(len(crossed), "files:", *crossed)
    print("apart:", *sorted(trail.files.keys() - crossed))
    print(len(trail.deepest), "deep:", *trail.deepest, sep="\n  ")


class OneMail:
    """A model that wants one mail sent and then is content."""

    name = "one-mail"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if request.turns[-1].role == "user":
            yield Done("tool_calls", Message("assistant", (ToolCall("c1", "mail", MAIL),)))
        else:
            yield TextDelta("Sent.")
            yield Done("end", Message("assistant", (Text("Sent."),)))

    async def count_tokens(self, request: ModelRequest) -> int:
        return 0

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def close(self) -> None:
        pass


class Mail:
    """A tool that only remembers what it was told to send."""

    spec = ToolSpec(
        "mail",
        "Send an e-mail.",
        {"type": "object", "properties": {"to": {"type": "string"}, "subject": {"type": "string"}}},
        side_effect=True,
        repeat="keyed",
    )

    def __init__(self) -> None:
        self.sent: dict[str, dict[str, JSON]] = {}

    def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
        return args

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        return frozenset({str(args["to"])})

    def preview(self, args: dict[str, JSON]) -> str:
        return f"E-mail to {args['to']}: {args['subject']}"

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> object:
        self.sent[context.action_id] = args
        return {"sent": True}

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        return Reconciled("not_done")
