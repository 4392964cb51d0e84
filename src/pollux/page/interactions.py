"""What can be done on the page, in a line for each control. The chat's own controls are not among them."""

from collections.abc import Mapping
from typing import Final, cast

from pollux.core.messages import JSON
from pollux.page.private import visible
from pollux.page.state import note, text_of

MOST: Final = 60
MOST_COORDINATES: Final = 5
LONGEST: Final = 200
LARGEST: Final = 8_000
"""Bytes of the whole summary."""


def summary(state: JSON) -> str:
    """The interactions of a page's state, each as one line of JSON; empty where there are none."""
    return summary_of(visible(state))


def summary_of(seen: JSON) -> str:
    """The same, of what is visible."""
    found = _list(cast("Mapping[str, JSON]", seen).get("interactions")) if isinstance(seen, dict) else []
    lines: list[str] = []
    size = 0
    for number, interaction in enumerate(found[:MOST]):
        line = _line(number, _object(interaction))
        size += len(line.encode()) + 1
        if size > LARGEST:
            break
        lines.append(line)
    if more := len(found) - len(lines):
        lines.append(text_of(note(more, "interactions", "/interactions", len(lines))))
    return "\n".join(lines)


def _line(number: int, interaction: Mapping[str, JSON]) -> str:
    ref, description = interaction.get("refName"), interaction.get("description")
    line: dict[str, JSON] = {"ref": str(ref)[:LONGEST]}
    if isinstance(description, str) and description:
        line["description"] = description[:LONGEST]
    items = [_object(item) for item in _list(interaction.get("items"))]
    if events := sorted({str(event)[:40] for item in items for event in _list(item.get("events"))}):
        line["events"] = events[:10]
    coordinates = [_coordinate(item.get("coordinate")) for item in items[:MOST_COORDINATES]]
    # One that is the name itself tells nothing new.
    if coordinates and coordinates != [[ref]]:
        line["coordinates"] = coordinates
        if more := len(items) - len(coordinates):
            coordinates.append(note(more, "items", f"/interactions/{number}/items", len(coordinates)))
    return text_of(line, indent=None)


def _coordinate(value: JSON) -> JSON:
    return [str(step)[:LONGEST] for step in _list(value)[:8]] if isinstance(value, list) else str(value)[:LONGEST]


def _list(value: JSON) -> list[JSON]:
    return cast("list[JSON]", value) if isinstance(value, list) else []


def _object(value: JSON) -> dict[str, JSON]:
    return cast("dict[str, JSON]", value) if isinstance(value, dict) else {}
