"""`pollux setup`: put a template for a provider's key in place, and say whether there is a key yet.

Gemini's is `config/.gemini.yaml`, the others' is `.env`. What is there is never overwritten. In a git repository the
file is added to `.gitignore`. The status is one of three words: needs-config, configured, error.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Final, Literal

from pollux.cli.parser import Parser
from pollux.core.frozen import frozen

EXAMPLES = """\
examples:
  pollux setup
  pollux setup anthropic
  pollux setup gemini-agent --json

exit codes: 0 needs-config or configured, 1 error, 2 usage
"""
TEMPLATE: Final = """\
# Gemini for this folder. The environment (GEMINI_API_KEY) and .env come before this file.
# It holds a key: keep it out of version control.
apiKey: '<your-gemini-api-key>'

# Which model answers.
# model: {model}

# Put before the instructions of every agent here.
# systemPrompt: 'You are a helpful assistant.'
"""

PROVIDERS: Final = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""Those whose key lies in `.env`, and its name there."""
ENV_TEMPLATE: Final = """\
# The key for {provider} models. The environment comes before this file.
# It holds a key: keep it out of version control.
{key}=<your-{provider}-api-key>
"""


@frozen
class Outcome:
    """How things stand after setting up, and what to do next."""

    status: Literal["needs-config", "configured", "error"]
    message: str
    file: Path | None = None
    created: bool = False


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    plugin = arguments.plugin
    outcome = set_up(Path.cwd(), flags=vars(arguments), provider="gemini" if plugin == "gemini-agent" else plugin)
    if arguments.json:
        import json

        told = {
            "plugin": arguments.plugin,
            "status": outcome.status,
            "message": outcome.message,
            "file": str(outcome.file) if outcome.file else None,
            "created": outcome.created,
        }
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
    else:
        from pollux.cli.shown import shown

        sys.stdout.write(f"{outcome.status}: {shown(outcome.message, lines=False)}\n")
    return 1 if outcome.status == "error" else 0


def set_up(cwd: Path, *, flags: dict[str, Any], provider: str = "gemini") -> Outcome:
    """Make the file where it is not there, and look whether a key can be found."""
    from pollux.config import ConfigError, read_settings
    from pollux.core.profile import DEFAULT_MODEL

    if provider == "ollama":
        return Outcome("configured", "Ollama needs no key. Set OLLAMA_HOST if it is on another machine")
    name = PROVIDERS.get(provider, "GEMINI_API_KEY")
    try:
        workspace = read_settings(os.environ, cwd=cwd, flags=flags).workspace
        if provider == "gemini":
            file, template = workspace / "config" / ".gemini.yaml", TEMPLATE.format(model=DEFAULT_MODEL)
        else:
            file, template = cwd / ".env", ENV_TEMPLATE.format(provider=provider, key=name)
        created = _create(file, template)
        if created:
            _ignore(file, workspace if provider == "gemini" else cwd)
        settings = read_settings(os.environ, cwd=cwd, flags=flags)
    except ConfigError as problem:
        return Outcome("error", str(problem))
    except OSError as problem:
        return Outcome("error", f"{problem.filename} cannot be written ({problem.strerror}). Check the folder's rights")
    made = f"{file} was made" if created else f"{file} is there"
    if getattr(settings, name.lower()) is None:
        spelled = "`apiKey` (or `api_key`)" if provider == "gemini" else f"`{name}`"
        return Outcome("needs-config", f"{made}. Put your key in it as {spelled}, or set {name}", file, created)
    if file.is_file() and file.stat().st_mode & 0o077:
        return Outcome("configured", f"{made}, but others may read it: chmod 600 {file}", file, created)
    return Outcome("configured", f"{made}, and there is a key. `pollux doctor` tries it", file, created)


def _ignore(file: Path, folder: Path) -> None:
    """Add the file to the folder's .gitignore, in a git repository. Raises OSError."""
    if not any((above / ".git").exists() for above in (folder, *folder.parents)):
        return
    ignore, line = folder / ".gitignore", f"/{file.relative_to(folder)}"
    if ignore.is_symlink():
        # It may lead anywhere.
        return
    before = ignore.read_text(encoding="utf-8", errors="surrogateescape") if ignore.is_file() else ""
    if line not in before.splitlines():
        gap = "" if not before or before.endswith("\n") else "\n"
        with ignore.open("a", encoding="utf-8", errors="surrogateescape") as opened:
            opened.write(f"{gap}{line}\n")


def _create(file: Path, template: str) -> bool:
    """Whether it had to be made. Raises OSError, or ConfigError where something else is in its place."""
    from pollux.config import ConfigError

    if file.is_dir():
        raise ConfigError(f"{file} is a folder, but a file is expected there. Move it away")
    if file.exists():
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        # For its owner alone from the first moment, and never in the place of what came there meanwhile.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(template)
    except OSError as problem:
        file.unlink(missing_ok=True)
        problem.filename = str(file)
        raise
    return True


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux setup",
        description="Make the file for a provider's key from a template, and say whether the key is still missing.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add: Any = parser.add_argument
    choices = ["gemini-agent", "gemini", *PROVIDERS, "ollama"]
    add("plugin", nargs="?", choices=choices, default="gemini-agent", help="default: gemini-agent, which is gemini")
    add("--json", action="store_true", help="the same as one JSON document")
    add("--store", metavar="PATH")
    add("--config", metavar="FILE")
    return parser
