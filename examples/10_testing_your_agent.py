"""Test an agent without a key, a network or a bill: script the model, run the rest for real.

Run it: `pytest examples/10_testing_your_agent.py`, or `python examples/10_testing_your_agent.py`.
"""

from typing import Any

from pollux import Agent, Rule, ToolError, tool
from pollux.testing import call, forbid_real_requests, reply, scripted

STOCK = {"apple": 3}


@tool(side_effect=True)
def take(item: str, count: int) -> int:
    """Take items out of the stock, and return how many are left."""
    if STOCK.get(item, 0) < count:
        raise ToolError(f"there are only {STOCK.get(item, 0)} of {item}")
    STOCK[item] -= count
    return STOCK[item]


def shopkeeper(**options: Any) -> Agent:
    """What you ship: in a test only the model and the store are others."""
    return Agent("You keep a shop.", tools=[take], policy=Rule("allow", tool="take"), **options)


def test_the_stock_goes_down() -> None:
    STOCK["apple"] = 3
    with forbid_real_requests(), scripted(call("take", {"item": "apple", "count": 2}), reply("One left.")) as model:
        agent = shopkeeper(model=model, store="memory")
        result = agent.send_sync("Two apples, please")
        agent.close()
    assert (result.text, STOCK["apple"]) == ("One left.", 1)


def test_the_model_hears_that_there_is_too_little() -> None:
    STOCK["apple"] = 3
    with forbid_real_requests(), scripted(call("take", {"item": "apple", "count": 9}), reply("Sorry!")) as model:
        agent = shopkeeper(model=model, store="memory")
        result = agent.send_sync("Nine apples, please")
        agent.close()
    assert result.tool_calls[0].error == "there are only 3 of apple"
    assert "only 3" in str(model.requests[1].turns[-1])


if __name__ == "__main__":
    for test in (test_the_stock_goes_down, test_the_model_hears_that_there_is_too_little):
        test()
        print(f"{test.__name__}: passed")
