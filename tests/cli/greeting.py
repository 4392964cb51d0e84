"""A tool for tests that a configuration names."""

from pathlib import Path

from pollux import tool


@tool
def hello(name: str) -> str:
    """Say hello."""
    return f"Hello, {name}!"


@tool(side_effect=True)
def save_note(note: str) -> str:
    """Save a note."""
    Path("notes.txt").write_text(note + "\n")
    return "saved"
