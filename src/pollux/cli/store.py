"""`pollux store`: whether the store is the one that was here last, and how to go on with one that was restored."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pollux.cli.kept import Teller, command, complete, heard, moment, settings_of, verb
from pollux.config import ConfigError
from pollux.core.errors import UNREMEMBERED

if TYPE_CHECKING:
    from pollux.config import Settings
    from pollux.core.policy import Grant
    from pollux.core.run import Action
    from pollux.engine.adoption import Doubtful, Fate
    from pollux.engine.ports import Store

EXAMPLES = """\
examples:
  pollux store status
  pollux store adopt --dry-run
  pollux store adopt --yes
  pollux store trust

exit codes: 0; 1 error, also when the store was restored and nobody has adopted it; 2 usage
"""
FATES: dict["Fate", str] = {
    "asked": "still waits for approval; its question says that it may have been done",
    "looked_up": "its tool looks whether it was done, before anything else",
    "unknown": "gets an unknown outcome: resolve it with `pollux actions settle`",
    "child": "goes on in its own run",
    "page": "waits for its page",
}

_FORGOTTEN = "a request that a client repeats from then on starts a new run, also with its Idempotency-Key"


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    settings = settings_of(arguments)
    teller = Teller(settings)
    if arguments.verb == "status":
        return complete(_status(settings, arguments, teller))
    if arguments.verb == "trust":
        return complete(_trust(settings, arguments, teller))
    return complete(_adopt(settings, arguments, teller))


async def _status(settings: "Settings", arguments: argparse.Namespace, teller: Teller) -> int:
    store = await _opened(settings)
    try:
        why, last = await store.restored(), await store.audit(newest_first=True, limit=1)
    finally:
        await store.close()
    seq, head = (last[0].seq, last[0].hash) if last else (0, "")
    if arguments.json:
        teller.document({"kind": store.kind, "restored": bool(why), "reason": why, "entries": seq, "head": head})
    else:
        teller.lines([f"{store.kind}, {seq} audit entries", _doubt_line(why) if why else "trusted: runs are driven"])
    if why:
        teller.talk("nothing runs until `pollux store adopt`" + _or_trust(why))
    return 1 if why else 0


async def _adopt(settings: "Settings", arguments: argparse.Namespace, teller: Teller) -> int:
    from pollux.engine.adoption import adopt, doubtful
    from pollux.engine.system import SystemClock

    store = await _opened(settings)
    try:
        why = await store.restored()
        if not why:
            teller.talk("the store is the one that was here last: there is nothing to adopt")
            return 0
        runs, grants = await doubtful(store), await store.grants(None)
        last = [entry.at for entry in await store.audit(newest_first=True, limit=1)]
        if arguments.json:
            said = [{"id": each.id, "user": each.user, "tool": each.tool, "subject": each.subject} for each in grants]
            shown = {"reason": why, "lastEntryAt": last[0] if last else None}
            teller.document({**shown, "runs": [_document(each) for each in runs], "grants": said})
        else:
            teller.lines([_doubt_line(why), *_lines(runs, teller), *(_revoked(each, teller) for each in grants)])
            teller.lines([f"after {moment(at)} nothing is known: {_FORGOTTEN}" for at in last])
        if arguments.dry_run:
            return 0
        if not (arguments.yes or await _is_confirmed("adopt this store?")):
            teller.talk("nothing was changed")
            return 1
        count = await adopt(store, by=_account(), at=SystemClock().now())
        teller.talk(
            f"adopted, with {count} open runs. They resume with the next `pollux serve` or worker, and ask first"
        )
        return 0
    finally:
        await store.close()


async def _trust(settings: "Settings", arguments: argparse.Namespace, teller: Teller) -> int:
    from pollux.engine.adoption import confirm
    from pollux.engine.system import SystemClock

    store = await _opened(settings)
    try:
        why = await store.restored()
        if not why:
            teller.talk("the store is trusted already")
            return 0
        if why != UNREMEMBERED:
            teller.talk(f"{why}: this store was restored or copied, and can only be adopted. See `pollux store adopt`")
            return 1
        teller.lines([_doubt_line(why)])
        if not (arguments.yes or await _is_confirmed("is it the newest state, with no backup put back and no copy?")):
            teller.talk("nothing was changed")
            return 1
        await confirm(store, by=_account(), at=SystemClock().now())
        teller.talk("trusted: runs resume where they were, and grants stay")
        return 0
    finally:
        await store.close()


async def _opened(settings: "Settings") -> "Store":
    from pollux.bootstrap import open_store

    store = open_store(settings)
    with heard():
        await store.open()
    return store


async def _is_confirmed(question: str) -> bool:
    from pollux.cli.asking import ask_line, forget_typed, has_terminal

    if not has_terminal():
        said = "this needs a person, or --yes. `pollux store adopt --dry-run` shows what could be repeated"
        raise ConfigError(said, code="usage")
    forget_typed()
    answer = await ask_line(f"{question} [y]es / [N]o > ")
    return (answer or "").strip().lower() in ("y", "yes")


def _or_trust(why: str) -> str:
    return ", or `pollux store trust` if no backup was put back" if why == UNREMEMBERED else ""


def _doubt_line(why: str) -> str:
    return f"{'in doubt' if why == UNREMEMBERED else 'restored'}: {why}"


def _account() -> str:
    """Who is at it, as the system knows them."""
    import os
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _lines(runs: "Sequence[Doubtful]", teller: Teller) -> list[str]:
    if not runs:
        return ["no run was open when the backup was taken"]
    lines: list[str] = []
    for each in runs:
        run = each.run
        lines.append(f"{run.id}  {run.status}, for {teller.line(run.user)}: asks before each action from now on")
        lines += [f"    {action.id}  {_what(action, teller)}: {FATES[fate]}" for action, fate in each.actions]
    return lines


def _revoked(grant: "Grant", teller: Teller) -> str:
    to = teller.line(grant.subject, 120)
    return f"{grant.id}  {teller.line(grant.tool)} to {to}, for {teller.line(grant.user)}: this grant is revoked"


def _what(action: "Action", teller: Teller) -> str:
    to = f" to {teller.line(', '.join(action.subjects), 120)}" if action.subjects else ""
    return f"{teller.line(action.tool)} ({action.repeat}){to}"


def _document(each: "Doubtful") -> dict[str, Any]:
    run = each.run
    return {
        "runId": run.id,
        "user": run.user,
        "status": run.status,
        "actions": [
            {"id": action.id, "tool": action.tool, "repeat": action.repeat, "subjects": action.subjects, "fate": fate}
            for action, fate in each.actions
        ],
    }


def _parser() -> argparse.ArgumentParser:
    parser, verbs = command("store", "The store: whether it was restored, and how to go on with it then.", EXAMPLES)
    verb(verbs, "status", "Show whether the store may drive runs.", lists=True)
    add = verb(
        verbs,
        "adopt",
        "Go on with a store that was restored from a backup or copied. Shows what could be repeated first.",
        lists=True,
    )
    add("--dry-run", action="store_true", help="show what would happen, and change nothing")
    add("--yes", action="store_true", help="do not ask")
    add = verb(
        verbs,
        "trust",
        "Say that a PostgreSQL store is the newest state, where no host has signed heads that show it.",
    )
    add("--yes", action="store_true", help="do not ask")
    return parser
