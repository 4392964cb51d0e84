"""`pollux audit`: what was decided, asked, done and erased, and whether anybody changed the record of it."""

import argparse
import dataclasses
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pollux.cli.kept import (
    Teller,
    command,
    complete,
    count,
    harmless_json,
    looking,
    moment,
    settings_of,
    some,
    verb,
)
from pollux.config import ConfigError
from pollux.engine.untrusted import read_small

if TYPE_CHECKING:
    from pollux.engine.ports import AuditEntry
    from pollux.engine.queries import Queries
    from pollux.http.overview_shapes import Format

PAGE = 1_000
LARGEST_HEADS = 256 << 20
"""Bytes of a file of heads that somebody kept: a million of them."""
EXAMPLES = """\
examples:
  pollux audit list --after 200 --limit 50
  pollux audit head >> /mnt/elsewhere/heads
  pollux audit verify --head-file /mnt/elsewhere/heads
  pollux audit export > audit.jsonl
  pollux audit export --format csv > audit.csv

exit codes: 0; 1 error, also when the audit was tampered with; 2 usage
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    settings = settings_of(arguments)
    teller = Teller(settings)

    async def work() -> int:
        async with looking(settings) as queries:
            match arguments.verb:
                case "list":
                    return await _list(queries, arguments, teller)
                case "verify":
                    return await _verify(queries, arguments, teller)
                case "export":
                    return await _export(queries, arguments, teller)
                case _:
                    return await _head(queries, arguments, teller)

    return complete(work())


async def _list(queries: "Queries", arguments: argparse.Namespace, teller: Teller) -> int:
    limit: int = arguments.limit
    found = await queries.audit(user=arguments.user, after=arguments.after, limit=limit + 1)
    entries, following = found[:limit], found[limit - 1].seq if len(found) > limit else None
    if arguments.json:
        teller.document({"items": [_document(entry) for entry in entries], "next": following})
        return 0
    teller.lines([_line(entry, teller) for entry in entries])
    if following is not None:
        teller.talk(f"there are more: --after {following}")
    elif not entries:
        teller.talk("there are no entries")
    return 0


async def _verify(queries: "Queries", arguments: argparse.Namespace, teller: Teller) -> int:
    expected = _expected(arguments)
    report = await queries.verify_audit()
    lost = [f"lost head: {text}" async for text in _missing(queries, expected)]
    report = dataclasses.replace(report, valid=report.valid and not lost, problems=(*report.problems, *lost))
    if arguments.json:
        teller.document(
            {
                "valid": report.valid,
                "entries": report.entries,
                "head": report.head,
                "problems": list(report.problems),
            }
        )
    elif report.valid:
        teller.lines([f"whole: {report.entries} entries, head {report.head}"])
    else:
        teller.lines([teller.line(problem) for problem in report.problems])
    if not report.valid:
        teller.talk("the audit was tampered with. Keep the store as it is, and compare it with a backup")
    return 0 if report.valid else 1


def _expected(arguments: argparse.Namespace) -> list[tuple[int | None, str]]:
    """The heads that somebody kept elsewhere: each a number, if it was kept with the hash, and the hash."""
    found = [_head_of(text, f"--head {text!r}") for text in arguments.head]
    for name in arguments.head_file:
        try:
            lines = read_small(Path(name), most=LARGEST_HEADS).decode().splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
            raise ConfigError(f"--head-file {name} cannot be read: {why}", code="usage") from None
        found += [_head_of(line, f"{name}, line {n}") for n, line in enumerate(lines, 1) if line.strip()]
        if not any(line.strip() for line in lines):
            # An empty file agrees with everything: somebody may have emptied it.
            raise ConfigError(f"--head-file {name} holds no head. Check who can write it", code="usage")
    return found


def _head_of(text: str, where: str) -> tuple[int | None, str]:
    """As `audit head` prints it, as servers give it away, or the hash alone. Raises ConfigError."""
    try:
        if text.lstrip().startswith("{"):
            members = json.loads(text)
            seq, own = int(members["seq"]), str(members["hash"])
        else:
            *number, own = text.split()
            [seq] = map(int, number) if number else [None]
        if re.fullmatch("[0-9a-f]{64}", own):
            return seq, own
    except (ValueError, KeyError, TypeError):
        pass
    raise ConfigError(f"{where} must be a head: 64 hexadecimal digits, after the number if it is known", code="usage")


async def _missing(queries: "Queries", expected: list[tuple[int | None, str]]) -> "AsyncGenerator[str]":
    """Those that the chain does not hold."""
    anywhere = {own for seq, own in expected if seq is None} - {"0" * 64}
    if anywhere:
        async with aclosing(_pages(queries)) as pages:
            async for page in pages:
                anywhere -= {entry.hash for entry in page}
    for own in sorted(anywhere):
        yield f"the chain does not hold {own}"
    for seq, own in expected:
        if seq:
            found = await queries.audit(after=seq - 1, limit=1)
            if not found or (found[0].seq, found[0].hash) != (seq, own):
                yield f"entry {seq} is not {own}"


async def _export(queries: "Queries", arguments: argparse.Namespace, teller: Teller) -> int:
    from pollux.http.audit_file import beginning_of, changed, piece_of, texts_of, view_of

    format_: Format = arguments.format
    # A table has no way to write what could move the cursor; a line of JSON has one of its own.
    clean = teller.line if format_ == "csv" else teller.mask.text
    teller.raw(beginning_of(format_).decode())
    async with aclosing(_pages(queries)) as pages:
        async for page in pages:
            views = [view_of(entry) for entry in page]
            # A secret that is in none of them, looked for once, need not be looked for in each.
            texts = texts_of(views)
            if teller.mask.text(texts) != texts or (format_ == "csv" and not _is_printable(texts)):
                views = [changed(view, clean) for view in views]
            text = piece_of(views, format_).decode()
            teller.raw(harmless_json(text) if format_ == "jsonl" else text)
    return 0


def _is_printable(texts: str) -> bool:
    return texts.isascii() and texts.replace("\n", "").isprintable()


async def _head(queries: "Queries", arguments: argparse.Namespace, teller: Teller) -> int:
    from pollux.engine.ports import GENESIS

    last = await _last(queries)
    seq, own = (last.seq, last.hash) if last else (0, GENESIS)
    if arguments.json:
        teller.document({"seq": seq, "hash": own, "at": last.at if last else None})
    else:
        teller.lines([f"{seq} {own}"])
    return 0


async def _pages(queries: "Queries") -> "AsyncGenerator[list[AuditEntry]]":
    after = 0
    while page := list(await queries.audit(after=after, limit=PAGE)):
        yield page
        after = page[-1].seq


async def _last(queries: "Queries") -> "AuditEntry | None":
    """The last entry, found in growing and shrinking steps: a store tells what follows, and the audit may be long."""
    last: AuditEntry | None = None
    step = 1
    while step:
        found = await queries.audit(after=(last.seq if last else 0) + step - 1, limit=1)
        if found:
            last, step = found[0], step * 2
        else:
            step //= 2
    return last


def _line(entry: "AuditEntry", teller: Teller) -> str:
    words = [entry.tool_name, entry.policy_decision, entry.execution_status, entry.error_code]
    what = " ".join(teller.line(word) for word in words if word)
    about = entry.action_id or entry.run_id or entry.thread_id
    who = f"by {teller.line(entry.by)}" if entry.by else f"for {teller.line(entry.user)}"
    cells = (f"{entry.seq:>6}", moment(entry.at), f"{entry.kind:<9}", what, teller.line(about), who)
    return "  ".join(cell for cell in cells if cell)


def _document(entry: "AuditEntry") -> dict[str, Any]:
    return {_camel(name): value for name, value in dataclasses.asdict(entry).items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _parser() -> argparse.ArgumentParser:
    parser, verbs = command("audit", "The record of what was decided and done. It holds no content.", EXAMPLES)
    add = verb(verbs, "list", "List entries, oldest first.", lists=True)
    add("--after", type=count, default=0, metavar="N", help="only entries with a higher number")
    add("--limit", type=some, default=100, metavar="N", help="at most so many (default: 100)")
    add("--user", metavar="USER", help="only what concerns this user")
    add = verb(
        verbs, "verify", "Check every entry against its hash, its seal, its neighbour and the heads.", lists=True
    )
    add("--head", action="append", default=[], metavar="HASH", help="the chain must hold this hash, kept elsewhere")
    add(
        "--head-file",
        action="append",
        default=[],
        metavar="FILE",
        help="the chain must hold every head in this file: as `audit head` prints them, or as servers append them",
    )
    add = verb(verbs, "export", "Print every entry, oldest first, with its hash and the one before: as servers do.")
    add("--format", choices=("jsonl", "csv"), default="jsonl", help="lines of JSON, or a table (default: jsonl)")
    verb(verbs, "head", "Print the last number and its hash, to be kept where nobody can change it.", lists=True)
    return parser
