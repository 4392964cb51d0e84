"""What `pollux chat` was asked for: its arguments, read and checked before anything heavy is imported."""

import argparse
import os
from pathlib import Path
from typing import Any

from pollux.cli.arguments import missing_key, seconds, session
from pollux.cli.parser import Parser
from pollux.cli.profile import model_of
from pollux.cli.reading import must_be_text, read_text_soon
from pollux.config import ConfigError, Settings, read_settings
from pollux.core.frozen import frozen
from pollux.core.profile import DEFAULT_MODEL

EXAMPLES = """\
examples:
  pollux chat
  pollux chat --session latest
  pollux chat --model claude-sonnet-5 --allow "shell:git status"
  printf 'What is in README.md?\\n' | pollux chat

Ctrl-C stops an answer, Ctrl-D leaves, Alt-Enter begins a line, /help says more.

exit codes: 0 left, 1 error, 2 usage, 3 waiting for approval (without a terminal), 130 left by Ctrl-C, 143 stopped by
a signal
"""


@frozen(kw_only=True)
class Asked:
    """What the command line asked for."""

    settings: Settings
    model: str
    cwd: Path
    system_prompt: str = ""
    session: str | None = None
    allow: tuple[str, ...] = ()
    policy: Path | None = None
    system_prompt_file: Path | None = None
    timeout: float | None = None
    debug: bool = False
    profile: str | None = None


def asked_by(argv: list[str]) -> Asked:
    """Raises ConfigError for what cannot be used, MissingCredential where there is no key."""
    arguments = _parser().parse_args(argv)
    cwd = Path(arguments.cwd or ".").absolute()
    if not os.path.isdir(cwd):  # Which takes a name that no folder can have for none.
        raise ConfigError(f"--cwd must be a directory that exists, found {arguments.cwd!r}", code="usage")
    settings = read_settings(os.environ, cwd=cwd, flags=vars(arguments))
    asked = Asked(
        settings=settings,
        model=arguments.model or model_of(settings, arguments.profile) or settings.model or DEFAULT_MODEL,
        cwd=cwd,
        system_prompt=_system_prompt(arguments),
        session=arguments.session,
        allow=tuple(arguments.allow),
        policy=arguments.policy,
        system_prompt_file=arguments.system_prompt_file,
        timeout=arguments.timeout,
        debug=arguments.debug,
        profile=arguments.profile,
    )
    need_key(asked.model, settings)
    return asked


def need_key(model: str, settings: Settings) -> None:
    """Raises MissingCredential where the model's key is not set, ConfigError for a name that is no model's."""
    from pollux.core.errors import MissingCredential

    if missing := missing_key(model, settings):
        raise MissingCredential(missing)


def _system_prompt(arguments: argparse.Namespace) -> str:
    if arguments.system_prompt_file is None:
        return must_be_text(arguments.system_prompt or "", "--system-prompt")
    if arguments.system_prompt is not None:
        raise ConfigError("give --system-prompt or --system-prompt-file, not both", code="usage")
    return read_text_soon(arguments.system_prompt_file, "--system-prompt-file")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux chat",
        description="Talk with a model. Files and commands are offered as tools, rooted at --cwd; what changes"
        " anything asks you first.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add: Any = parser.add_argument
    add("--model", "--model-name", dest="model", metavar="NAME")
    add(
        "--profile",
        metavar="NAME",
        help="a profile of the configuration: its instructions, model, tools, rules, limits",
    )
    add("--system-prompt", metavar="TEXT")
    add("--system-prompt-file", type=Path, metavar="FILE")
    add("--session", type=session, metavar="ID|latest", help="go on with a session")
    add("--api-key", dest="api_key", metavar="KEY", help="better in the environment: others can see arguments")
    add("--allow", action="append", default=[], metavar="RULE", help="tool, tool:subject, or shell:command prefix")
    add("--policy", type=Path, metavar="FILE", help="rules in TOML, ours or Gemini CLI's")
    add("--timeout", type=seconds, metavar="SECONDS", help="for each answer (default: none; 600 without a terminal)")
    add("--cwd", "--project-dir", dest="cwd", metavar="DIR")
    add("--sandbox", choices=("auto", "required", "off"), help="for commands (default: auto, where bubblewrap works)")
    add("--debug", action="store_true", help="logs, on standard error")
    add("--store", metavar="PATH")
    add("--config", metavar="FILE")
    return parser
