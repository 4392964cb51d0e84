"""Which types of blocks there are. What is in none of these sets is unknown: it is warned about and passed over."""

from collections.abc import Mapping
from typing import Final

RUNS: Final = frozenset(
    "agent script terminal run http sqlite postgres env var local-var directory local-directory dropdown pause"
    " sub-runbook editor var_display markdown_render".split()
)
"""What Pollux runs."""

READS: Final = frozenset(
    "paragraph heading bulletListItem bulletedListItem numberedListItem checkListItem toggleListItem codeBlock quote"
    " table image video audio file divider horizontal_rule markdown".split()
)
"""What people read, and nothing runs."""

TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "script": ("interpreter", "code", "outputVariable"),
    "terminal": ("type", "code"),
    "run": ("type", "code"),
    "http": ("verb", "url", "body"),
    "sqlite": ("uri", "query"),
    "postgres": ("uri", "query"),
    "env": ("name", "value"),
    "var": ("name", "value"),
    "local-var": ("name",),
    "var_display": ("name",),
    "directory": ("path",),
    "local-directory": ("path",),
    "dropdown": (
        "name",
        "value",
        "optionsType",
        "fixedOptions",
        "variableOptions",
        "commandOptions",
        "options",
        "delimiter",
    ),
    "editor": ("variableName", "code"),
    "pause": ("message", "label"),
    "sub-runbook": ("runbookPath", "runbookId", "runbookName", "runbookUri"),
}
"""Properties that must be text, if they are there: a block with something else in them cannot run."""

TIMED: Final = frozenset("agent script terminal run http sqlite postgres".split())
"""Blocks that `timeoutSeconds` stops."""

LONGEST_SECONDS: Final = 10_000_000

ELSEWHERE: Final = frozenset("prometheus clickhouse mysql kubernetes-get ssh-connect host-select".split())
"""What Atuin runs and Pollux does not."""

MOVES: Final = frozenset({"ssh-connect", "host-select"})
"""Blocks that send the ones after them to another machine. Passed over, those would act on this one."""

HERE: Final = frozenset({"", "local", "localhost"})
"""Hosts of a `host-select` that are this machine."""
