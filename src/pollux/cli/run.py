"""`pollux run`: one prompt, one answer, as lines that a program can rely on.

Read, then checked, then asked: what needs no model, a usage error or a missing key, is found out before anything heavy
is imported. Standard input is read only where `-` says so.
"""

import argparse
import os
import sys
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pollux.cli.arguments import missing_key, positive, seconds, session
from pollux.cli.early import heed
from pollux.cli.outlet import Closed, Outlet, Unwritable
from pollux.cli.parser import Parser
from pollux.cli.streams import fill_gaps
from pollux.config import ConfigError, Settings, read_settings
from pollux.core.frozen import frozen

if TYPE_CHECKING:
    from pollux.cli.writers import Format

DEFAULT_TIMEOUT = 600.0
LAST_SECONDS = 2.0
"""How long a reader who does not read is waited for."""
FORMATS = ("text", "json", "stream-json", "gemini-stream-json")
EXAMPLES = """\
examples:
  pollux run "What does setup.py do?"
  git diff | pollux run - --output-format json --system-prompt "Review this diff."
  pollux run -p "Run the tests" --allow "shell:python -m pytest" --timeout 300
  pollux run "And now?" --session latest --output-format stream-json

exit codes: 0 answered, 1 error, 2 usage, 3 waiting for approval, 4 needs a person, 130/143 stopped by a signal
"""


@frozen
class Asked:
    """What the command line asked for."""

    prompt: str
    format: "Format"
    settings: Settings
    model: str
    cwd: Path
    timeout: float
    system_prompt: str = ""
    system_prompt_file: Path | None = None
    session: str | None = None
    allow: tuple[str, ...] = ()
    policy: Path | None = None
    max_turns: int | None = None
    attach: tuple[Path, ...] = ()
    debug: bool = False
    store: str | None = None
    profile: str | None = None
    unread: tuple[str, ...] = field(default=())


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    fill_gaps()
    arguments = _parser().parse_args(argv)
    cwd = Path(arguments.cwd or ".").absolute()
    if not os.path.isdir(cwd):
        raise ConfigError(f"--cwd must be a directory that exists, found {arguments.cwd!r}", code="usage")
    settings = read_settings(os.environ, cwd=cwd, flags=vars(arguments))
    model = arguments.model or _profile_model(settings, arguments.profile) or settings.model or _default_model()
    missing = missing_key(model, settings)
    try:
        if missing:
            return _refuse(missing, Outlet())
        asked = _asked(arguments, settings, model, cwd)
        # Taken before anything else is imported: also what prints then prints elsewhere.
        outlet = Outlet()
        heed(outlet.descriptor)
    except Unwritable as problem:
        print(f"pollux: standard output cannot be written ({problem})", file=sys.stderr)
        return 1
    from pollux.cli.answer import answer

    return answer(asked, outlet)


def _asked(arguments: argparse.Namespace, settings: Settings, model: str, cwd: Path) -> Asked:
    prompt = arguments.prompt_option if arguments.prompt_option is not None else arguments.prompt
    if arguments.prompt_option is not None and arguments.prompt is not None:
        raise ConfigError("give the prompt once: as an argument, or with -p", code="usage")
    if prompt is None:
        raise ConfigError('a prompt is needed: pollux run "…", or - to read it from standard input', code="usage")
    if arguments.system_prompt is not None and arguments.system_prompt_file is not None:
        raise ConfigError("give --system-prompt or --system-prompt-file, not both", code="usage")
    allow = [*arguments.allow, *(rule for each in arguments.allowed_tools for rule in each.split(",") if rule.strip())]
    return Asked(
        prompt=prompt,
        format=arguments.output_format,
        settings=settings,
        model=model,
        cwd=cwd,
        timeout=arguments.timeout,
        system_prompt=arguments.system_prompt or "",
        system_prompt_file=arguments.system_prompt_file,
        session=arguments.session,
        allow=tuple(allow),
        policy=arguments.policy,
        max_turns=arguments.max_turns,
        attach=tuple(arguments.attach),
        debug=arguments.debug,
        store=arguments.store,
        profile=arguments.profile,
    )


def _profile_model(settings: Settings, profile: str | None) -> str | None:
    if profile is None:
        return None
    from pollux.cli.profile import model_of

    return model_of(settings, profile)


def _refuse(message: str, outlet: Outlet) -> int:
    """One object, the same in every format, before anything is asked."""
    import json

    error = {"type": "error", "error": message, "code": "missing_credential"}
    line = json.dumps(error, separators=(",", ":"), ensure_ascii=False)
    try:
        outlet.write(line.encode() + b"\n")
        outlet.flush(LAST_SECONDS)
    except Closed:
        return 141
    return 1


def _default_model() -> str:
    from pollux.core.profile import DEFAULT_MODEL

    return DEFAULT_MODEL


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux run",
        description="Ask once and print the answer. Files and commands are offered as tools, rooted at --cwd.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.stray = 'Put the prompt in quotes: pollux run "…"'
    add: Any = parser.add_argument
    add("prompt", nargs="?", metavar="PROMPT", help="what to ask; - reads it from standard input")
    add("-p", "--prompt", dest="prompt_option", metavar="PROMPT", help="the same as an option")
    add("--output-format", choices=FORMATS, default="text", help="default: text")
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
    add("--allowed-tools", action="append", default=[], metavar="RULES", help="the same, separated by commas")
    add("--policy", type=Path, metavar="FILE", help="rules in TOML, ours or Gemini CLI's")
    add("--max-turns", type=positive, metavar="N", help="how often the model may be asked (default: 25)")
    add("--timeout", type=seconds, default=DEFAULT_TIMEOUT, metavar="SECONDS", help="default: %(default)g")
    add("--cwd", "--project-dir", dest="cwd", metavar="DIR")
    add("--sandbox", choices=("auto", "required", "off"), help="for commands (default: auto, where bubblewrap works)")
    add("--attach", type=Path, action="append", default=[], metavar="FILE", help="an image or file for the prompt")
    add("--debug", action="store_true", help="models and logs, on standard error")
    add("--store", metavar="PATH")
    add("--config", metavar="FILE")
    return parser
