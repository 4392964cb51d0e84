"""Where the words of a call came from. A command into which another block's output was put is not the one in the
document: a person who trusted the document has not seen it.

The names of those blocks are a fact of the call (`core.messages.CallFacts`), beside its arguments: the policy decides
on it, and the person who is asked sees it.
"""

from collections.abc import Iterable, Mapping

from pollux.core.messages import JSON
from pollux.runbooks.documents import Runbook


def all_labels_of(told: Mapping[str, Iterable[str]], runbook: Runbook) -> dict[str, JSON]:
    """The same for values by name. What was made from nobody's output is left out."""
    labels = {name: [*labels_of(sources, runbook)] for name, sources in told.items()}
    return {name: each for name, each in labels.items() if each}


def labels_of(sources: Iterable[str], runbook: Runbook) -> tuple[str, ...]:
    """The blocks as people know them: their type and their name. Those of a runbook around it are so already."""
    named = {block.id: f"{block.type}: {block.name or block.id}" for block in runbook.blocks}
    return tuple(sorted(named.get(source, source) for source in sources))
