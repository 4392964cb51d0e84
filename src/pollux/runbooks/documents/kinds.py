"""Which types of blocks there are. What is in none of these sets is unknown: it is warned about and passed over."""

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

ELSEWHERE: Final = frozenset("prometheus clickhouse mysql kubernetes-get ssh-connect host-select".split())
"""What Atuin runs and Pollux does not."""

MOVES: Final = frozenset({"ssh-connect", "host-select"})
"""Blocks that send the ones after them to another machine. Passed over, those would act on this one."""

HERE: Final = frozenset({"", "local", "localhost"})
"""Hosts of a `host-select` that are this machine."""
