"""What a type of block is, and how the properties of a block are read.

A block becomes a call whose arguments are complete: whoever is asked about it sees what will run, and nothing is
rendered afterwards. Everything here but the tools' own `run` is pure: the same document, options and results make the
same calls and the same scenes.
"""

import re
from typing import Any, Final, Protocol, cast

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.core.tools import Tool
from pollux.runbooks.documents import Block, kind_of, place_of
from pollux.runbooks.documents.kinds import LONGEST_SECONDS
from pollux.runbooks.scene import Scene
from pollux.runbooks.templates import render

Args = dict[str, JSON]

VARIABLE: Final = re.compile(r"\w+")
"""What a variable may be called: letters, digits and underscores."""
LONGEST: Final = 4 << 20
"""Characters of one text of a block: a script, a prompt made from outputs, a variable."""
TEXT: Final[dict[str, JSON]] = {"type": "string", "maxLength": LONGEST}
NAME: Final[dict[str, JSON]] = {"type": "string", "maxLength": 1_000}
ENVIRONMENT: Final[dict[str, JSON]] = {"type": "object", "additionalProperties": TEXT}
TIMEOUT: Final[dict[str, JSON]] = {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 10_000_000}


@frozen
class Call:
    """A block, ready to run: which tool, with what. `sources` are the blocks whose outputs that is made of."""

    tool: str
    args: Args
    sources: frozenset[str] = frozenset()
    placed_by: frozenset[str] = frozenset()
    """The blocks whose outputs say where it works."""
    accepted: tuple[tuple[str, str], ...] | None = None
    """The programs that a person accepted for it with the document. None: nobody did."""
    made_from: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Of values that it hands on, each as `env NAME` or `var NAME`: what they were made from, as people know it."""
    places: tuple[str, ...] = ()
    """The folders that are open to others, where it starts programs."""


class BlockType(Protocol):
    """One type of block."""

    @property
    def names(self) -> tuple[str, ...]:
        """What documents call it."""
        ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What its calls may call."""
        ...

    def call(self, block: Block, scene: Scene) -> Call:
        """The block as a call. Raises ValidationError, naming the block and what is wrong with it."""
        ...

    def output(self, result: JSON) -> dict[str, JSON]:
        """What templates see as the block's output. Complete also for a block that failed and has no result."""
        ...

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        """The scene for the blocks after this one."""
        ...

    def succeeded(self, result: JSON) -> bool:
        """Whether the run may go on: a script that ended with 3 has run, and has not succeeded."""
        ...


class Quiet:
    """The better part of a type whose blocks give out nothing and cannot go wrong once they have run."""

    def output(self, result: JSON) -> dict[str, JSON]:
        return {}

    def succeeded(self, result: JSON) -> bool:
        return True


class Reading:
    """The properties of one block, rendered for one scene. Remembers which outputs the texts are made of."""

    def __init__(self, block: Block, scene: Scene) -> None:
        self.block = block
        self.scene = scene
        self._sources: frozenset[str] = frozenset()

    def text(self, name: str, default: str = "") -> str:
        """A property with its templates filled in."""
        return self.rendered(self.written(name, default))

    def value_of(self, variable: str) -> str:
        """What a variable holds. It must be there."""
        found = self.scene.variables[variable]
        self._sources |= found.sources
        return found.value

    def rendered(self, template: str) -> str:
        made = render(template, self.scene, block=self.block)
        self._sources |= made.sources
        return made.text

    def written(self, name: str, default: str = "") -> str:
        """A property as the document has it."""
        value = self.block.props.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.problem(f"{name} must be text, found {kind_of(value)}. Put it in quotes")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.block.props.get(name)
        return value if isinstance(value, bool) else default

    def number(self, name: str, *, default: int) -> int:
        value = self.block.props.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def timeout(self) -> float | None:
        """After how many seconds the block is stopped. None of its own where it says nothing."""
        value = self.block.props.get("timeoutSeconds")
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= LONGEST_SECONDS:
            raise self.problem(f"timeoutSeconds must be a number of seconds above 0, found {value!r}")
        return value

    def variable(self, name: str) -> str:
        """A property that names a variable."""
        text = self.text(name).strip()
        if not VARIABLE.fullmatch(text):
            expected = "a name of letters, digits and underscores"
            raise self.problem(
                f"{name} must be {expected}, found {text!r}" if text else f"{name} is missing: {expected}"
            )
        return text

    def environment(self) -> dict[str, JSON]:
        """What the blocks before this one have set for programs."""
        for sources in self.scene.env_sources.values():
            self._sources |= sources
        return dict(self.scene.env)

    def call(self, tool: str, /, **args: JSON) -> Call:
        """The call, with what its texts so far were made of, and who says where it works."""
        return Call(tool, args, self._sources, self.scene.directory_sources)

    @property
    def sources(self) -> frozenset[str]:
        return self._sources

    def problem(self, text: str) -> ValidationError:
        """What to raise, with where it is."""
        return ValidationError(f"{text} {place_of(self.block)}")


def schema(required: tuple[str, ...], /, **properties: JSON) -> dict[str, JSON]:
    """JSON Schema of a tool's arguments. What is not named is refused."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def members(value: object) -> dict[str, Any]:
    """What a result holds. A block that failed may have none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
