"""A question to the person at the terminal: what would run, exactly as it is stored, and no by default."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pollux.cli.folding import columns_of, folded
from pollux.cli.shown import shown
from pollux.core.policy import Scope
from pollux.core.run import lasting_scope
from pollux.sdk.approvals import Answer, Approve, Reject
from pollux.sdk.events import ApprovalRequired

REVOKE: Final = "(a grant: `pollux grants` lists and revokes it)"
ALWAYS: Final[dict[Scope, str]] = {
    "always": f" / [a]lways for these {REVOKE}",
    "document": f" / [a]lways in this document {REVOKE}",
}
MOST_ROWS: Final = 12
MOST_IN_SIGHT: Final = 1_000
"""Characters. A question of more may push its own head out of sight."""
MOST_NAMED: Final = 3
LONGEST_SUBJECT: Final = 80


def has_terminal() -> bool:
    """Whether somebody can be asked: keyboard and screen are both one."""
    try:
        return os.isatty(0) and os.isatty(2)
    except OSError:
        return False


class Terminal:
    """Asks at the terminal, one question at a time: two on one screen could be taken for one another."""

    def __init__(self) -> None:
        self._asking = asyncio.Lock()

    async def ask(self, question: ApprovalRequired) -> Answer:
        """The person's answer. Anything but a yes is a no."""
        async with self._asking:
            sys.stderr.write(folded(described(question), columns_of(sys.stderr)))
            forget_typed()
            return answer_of(await ask_line(prompt_of(question)) or "", question.scopes)


def prompt_of(question: ApprovalRequired) -> str:
    """The answers that this question takes."""
    return f"  run it? {choices_of(question.scopes, question.tool)}, or say why not > "


def choices_of(scopes: tuple[Scope, ...], tool: str = "") -> str:
    """Yes, no, and "always" where the question allows it, with how long that counts."""
    lasting = lasting_scope(scopes)
    session = f" / [s] always allow {shown(tool, lines=False)} in this session {REVOKE}" if "tool" in scopes else ""
    return f"[y]es{session}{ALWAYS[lasting] if lasting else ''} / [N]o"


def answer_of(word: str, scopes: tuple[Scope, ...] = ()) -> Answer:
    """What was typed, as an answer. What is neither a yes nor a no is why not."""
    match word.strip().lower():
        case "s" | "session" if "tool" in scopes:
            return Approve(always="tool")
        case "y" | "yes":
            return Approve()
        case "a" | "always":
            return Approve(always=True)
        case "" | "n" | "no":
            return Reject()
        case _:
            return Reject(word.strip())


def described(question: ApprovalRequired) -> str:
    """Read from the stored action: what is shown is what will run."""
    rows = [f"\n  {shown(question.tool, lines=False)} asks first: {shown(question.reason, lines=False)}"]
    rows += [f"    to {shown(subject, lines=False)}" for subject in question.subjects]
    for name, value in question.args.items():
        rows += argument_rows(name, str(value))
    strangers = [source for source in question.provenance if source != "user"]
    if strangers:
        # What a tool has read may be anybody's words, and the model may have done as they said.
        rows.append(f"    after reading {shown(', '.join(strangers), lines=False)}")
    if sum(map(len, rows)) > MOST_IN_SIGHT or len(rows) > MOST_ROWS:
        rows += recap(question.tool, question.subjects)
    return "\n".join(rows) + "\n"


def argument_rows(name: str, value: str) -> list[str]:
    """An argument as rows. A text of several lines is shown line by line, each marked so that none passes for ours."""
    said = shown(name, lines=False)
    lines = value.split("\n")
    if len(lines) == 1:
        return [f"    {said}: {shown(value, lines=False)}"]
    return [f"    {said}: {len(lines):,} lines", *(f"      | {shown(line, lines=False)}" for line in lines)]


def recap(tool: str, subjects: Sequence[str]) -> list[str]:
    """The tool and whom it acts upon once more, below arguments that fill the screen: the decision is made there."""
    few = [shown(subject, lines=False)[:LONGEST_SUBJECT] for subject in subjects[:MOST_NAMED]]
    more = f" and {len(subjects) - MOST_NAMED:,} more" if len(subjects) > MOST_NAMED else ""
    return [
        f"\n  This was {shown(tool, lines=False)}{' to ' + ', '.join(few) if few else ''}{more}; scroll up to read it"
    ]


def forget_typed() -> None:
    """What was typed before a question was there is no answer to it."""
    import termios

    with suppress(termios.error, OSError):
        termios.tcflush(0, termios.TCIFLUSH)


async def ask_line(prompt: str) -> str | None:
    """What is typed next; None at the end of the input."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(0, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(0)
    line = os.read(0, 65_536)
    return line.decode("utf-8", "replace") if line else None
