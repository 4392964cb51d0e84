"""`dropdown`: one of several values, chosen by whoever runs the document, or chosen before and kept in it."""

import re
from typing import Final

from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.runbooks.blocks.block_type import NAME, TEXT, Call, Quiet, Reading
from pollux.runbooks.blocks.remembered import remembered, remembering
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene

KINDS: Final = {"fixed": "fixedOptions", "variable": "variableOptions", "command": "commandOptions"}
SHOWN: Final = 20


@frozen
class Option:
    """What is shown, and what is meant by it."""

    label: str
    value: str


class Dropdown(Quiet):
    """The type of `dropdown` blocks."""

    names = ("dropdown",)

    def __init__(self) -> None:
        tool = remembering("runbook_dropdown", "Choose a value for", ("name", "value"), name=NAME, value=TEXT)
        self.tools = (tool,)

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        name = reading.variable("name")
        given = scene.variables.get(name)
        # What a block before this one has put out under the same name is nobody's choice.
        value = given.value if given is not None and not given.sources else reading.text("value")
        known = options_of(reading)
        if not value:
            raise reading.problem(
                f"nothing is chosen for {name}. Choose: --var {name}=VALUE, where VALUE is {_told(reading, known)}"
            )
        if known is not None and value not in [option.value for option in known]:
            raise reading.problem(
                f"{value!r} is no choice for {name}. Choose: --var {name}=VALUE, where VALUE is {_told(reading, known)}"
            )
        return reading.call("runbook_dropdown", name=name, value=value)

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        found = remembered(scene, block, result, "name", "value")
        return scene.with_variable(*found) if found else scene


def options_of(reading: Reading) -> tuple[Option, ...] | None:
    """What can be chosen. None if only a command would tell: nothing is run to find out."""
    kind, source = _source(reading)
    if kind == "command":
        return None
    text = source
    if kind == "variable":
        variable = reading.scene.variables.get(source.strip())
        text = "" if variable is None else variable.value
    delimiter = reading.written("delimiter") or ":"
    parts = (part.strip() for part in re.split(r",\s*|\r?\n", text))
    return tuple(_option(part, delimiter) for part in parts if part)


def _source(reading: Reading) -> tuple[str, str]:
    kind = reading.written("optionsType", "fixed") or "fixed"
    if kind not in KINDS:
        raise reading.problem(f"optionsType must be one of {', '.join(KINDS)}, found {kind!r}")
    # Older documents have all of them in one place.
    is_old = not any(reading.written(name) for name in KINDS.values())
    return kind, reading.written("options" if is_old else KINDS[kind])


def _option(part: str, delimiter: str) -> Option:
    label, found, value = part.partition(delimiter)
    return Option(label, value) if found else Option(part, part)


def _told(reading: Reading, known: tuple[Option, ...] | None) -> str:
    if known is None:
        return f"one of those that this command lists: {_source(reading)[1].strip()}"
    if not known:
        return "one of its options; there are none yet"
    shown = ", ".join(option.value for option in known[:SHOWN])
    return f"one of {shown}" + (f" and {len(known) - SHOWN} more" if len(known) > SHOWN else "")
