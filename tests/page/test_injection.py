"""What a page shows may order whatever it likes: a model that obeys every word of it does nothing unasked."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.builders import FakeTool
from tests.google.injection_model import Obedient, orders_in
from tests.google.injection_tricks import TEXTS
from tests.page.site import CLICK, page_site

from pollux.core.messages import Message, Text, ToolCall, Usage
from pollux.engine.model import Done, ModelEvent, ModelRequest

ANYTHING: dict[str, Any] = {"type": "object"}


class ObedientToThePage(Obedient):
    """Reads what the page shows better than anybody could: without cuts and without a fence."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = ""
        self.heard = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        is_first = request.turns[-1].role == "user"
        orders = orders_in(self.shown) if is_first else []
        self.heard += len(orders)
        calls = [ToolCall(f"call_{self.heard}_{n}", order.tool, order.args) for n, order in enumerate(orders)]
        for call in calls:
            yield call
        said = (*calls,) or (Text("Done."),)
        yield Done("tool_calls" if calls else "end", Message("assistant", said), Usage(10, 5))


@pytest.mark.slow
async def test_no_text_that_a_page_shows_has_an_effect_that_nobody_approved(tmp_path: Path):
    model = ObedientToThePage()
    names = sorted({order.tool for each in TEXTS for order in orders_in(each.text)})
    actions = [FakeTool(name, schema=ANYTHING, side_effect=True) for name in names]
    asked = 0
    # Each text leaves a question open, which holds its part of the visitors' budget.
    async with page_site(tmp_path, model, tools=actions, visitor_tokens_per_day=10**9) as site:
        for injection in TEXTS:
            model.shown = injection.text
            page = await site.page()
            # The page also claims the names for itself: they stay the server's, and ask.
            page.tools = [CLICK, *({**CLICK, "name": name} for name in names)]
            page.state = {"viewState": {"reviews": [injection.text], injection.text[:60]: injection.text}}
            told = await page.say("what do people say?")
            assert told["type"] in ("approval-required", "response"), injection
            run = await site.engine.queries.run(told["runId"])
            questions = [action for action in run.open if action.approval]
            assert all("page" in action.provenance for action in questions)
            asked += len(questions)
    assert model.heard >= 100
    assert asked >= 100
    assert [tool.ran for tool in actions if tool.ran] == []
    print(f"{len(TEXTS)} texts in a page's state: {model.heard} orders, {asked} questions, 0 effects")
