"""Two tools that need nobody's leave, so that the demo can show the difference."""

from datetime import datetime

from pollux.tools.typed.tools import tool


@tool
def add(a: float, b: float) -> float:
    """Add two numbers."""
    total = a + b
    return int(total) if total.is_integer() else total


@tool
def today() -> str:
    """Tell today's date."""
    return datetime.now().astimezone().date().isoformat()
