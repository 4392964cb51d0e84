"""`pollux doctor`: what is there, what is missing, and what to do about it.

With `--stream` it looks at a captured output of `pollux run` instead, and says which promise that does not keep.
"""

import argparse
import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pollux.cli.parser import Parser
from pollux.cli.streams import complain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pollux.cli.doctor.checks import Check
    from pollux.cli.doctor.stream import Format, Violation
    from pollux.cli.masking import Mask
    from pollux.config import Settings

EXAMPLES = """\
examples:
  pollux doctor
  pollux doctor --json --offline
  pollux doctor --model claude-opus-5
  pollux run "Hello" --output-format stream-json | pollux doctor --stream -
  pollux doctor --stream captured.jsonl --format gemini-stream-json

exit codes: 0 nothing is wrong (there may be warnings), 1 something is, 2 usage
"""
FORMATS: "dict[str, Format]" = {
    "stream-json": "stream-json",
    "gemini-stream-json": "gemini-stream-json",
    "gemini": "gemini-stream-json",
    "json": "json",
    "text": "text",
}
LONGEST_LINE = 1 << 28


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.stream is not None:
        return _check_stream(arguments.stream, FORMATS[arguments.format], as_json=arguments.json)
    checks = _checks(arguments)
    if arguments.json:
        _print_json({"ok": _is_well(checks), "version": _version(), "checks": [_as_json(check) for check in checks]})
    else:
        sys.stdout.write("".join(_lines(checks)))
    return 0 if _is_well(checks) else 1


def _checks(arguments: argparse.Namespace) -> "list[Check]":
    import asyncio
    import logging

    from pollux.cli.doctor import checks
    from pollux.cli.masking import Mask
    from pollux.config import ConfigError, read_settings

    # What goes wrong is one of the checks; the log would only say it twice.
    logging.getLogger("pollux").addHandler(logging.NullHandler())
    found = [*checks.alone()]
    try:
        # Who else can change the files is a check of its own, so that all of them are listed.
        settings = read_settings(os.environ, cwd=Path.cwd(), flags=vars(arguments), require_private=False)
    except ConfigError as problem:
        # Nothing that depends on it can be known. The rest is worth knowing all the same.
        return [
            *found,
            asyncio.run(checks.sandbox()),
            checks.Check("config", "error", str(problem), "Correct it and look again"),
        ]
    found.append(asyncio.run(checks.sandbox(settings.sandbox)))
    found += asyncio.run(_with_settings(settings, offline=arguments.offline))
    mask = Mask(settings.secrets())
    return [_masked(check, mask) for check in found]


async def _with_settings(settings: "Settings", *, offline: bool) -> "list[Check]":
    from pollux.cli.doctor import checks
    from pollux.cli.doctor.postgres import postgres
    from pollux.cli.doctor.service import service
    from pollux.config import model_ref
    from pollux.core.profile import DEFAULT_MODEL

    model = settings.model or DEFAULT_MODEL
    ref, path = model_ref(model), settings.store
    return [
        checks.config(settings),
        checks.access(settings, path),
        checks.key(settings, ref),
        *checks.tools(settings),
        *([] if offline else await service(settings, model, ref)),
        *await (checks.store(settings, path) if isinstance(path, Path) else postgres(settings)),
    ]


def _masked(check: "Check", mask: "Mask") -> "Check":
    from dataclasses import replace

    details = tuple(mask.text(detail) for detail in check.details)
    return replace(check, message=mask.text(check.message), advice=mask.text(check.advice), details=details)


def _is_well(checks: "list[Check]") -> bool:
    return all(check.status != "error" for check in checks)


def _lines(checks: "list[Check]") -> "Iterator[str]":
    from pollux.cli.shown import shown

    width = max(len(check.name) for check in checks)
    indent = " " * (len("warning") + width + 4)
    for check in checks:
        yield f"{check.status:<7}  {check.name:<{width}}  {shown(check.message, lines=False)}\n"
        yield from (f"{indent}- {shown(detail, lines=False)}\n" for detail in check.details)
        if check.advice:
            yield f"{indent}{shown(check.advice, lines=False)}\n"


def _as_json(check: "Check") -> dict[str, Any]:
    return {
        "name": check.name,
        "status": check.status,
        "message": check.message,
        "advice": check.advice,
        "details": list(check.details),
    }


# A captured output


def _check_stream(name: str, format_: "Format", *, as_json: bool) -> int:
    from pollux.cli.doctor.stream import MOST, check

    try:
        if name == "-" and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        with open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
            count, violations = check(_lines_of(file), format_)
    except OSError as problem:
        from pollux.core.errors import ValidationError

        what = "standard input" if name == "-" else name
        raise ValidationError(f"--stream {what} cannot be read ({problem.strerror})", code="usage") from problem
    if as_json:
        _print_json({"ok": not violations, "format": format_, "lines": count, "violations": [*map(_told, violations)]})
    elif violations:
        from pollux.cli.shown import shown

        sys.stdout.write("".join(f"{v.invariant}  line {v.line}: {shown(v.why, lines=False)}\n" for v in violations))
    else:
        sys.stdout.write(f"ok: {count} {'line keeps' if count == 1 else 'lines keep'} V1 to V5\n")
    if len(violations) >= MOST:
        complain(f"it was read no further than line {count}: nearly everything is wrong. Is it the right file?")
    return 1 if violations else 0


def _lines_of(file: BinaryIO) -> "Iterator[bytes]":
    # A bound, so that a file without any line ends does not take all the memory.
    while line := file.readline(LONGEST_LINE):
        yield line


def _told(violation: "Violation") -> dict[str, Any]:
    return {"invariant": violation.invariant, "line": violation.line, "why": violation.why}


def _print_json(document: dict[str, Any]) -> None:
    import json

    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _version() -> str:
    from pollux._version import __version__

    return __version__


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux doctor",
        description="Look at the installation and say what to do, or check a captured output of pollux run.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add: Any = parser.add_argument
    add("--json", action="store_true", help="the same as one JSON document")
    add("--offline", action="store_true", help="ask no model's service")
    add("--model", metavar="NAME", help="the model to look for; the configured one if not given")
    add("--api-key", metavar="KEY", help="better in the environment: others can see arguments")
    add("--stream", metavar="FILE|-", help="check this captured output instead")
    add("--format", choices=[*FORMATS], default="stream-json", help="its format (default: stream-json)")
    add("--store", metavar="PATH")
    add("--config", metavar="FILE")
    return parser
