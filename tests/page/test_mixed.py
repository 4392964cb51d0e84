"""Twenty conversations in which server and page act in one turn: every result is kept, and each is done once."""

import random
from pathlib import Path

import pytest
from tests.engine.builders import FakeTool
from tests.page.site import CLICK, page_site

from pollux.core.messages import JSON, ToolResult
from pollux.providers.scripted import ScriptedProvider, calls, reply

OTHER = {**CLICK, "name": "fill-search"}
NOTHING: dict[str, JSON] = {}


@pytest.mark.parametrize("seed", range(20))
async def test_a_mixed_conversation_keeps_every_result_in_its_place(tmp_path: Path, seed: int):
    chance = random.Random(seed)
    stock, price = FakeTool("action_stock", "three"), FakeTool("action_price", "nine")
    names = ("action_stock", "action_price", "click-buy", "fill-search")
    turns = [[chance.choice(names) for _ in range(chance.randint(1, 5))] for _ in range(chance.randint(1, 4))]
    model = ScriptedProvider(*(calls(*((name, NOTHING) for name in turn)) for turn in turns), reply("All done."))
    async with page_site(tmp_path, model, tools=[stock, price]) as site:
        page = await site.page()
        page.tools = [CLICK, OTHER]
        told, given = await page.say("go"), list[str]()
        while told["type"] == "tool-calls":
            waiting = list(told["calls"])
            chance.shuffle(waiting)
            # Now and then in two parts.
            part = waiting if chance.random() < 0.5 else waiting[: chance.randint(1, len(waiting))]
            given += [each["id"] for each in part]
            told = await page.answer(*({"callId": each["id"], "result": f'"{each["name"]}"'} for each in part))
    assert told["message"] == "All done."
    assert len(given) == len(set(given)) == sum(name in ("click-buy", "fill-search") for turn in turns for name in turn)
    assert len(stock.ran) + len(price.ran) == sum(name.startswith("action_") for turn in turns for name in turn)
    results = {"action_stock": "three", "action_price": "nine", "click-buy": "click-buy", "fill-search": "fill-search"}
    for number, turn in enumerate(turns, start=1):
        answered = [part.result for part in model.requests[number].turns[-1].parts if isinstance(part, ToolResult)]
        assert answered == [results[name] for name in turn]
