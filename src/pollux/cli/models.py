"""`pollux models`: what a provider offers, by the names that `--model` takes."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pollux.cli.parser import Parser
from pollux.cli.streams import complain

if TYPE_CHECKING:
    from pollux.config import ProviderName, Settings
    from pollux.core.errors import PolluxError
    from pollux.engine.model import ModelInfo

EXAMPLES = """\
examples:
  pollux models
  pollux models --provider anthropic
  pollux models --provider ollama --json
"""
SECONDS: Final = 15.0
SOME: "dict[ProviderName, str]" = {
    "gemini": "gemini-any",
    "anthropic": "claude-any",
    "openai": "gpt-any",
    "ollama": "ollama/any",
}
"""A model's name for each provider: it is found by such a name, and no other part of the name matters here."""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    from pollux.cli.arguments import missing_key
    from pollux.cli.masking import Mask
    from pollux.config import read_settings
    from pollux.core.errors import MissingCredential, PolluxError
    from pollux.core.profile import DEFAULT_MODEL

    # As a flag, so that `--api-key` is meant for this provider.
    named = {"model": SOME[arguments.provider]} if arguments.provider else {}
    settings = read_settings(os.environ, cwd=Path.cwd(), flags={**vars(arguments), **named})
    model = settings.model or DEFAULT_MODEL
    try:
        if missing := missing_key(model, settings):
            raise MissingCredential(missing)
        offered = _offered(settings, model)
    except MissingCredential as problem:
        return _refuse(problem)
    except PolluxError as problem:
        # A service may quote a key, and not only its own.
        masked = PolluxError(Mask(settings.secrets()).text(str(problem)), code=problem.code)
        if not arguments.json or problem.code == "usage":
            raise masked from None
        return _refuse(masked)
    entries = [_entry(info, model) for info in offered]
    sys.stdout.write(_json(entries, model) if arguments.json else _table(entries))
    if not any(entry["model"] for entry in entries):
        complain(f"none of the {len(entries)} models on offer can be named with --model")
    return 0


def _offered(settings: "Settings", model: str) -> "tuple[ModelInfo, ...]":
    import asyncio

    from pollux.bootstrap import Registry
    from pollux.core.errors import ModelError

    async def ask() -> "tuple[ModelInfo, ...]":
        registry = Registry(settings)
        try:
            async with asyncio.timeout(SECONDS):
                return await registry(model).models()
        except TimeoutError:
            raise ModelError(f"there was no list of models within {SECONDS:g} seconds", kind="timeout") from None
        finally:
            await registry.close()

    return asyncio.run(ask())


def _entry(info: "ModelInfo", model: str) -> dict[str, Any]:
    from pollux.config.models import model_named

    return {
        "name": info.name,
        "model": model_named(info.name, model),
        "title": info.title,
        "inputTokens": info.input_tokens,
        "outputTokens": info.output_tokens,
    }


def _json(entries: list[dict[str, Any]], model: str) -> str:
    import json

    from pollux.config import provider_of

    return json.dumps({"provider": provider_of(model), "models": entries}, indent=2) + "\n"


def _table(entries: list[dict[str, Any]]) -> str:
    """Those that can be asked. The others (for sounds, pictures or vectors) are in the JSON."""
    from pollux.cli.shown import shown

    rows = [(shown(entry["model"], lines=False), entry) for entry in entries if entry["model"]]
    width = max((len(name) for name, _ in rows), default=0)
    lines: list[str] = []
    for name, entry in rows:
        said = [shown(entry["title"], lines=False)] if entry["title"] else []
        said += [f"{entry['inputTokens']:,} tokens in"] if entry["inputTokens"] else []
        said += [f"{entry['outputTokens']:,} out"] if entry["outputTokens"] else []
        lines.append(f"{name:<{width}}  {', '.join(said)}".rstrip() + "\n")
    return "".join(lines)


def _refuse(problem: "PolluxError") -> int:
    """The same object as `pollux run` has for it."""
    import json

    line = {"type": "error", "error": str(problem), "code": problem.code}
    sys.stdout.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux models",
        description="List the models that a provider offers: the configured model's, or the one named.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add: Any = parser.add_argument
    add("--provider", choices=[*SOME], help="default: that of the configured model")
    add("--api-key", metavar="KEY", help="better in the environment: others can see arguments")
    add("--json", action="store_true", help="every model, as one JSON document")
    add("--store", metavar="PATH")
    add("--config", metavar="FILE")
    return parser
