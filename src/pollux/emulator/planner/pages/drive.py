"""What the demo model does next on a page: one round of calls, or words about what was done."""

from pollux.emulator.model import Ask, Call, Tool
from pollux.emulator.planner.pages import outline, wishes
from pollux.emulator.planner.pages.scene import GENERIC, scene_of
from pollux.emulator.planner.pages.steps import step

MOST_ROUNDS = 7
"""An agent for pages is asked so often; the last answer should be words."""


def drive(ask: Ask, tools: tuple[Tool, ...]) -> tuple[Call, ...] | str | None:
    """Calls to make or words to say; None where the prompt wants nothing of a page, or there is none."""
    asked = wishes.read(ask.prompt)
    scene = scene_of(ask, tools, stops=asked.stops)
    if scene is None:
        return None
    told: list[str] = []
    for wish in asked.every:
        now = step(wish, scene)
        if now is None:
            # What may be no request at all, a sentence before one, is passed over.
            told += [f"I do not know how to “{wish.text}” here."] if len(asked.every) > 1 and not wish.is_guess else []
        elif isinstance(now, str):
            told.append(now)
        elif len(ask.rounds) >= MOST_ROUNDS:
            return " ".join([*told, "That took too many steps; ask me to go on."])
        else:
            return now
    return " ".join(told) or None


def is_shown(ask: Ask) -> bool:
    """Whether there is a page to look at."""
    return outline.read(ask.system) is not None


def beside(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The tools that make sense without a look at the page."""
    return tuple(tool for tool in tools if tool.name not in GENERIC)
