"""A tool for tests that a configuration names."""

from pollux import tool


@tool
def hello(name: str) -> str:
    """Say hello."""
    return f"Hello, {name}!"
