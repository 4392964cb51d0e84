"""What an agent reads before everything else: who it is, and the policy on its tools in words.

For profiles with `persona`. The words only help the model to plan: what may run is decided by the gate alone.
"""

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from pollux.core.errors import AuthError
from pollux.core.ids import UserId
from pollux.core.policy import Facts, Mode, PolicyRequest, Rule, decide
from pollux.core.run import Run
from pollux.core.tools import Personal, ToolSpec

PERSONA: Final = (
    "You are a careful assistant that acts for the user with tools. Answer in the user's language. Use a tool when it"
    " helps, and say plainly what was done and what was not. Never claim an action that no tool result confirms."
)
ASKED: Final = (
    "A person approves or rejects each call of {} before it runs, unless they have already allowed it. Make the call"
    " with its final arguments instead of asking for permission in words."
)
REFUSED: Final = (
    "A call that is rejected or denied does not run: say so, and do not try to reach the same result another way."
)
UNCONNECTED: Final = (
    "These tools are not available to the user yet. If the user asks for what one of them does, answer with its line,"
    " and do not claim that anything was done:"
)
MOST: Final = 256
"""So many introductions are remembered."""


class Introductions:
    """The introductions of one engine, each made once: its rules and tools do not change while it lives."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], str] = {}

    def before(self, instructions: str, *, run: Run, tools: Sequence[ToolSpec], rules: Sequence[Rule]) -> str:
        """The instructions, with the persona where they are empty, and the policy on these tools."""
        key = (run.profile, run.door, run.user, run.rules, run.interactive, tuple(tool.name for tool in tools))
        policy = self._known.get(key)
        if policy is None:
            if len(self._known) >= MOST:
                self._known.clear()
            policy = self._known[key] = _policy(run, tools, rules)
        return "\n\n".join(filter(None, (instructions or PERSONA, policy)))


async def of_accounts(tools: Mapping[str, Personal], hidden: Collection[str], user: UserId) -> str:
    """What to tell a user who asks for tools of an account that is not connected, and where to connect it."""
    lines: list[str] = []
    for name in sorted(name for name in hidden if name in tools):
        try:
            await tools[name].admit(user)
        except AuthError as problem:
            said = str(problem)
            where = f" in the console, or at {problem.connect_url}" if problem.connect_url else ""
            lines.append(f"- {name}: {said[:1].upper()}{said[1:]}{where}. Then ask again.")
    return "\n".join(["\n", UNCONNECTED, *lines]) if lines else ""


def _policy(run: Run, tools: Sequence[ToolSpec], rules: Sequence[Rule]) -> str:
    modes = {tool.name: _mode(run, tool, rules) for tool in tools}
    asked = [name for name, mode in modes.items() if mode == "require_approval"]
    denied = [name for name, mode in modes.items() if mode == "deny"]
    at_times = [
        name
        for name, mode in modes.items()
        if mode != "deny" and any(rule.decision == "deny" and fnmatchcase(name, rule.tool) for rule in rules)
    ]
    lines: list[str] = []
    if asked:
        lines.append(ASKED.format(", ".join(asked)))
    if denied:
        lines.append(f"Denied by policy: {', '.join(denied)}.")
    if at_times:
        lines.append(f"Some calls are denied by policy, depending on their arguments: {', '.join(at_times)}.")
    return "\n".join([*lines, REFUSED]) if tools else ""


def _mode(run: Run, tool: ToolSpec, rules: Sequence[Rule]) -> Mode:
    """What the policy says of a call of which nothing is known yet."""
    facts = Facts(user=run.user, interface=run.door, profile=run.profile, interactive=run.interactive)
    known = [rule for rule in rules if not (rule.args or rule.where or rule.subjects)]
    return decide(PolicyRequest(tool, {}, facts), known, ()).mode
