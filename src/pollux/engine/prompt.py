"""What the model is sent: instructions, the thread as it stands, the tools it may know of, what is left to spend."""

from collections.abc import Awaitable, Callable, Sequence

from pollux.core.messages import Message
from pollux.core.policy import Rule, hides
from pollux.core.profile import Profile
from pollux.core.run import Compressed, Run
from pollux.core.tools import ToolSpec
from pollux.engine.model import ModelRequest, Turns
from pollux.engine.ports import Store
from pollux.engine.toolbox import Toolbox

Instruct = Callable[[Run, Profile], Awaitable[str]]
"""Makes the instructions. Asked before every model call, since what they depend on may have changed."""

MIN_OUTPUT = 16


async def fixed_instructions(run: Run, profile: Profile) -> str:
    """The profile's own text."""
    return profile.instructions


def offered_tools(run: Run, profile: Profile, toolbox: Toolbox, rules: Sequence[Rule]) -> tuple[ToolSpec, ...]:
    """The tools that the model hears of: the profile's, without those that are denied outright."""
    return tuple(
        toolbox[name].spec
        for name in profile.tools
        if name in toolbox and not hides(rules, tool=name, door=run.door, profile=run.profile, user=run.user)
    )


async def load_turns(run: Run, store: Store) -> Turns:
    """The thread up to the run's own beginning, older parts by their summary, then the run's messages."""
    base = run.compressed.upto if run.compressed else 0
    history: list[Message] = []
    if run.head > base:
        history = list(await store.messages(run.thread_id, base))[: run.head - base]
    own = run.messages[max(0, base - run.head) :]
    return Turns([*summary_of(run.compressed), *history, *own])


def summary_of(compressed: Compressed | None) -> tuple[Message, ...]:
    """The message that stands for the older part."""
    return (compressed.summary,) if compressed else ()


def request_for(
    run: Run, profile: Profile, *, system: str, turns: Turns, tools: tuple[ToolSpec, ...], stream: bool
) -> ModelRequest:
    """One call. What it may put out is capped by what is left of the budget."""
    return ModelRequest(
        model=run.model,
        turns=turns,
        system=system,
        tools=tools,
        output_schema=profile.output_schema,
        thinking=profile.thinking,
        max_output_tokens=_cap(run, profile),
        extra=profile.extra,
        stream=stream,
    )


def _cap(run: Run, profile: Profile) -> int | None:
    if run.limits.tokens is None:
        return profile.max_output_tokens
    left = max(MIN_OUTPUT, run.limits.tokens - run.usage.total)
    return left if profile.max_output_tokens is None else min(left, profile.max_output_tokens)
