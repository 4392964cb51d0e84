"""The figures as tables, and the page around them. What is said of a framework is what it did here, and why."""

import datetime
import os
import platform
import statistics
from typing import Any

from frameworks import FRAMEWORKS, VARIANTS, Framework
from story import SENDING_SECONDS

Figures = dict[str, dict[str, Any]]

INTRODUCTION = """\
# Beside other frameworks

The same agent in Pollux and in five other frameworks, in the versions named below, against one model server on
loopback: the stories of all in one run, the costs of all in one run. {when}, {machine}.

    .venv/bin/python benchmarks/peers/run.py --setup
    .venv/bin/python benchmarks/peers/run.py --write

The first makes one environment for each, outside the source, in `build/peers`, from the pins in
`benchmarks/peers/requirements`; the second measures and writes this page. Each framework has one small adapter there,
`on_*.py`, and the story is told by one file for all.
"""

STORY = f"""\
## A mail, an approval, a crash

The agent has a tool `send_email` that appends a line to a file, the outbox, and it is gated by the framework's own
approval, kept in the framework's own way. One process asks. A second one approves, and is killed with SIGKILL right
after the line is on the disk, before any code of the framework runs again. A third goes on as the framework's
documentation says. Then the lines are counted.

In the other story two processes approve the same question: both at once, and the second while the first is sending.
There sending takes {SENDING_SECONDS:.0f} s.
"""

WORDS = """\
The tool is the same few lines for all but the second row of Pollux, and knows nothing of a second attempt. A tool can
be written so that running it twice is harmless, with any of these frameworks; google-adk and langgraph say in their
documentation that it should be.

- **Pollux** writes down that the attempt begins before it begins. After the crash it finds that note and no result. A
  tool with a side effect that says nothing else is `once`: it is not run again, the run ends with `outcome_unknown`,
  and a person settles it. That is one mail, but not a finished run. The second row of Pollux is a tool that puts the
  action's key into the mail and can look for it (`repeat="checkable"`): found, so the run goes on to its end. Of two
  approvals one is refused, or both are told the same end.
- **google-adk**: `require_confirmation`, a resumable `App`, `DatabaseSessionService` on SQLite; resumed with
  `run_async(invocation_id=…)`. The answer is in the session before the tool runs, its result is not, so the tool runs
  again: [resuming](https://google.github.io/adk-docs/runtime/resume) promises at least once. A session that was changed
  since it was loaded refuses to be written. That stops the second of two approvals before its tool runs if both loaded
  the session before either wrote; if the second loads it while the first is sending, both send, and the refusal comes
  afterwards. At once is therefore a matter of moments: in one trial before this run both had sent.
- **pydantic-ai**: `requires_approval`, [deferred tools](https://ai.pydantic.dev/deferred-tools). It has no store of its
  own: the adapter saves the messages to a file and starts the next run with them and the answer. What was saved last
  still ends with the question, so the tool runs again; that two answer one question is for the application to prevent.
  Its durable runs on Temporal were not measured.
- **openai-agents**: `needs_approval`, the `RunState` as a string in a file, saved again after the approval, and a
  `SQLiteSession`. The saved state knows the approval and no result, so the tool runs again; here, too, the file is the
  application's. Its durable runs on Temporal were not measured. It speaks OpenAI's chat completions to the
  model server, the others Gemini's format.
- **langchain**: `create_agent` on langgraph with `HumanInTheLoopMiddleware`, `AsyncSqliteSaver` and
  `durability="sync"`, its most careful; resumed without input. The last checkpoint is the one before the tools, so they
  run again: [durable execution](https://docs.langchain.com/oss/python/langgraph/durable-execution.md) asks for
  side effects that may be repeated.
- **agno**: `requires_confirmation`, `SqliteDb`, `checkpoint="tool-batch"`; gone on with by `acontinue_run`. What is in
  the database is still paused, so the tool runs again. With [`@approval`](https://docs.agno.com/hitl/approval) the
  question is a record of its own that takes one answer, and the second of two is refused; after the crash the tool
  runs again.
"""

COSTS = """\
## What a call costs as the conversation grows

CPU in the framework's process for one model call and what belongs to it, in a conversation of 1 and of 50 tool rounds,
one call of `add` in each; first with nothing kept, then with what the story used. Scaled by a loop of pure Python run
before and after. Pollux opens an agent for every conversation, the others keep theirs, and such a fixed cost weighs
most on the short conversation: a ratio below one is no merit. Measured apart, its cost per call did
not rise from 10 rounds to 50. Compare frameworks by the columns of 50 rounds.
"""

COLD = """\
## Cold start

A new process that imports the framework, makes the agent and streams one answer: CPU until its end, the first token
from the spawn (the least of the repetitions, since waiting for a busy machine is nobody's cost), and the most memory it
held.
"""

LIMITS = """\
Costs and cold starts are medians of {costs} interleaved repetitions, the stories were told {stories} times. Judge by
the ratios: milliseconds are this machine's, and it was busy with other work. Telemetry is off, and the only address in
any adapter is loopback.

Versions are the newest that could be installed here on that day. Of langchain, 1.4.10 was out, and wanted a certifi
that this machine's package index did not have. What an adapter does is a choice, and who knows a framework better may
know a better one.
"""


def tables(figures: Figures) -> str:
    return "\n\n".join((_stories(figures), _costs(figures), _cold(figures)))


def whole(figures: Figures) -> str:
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    parts = (
        INTRODUCTION.format(when=when, machine=machine),
        f"{STORY}\n{_stories(figures)}",
        WORDS,
        f"{COSTS}\n{_costs(figures)}",
        f"{COLD}\n{_cold(figures)}",
        LIMITS.format(costs=len(figures["pollux"]["cold"]), stories=len(figures["pollux"]["crash"])),
    )
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _stories(figures: Figures) -> str:
    head = ["framework", "version", "mails after the crash", "the run then", "approved at once", "while sending"]
    rows = [[each.name, *_told(figures.get(each.id, {}))] for each in _by_framework()]
    return _table(head, rows)


def _told(found: dict[str, Any]) -> list[str]:
    if "crash" not in found:
        return [found.get("version", ""), _not_run(found), "", "", ""]
    ended = {"went on to its end" if told["ended"] == ["Sent."] else _code(told["ended"][0]) for told in found["crash"]}
    counts = [_counted(found[name]) for name in ("crash", "twins", "apart")]
    return [found["version"], counts[0], ", ".join(sorted(ended)), *counts[1:]]


def _code(text: str) -> str:
    return f"ended: `{text.partition(':')[0]}`"


def _counted(told: list[dict[str, Any]]) -> str:
    """The number of mails, and how often, where it was not always the same."""
    mails = [each["mails"] for each in told]
    if len(set(mails)) == 1:
        return f"{mails[0]} ({len(mails)} of {len(mails)})"
    return ", ".join(f"{count} ({mails.count(count)} of {len(mails)})" for count in sorted(set(mails)))


def _costs(figures: Figures) -> str:
    head = ["framework", "1 round", "50 rounds", "ratio", "1 round, kept", "50 rounds, kept", "ratio"]
    rows: list[list[str]] = []
    for each in FRAMEWORKS:
        found = figures.get(each.id, {})
        if "stored" not in found:
            rows.append([each.name, _not_run(found), *[""] * 5])
            continue
        cells: list[str] = []
        for kind in ("memory", "stored"):
            short, long = (_median(found[kind], str(rounds)) for rounds in (1, 50))
            cells += [f"{short:.2f} ms", f"{long:.2f} ms", f"{long / short:.1f} ×"]
        rows.append([each.name, *cells])
    return _table(head, rows)


def _cold(figures: Figures) -> str:
    head = ["framework", "CPU", "beside Pollux", "first token", "memory"]
    rows: list[list[str]] = []
    ours = figures.get("pollux", {}).get("cold")
    for each in FRAMEWORKS:
        found = figures.get(each.id, {})
        if "cold" not in found:
            rows.append([each.name, _not_run(found), "", "", ""])
            continue
        spent, memory = _median(found["cold"], "cpu_ms"), _median(found["cold"], "rss_mb")
        first = min(start["first_ms"] for start in found["cold"])
        beside = f"{spent / _median(ours, 'cpu_ms'):.1f} ×" if ours else ""
        rows.append([each.name, f"{spent:.0f} ms", beside, f"{first:.0f} ms", f"{memory:.0f} MB"])
    return _table(head, rows)


def _by_framework() -> list[Framework]:
    return [each for key in FRAMEWORKS for each in (*FRAMEWORKS, *VARIANTS) if each.key == key.key]


def _not_run(found: dict[str, Any]) -> str:
    return f"not run: {found.get('not_run', 'not asked for')}"


def _median(values: list[dict[str, float]], name: str) -> float:
    return statistics.median(value[name] for value in values)


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))
