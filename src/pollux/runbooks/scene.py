"""What a block finds when its turn comes: where it runs, what is set, and what the blocks before it gave out.

Pure data. A scene is never changed; each block leaves a new one to the next.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.runbooks.documents.model import Runbook

NOBODY: frozenset[str] = frozenset()


@frozen
class Variable:
    """A value, and the blocks whose outputs it was made from."""

    value: str
    sources: frozenset[str] = NOBODY


@frozen(kw_only=True)
class Scene:
    """The state of a runbook between two blocks. `directory` is absolute; `workspace` is empty where there is none."""

    runbook: Runbook
    directory: str
    workspace: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    variables: Mapping[str, Variable] = field(default_factory=dict[str, Variable])
    outputs: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict[str, Mapping[str, JSON]])
    executed: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    """Blocks that failed, and did not stop the run: what their outputs do not have has no words."""
    model: str = ""
    """For agents that name none; empty where nobody said anything of it."""
    profile: str = ""
    """The same, of the person's own profiles."""
    env_sources: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Of environment variables that were made from outputs: the blocks that gave them."""
    output_sources: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Of blocks that ran with other blocks' outputs in them: whose words their own outputs may repeat."""
    directory_sources: frozenset[str] = NOBODY
    """Who says where it works, if that is a runbook around it that nobody trusts."""
    places: tuple[str, ...] = ()
    """The folders that are open to others: the document's own, the workspace, and wherever the run has worked."""
    programs: tuple[tuple[str, str], ...] | None = None
    """The programs of agents that a person accepted with the document. None: nobody did."""
    scripts: tuple[tuple[str, str], ...] | None = None
    """Those of its scripts. None: nobody did, or before these were pinned."""

    def with_output(self, block: str, output: Mapping[str, JSON]) -> "Scene":
        """After the block of this id, which gave this out. A block that is run again counts once, as the last."""
        executed = (*(id_ for id_ in self.executed if id_ != block), block)
        return replace(self, outputs={**self.outputs, block: output}, executed=executed)

    def without_result(self, block: str) -> "Scene":
        """Once the block of this id has failed and was passed over."""
        return replace(self, passed_over=(*self.passed_over, block))

    def with_words(self, block: str, sources: Iterable[str]) -> "Scene":
        """Once the block of this id has run, with these outputs in its call."""
        return replace(self, output_sources={**self.output_sources, block: frozenset(sources)})

    def with_variable(self, name: str, variable: Variable) -> "Scene":
        """With a variable set."""
        return replace(self, variables={**self.variables, name: variable})

    def with_env(self, name: str, value: str, sources: frozenset[str] = NOBODY) -> "Scene":
        """With an environment variable set for the programs that follow."""
        told = {**self.env_sources, name: sources}
        return replace(self, env={**self.env, name: value}, env_sources=told)

    def with_directory(self, directory: str) -> "Scene":
        """With another directory for the programs that follow."""
        return replace(self, directory=directory, places=tuple(dict.fromkeys((*self.places, directory))))
