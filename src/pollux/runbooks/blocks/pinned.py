"""What a call starts, pinned: worked out when it is decided about, compared with what a person accepted, and again
before it runs."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, cast

from pollux.core.errors import ToolError
from pollux.core.messages import JSON, CallFacts
from pollux.runbooks.blocks.block_type import TEXT, Args, Call
from pollux.runbooks.blocks.started import SYSTEM, shown, started, unaccepted
from pollux.runbooks.located import NOT_FOUND, UNACCEPTED, Programs, accepted_of, differences, program_subjects
from pollux.runbooks.scene import Scene

FORMERLY: Final = ("accepted", "unaccepted", "is_unaccepted")
"""Arguments that runs of older versions have. Nothing reads them: what was accepted is a fact of the call."""
PROGRAMS: Final[JSON] = {"type": "array", "items": {"type": "array", "items": TEXT}}
PINNED: Final[dict[str, JSON]] = {
    "programs": PROGRAMS,
    **{name: {"description": "Of older versions. Not read."} for name in FORMERLY},
}
"""What a tool that runs code finds out, and what older versions gave it besides."""


def with_pins(call: Call, scene: Scene) -> Call:
    """The call, with the programs that a person accepted for scripts, and the folders that are open to others."""
    # Whoever accepted it before programs were pinned has seen none: only the system's count as accepted.
    accepted = None if scene.programs is None else scene.scripts or ()
    return replace(call, accepted=accepted, places=scene.places)


def pinned(interpreter: str, facts: CallFacts, args: Args) -> Args:
    """The arguments with what would start: worked out here, whatever they say of it."""
    given = {name: value for name, value in args.items() if name not in FORMERLY}
    return {**given, "programs": pairs(_started(interpreter, facts, args))}


def unaccepted_in(facts: CallFacts, args: Args) -> list[str]:
    """What of the call is not as a person accepted it with the document."""
    accepted = accepted_of(facts)
    return [] if accepted is None else unaccepted(_pairs(args.get("programs")), accepted)


def unaccepted_facts(facts: CallFacts, args: Args) -> frozenset[str]:
    return frozenset(f"{UNACCEPTED}{each}" for each in unaccepted_in(facts, args))


def subjects_of_programs(args: Args) -> frozenset[str]:
    return program_subjects(each for each in _pairs(args.get("programs")) if each[1] not in (SYSTEM, NOT_FOUND))


def program_lines(careful: Iterable[str], args: Args) -> str:
    """What a person should see beside the code: what would start that is not the system's, and what is not accepted."""
    lines = [f"{word} is {file}" for word, file in shown(_pairs(args.get("programs")))]
    return "".join(f"\n{line}" for line in (*lines, *(f"careful: {each}" for each in careful)))


def check_same(interpreter: str, facts: CallFacts, args: Args) -> None:
    """Raises ToolError where another program would start than the one that was decided about."""
    require_same(_started(interpreter, facts, args), args)


def require_same(found: Programs, args: Args) -> None:
    """The same, of what would start now."""
    if "programs" not in args:
        # Decided about by a version that did not look.
        return
    if changed := differences(found, _pairs(args.get("programs"))):
        raise ToolError(f"nothing was run, because a program changed after the decision: {'; '.join(changed)}")


def _started(interpreter: str, facts: CallFacts, args: Args) -> Programs:
    directory, env = str(args["directory"]), cast("dict[str, str]", args["env"])
    places = (*facts.places, directory)
    return started(interpreter, str(args["code"]), env=env, directory=directory, places=places)


def pairs(programs: Programs) -> JSON:
    return [[word, file] for word, file in programs]


def _pairs(given: JSON) -> Programs:
    return tuple((str(word), str(file)) for word, file in cast("list[list[str]]", given or []))
