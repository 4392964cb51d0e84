"""The agents that Pollux knows, and what they may be given without a question: all else may change what they ask.

A list of what is dangerous is never complete, so for these programs it is the other way round: an option, a word or a
variable that is not listed as harmless is asked about. Of a program that is not known here, the person who accepted the
document has seen the whole command.
"""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Final

from pollux.core.frozen import frozen
from pollux.runbooks.trust import package_name


@frozen
class Known:
    """What one agent may be given."""

    options: frozenset[str] = frozenset()
    """Options that stand alone."""
    valued: frozenset[str] = frozenset()
    """Options with a value, of which each is harmless."""
    words: frozenset[str] = frozenset()
    env: frozenset[str] = frozenset()
    settings: frozenset[str] = frozenset()
    """What `-c NAME=VALUE` may set."""


def _known(options: str = "", *, valued: str = "", words: str = "", env: str = "", settings: str = "") -> Known:
    return Known(*(frozenset(each.split()) for each in (options, valued, words, env, settings)))


COMMON_ENV: Final = frozenset("NO_COLOR FORCE_COLOR TERM COLORTERM LANG LANGUAGE TZ NO_BROWSER".split())
_GEMINI: Final = _known(
    "--acp --experimental-acp --screen-reader",
    valued="--model -m",
    env="GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_LOCATION GEMINI_MODEL",
)
_CLAUDE: Final = _known(env="ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN ANTHROPIC_MODEL")
_CODEX: Final = _known(valued="--model -m", env="OPENAI_API_KEY CODEX_API_KEY", settings="model model_reasoning_effort")
_OPENCODE: Final = _known(valued="--model -m", words="acp", env="ANTHROPIC_API_KEY OPENAI_API_KEY OPENROUTER_API_KEY")
_QWEN: Final = _known("--acp --experimental-acp", valued="--model -m", env="OPENAI_API_KEY DASHSCOPE_API_KEY")
_PLAIN: Final = _known("--acp", valued="--model", words="acp")
AGENTS: Final[Mapping[str, Known]] = {
    **dict.fromkeys(("gemini", "@google/gemini-cli", "gemini-cli"), _GEMINI),
    **dict.fromkeys(("claude", "claude-agent-acp", "claude-code-acp", "@anthropic-ai/claude-code"), _CLAUDE),
    **dict.fromkeys(("@zed-industries/claude-agent-acp", "@zed-industries/claude-code-acp"), _CLAUDE),
    "@agentclientprotocol/claude-agent-acp": _CLAUDE,
    **dict.fromkeys(("codex", "codex-acp", "@openai/codex", "@zed-industries/codex-acp"), _CODEX),
    **dict.fromkeys(("opencode", "opencode-ai"), _OPENCODE),
    **dict.fromkeys(("qwen", "qwen-code", "@qwen-code/qwen-code"), _QWEN),
    **dict.fromkeys(("copilot", "@github/copilot", "cursor-agent", "goose", "aider", "aider-chat"), _PLAIN),
    **dict.fromkeys(("crush", "@charmland/crush", "auggie", "@augmentcode/auggie"), _PLAIN),
}
"""By the name of their program or of their package."""
RUNNERS: Final = {
    "npx": (),
    "bunx": (),
    "uvx": (),
    "npm": ("exec", "x"),
    "pnpm": ("dlx", "exec"),
    "yarn": ("dlx",),
    "bun": ("x",),
    "pipx": ("run",),
    "uv": ("tool", "run"),
    "deno": ("run",),
}
"""What fetches a package and starts it, with the words that come before the package."""


def unknown_settings(argv: Sequence[str], env: Mapping[str, str], *, own: int = 0) -> list[str]:
    """What a known agent would be started with that is not known to be harmless, each in words for people.

    The first `own` words are the person's own configuration and not the document's.
    """
    if not argv:
        return []
    program = os.path.basename(argv[0])
    start = _package_of(argv) if program in RUNNERS else 0
    name = program if start == 0 else package_name(argv[start])
    known = AGENTS.get(name)
    if known is None:
        # Started by another program, it gets what that one gives it.
        words = {word for arg in argv for word in re.split(r"[\s;&|()`$\"']+", arg)}
        inside = {name for word in words for name in (package_name(word), os.path.basename(word))} & AGENTS.keys()
        return [f"{each} within another command" for each in sorted(inside)] if own < len(argv) else []
    found = [word for word in argv[max(own, 1) : start] if word not in ("-y", "--yes", "--", *RUNNERS[program])]
    found += _unlisted(argv, max(own, start + 1), known)
    names = (each for each in env if each not in COMMON_ENV | known.env and not each.startswith("LC_"))
    return [*found, *(f"{each} in its environment" for each in names)]


def _package_of(argv: Sequence[str]) -> int:
    """Where the package stands; 0 where there is none."""
    lead = RUNNERS[os.path.basename(argv[0])]
    indexes = (index for index, word in enumerate(argv) if index and not word.startswith("-") and word not in lead)
    return next(indexes, 0)


def _unlisted(argv: Sequence[str], first: int, known: Known) -> list[str]:
    found: list[str] = []
    index = first
    while index < len(argv):
        word = argv[index]
        name, equals, _ = word.partition("=")
        following = argv[index + 1] if index + 1 < len(argv) else ""
        index += 1
        if word in known.options or word in known.words or (equals and name in known.valued):
            continue
        # What follows an option is its value only where it is no option itself: programs read `--model --yolo` so.
        has_value = word in known.valued and following and not following.startswith("-")
        if has_value or (word in ("-c", "--config") and following.partition("=")[0] in known.settings):
            index += 1
        else:
            found.append(word)
    return found
