"""An agent in ten lines: a function with type hints and a docstring is a tool.

Run it: `python examples/01_hello.py`
"""

from pollux import Agent, tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    agent = Agent("You add numbers.", tools=[add])
    print(agent.send_sync("What is 2 + 3?").text)
