"""How far a document has come, worked out from what its run has said so far. Pure: the same messages, the same answer.

Every block that was called and answered is a step. What comes next is the first block after the last step; a step that
failed stops the run, until somebody says that it shall be tried again or passed over.
"""

from collections.abc import Iterable, Mapping, Sequence

from pollux.core.frozen import frozen
from pollux.core.messages import JSON, Message, ToolCall, ToolResult
from pollux.runbooks.blocks import BlockType
from pollux.runbooks.blocks.block_type import members
from pollux.runbooks.documents import Block, Runbook, read
from pollux.runbooks.opening import Opening, last_opening, of_runbooks, opening_of
from pollux.runbooks.scene import Scene, Variable

Types = Mapping[str, BlockType]


@frozen
class Step:
    """A block that was called, and what came of it."""

    block: Block
    result: JSON
    failed: bool
    passed_over: bool = False
    """It failed, and somebody said to go on after it."""

    @property
    def stops(self) -> bool:
        """Whether the run does not go on after it."""
        return self.failed and not self.passed_over

    @property
    def problem(self) -> str:
        """Why it failed, as far as it says so."""
        return problem_of(self.result)


@frozen
class Progress:
    """Where a run of a document stands."""

    opening: Opening
    runbook: Runbook
    scene: Scene
    steps: tuple[Step, ...]
    following: Block | None
    """The block to call next. None at the end, or after a failure."""

    @property
    def failure(self) -> Step | None:
        """The step that stops it, if one does."""
        last = self.steps[-1] if self.steps else None
        return last if last and last.stops else None


def problem_of(result: JSON) -> str:
    """Why a block did not succeed, as far as its result says so."""
    found = members(result)
    said = [word for name in ("error", "feedback", "problem") if isinstance(word := found.get(name), str) and word]
    if said:
        return ": ".join(said)
    if "exit_code" in found:
        return f"it ended with exit code {found['exit_code']}"
    if "status" in found:
        return f"it was answered with status {found['status']}"
    return "it did not succeed"


def progress_of(messages: Sequence[Message], types: Types) -> Progress:
    """Where the run that has said this stands. Raises ValidationError where it is no runbook's."""
    messages = of_runbooks(messages)
    opening = last_opening(messages)
    runbook = read(opening.source, form=opening.form)
    scene = Scene(
        runbook=runbook,
        directory=opening.directory,
        workspace=opening.workspace,
        env=dict(opening.env),
        variables={
            name: Variable(value, frozenset(opening.variable_sources.get(name, ())))
            for name, value in opening.variables.items()
        },
        env_sources={name: frozenset(sources) for name, sources in opening.env_sources.items()},
        directory_sources=frozenset(opening.directory_sources),
        places=opening.places,
        programs=opening.programs,
        scripts=opening.scripts,
        model=opening.model,
        profile=opening.profile,
    )
    steps: list[Step] = []
    calls = calls_of(messages)
    for step in _steps(messages, runbook, types):
        if (call := calls.get(step.block.id)) and call.facts:
            scene = scene.with_words(step.block.id, call.facts.rendered_from)
        scene = types[step.block.type].after(scene, step.block, step.result)
        if step.passed_over:
            scene = scene.without_result(step.block.id)
        steps.append(step)
    stopped = bool(steps and steps[-1].stops)
    position = steps[-1].block.index + 1 if steps else 0
    following = None if stopped else _next(runbook, position, types)
    return Progress(opening, runbook, scene, tuple(steps), following)


def _next(runbook: Runbook, position: int, types: Types) -> Block | None:
    """The next block that does something. The others are read by people, or known to nobody."""
    return next((block for block in runbook.blocks[position:] if block.type in types), None)


def _steps(messages: Sequence[Message], runbook: Runbook, types: Types) -> Iterable[Step]:
    """The steps of all goes at it, each block once: what was tried again counts as it came out the last time."""
    blocks = {block.id: block for block in runbook.blocks}
    steps: dict[str, Step] = {}
    for message in messages:
        if again := opening_of(message):
            # Whoever said so may have looked before somebody else did the same: what has succeeded since is done.
            kept = {id_: step for id_, step in steps.items() if id_ not in again.retried or not step.stops}
            steps = {id_: _judged(step, again) for id_, step in kept.items()}
        for part in message.parts:
            if isinstance(part, ToolResult) and part.call_id in blocks:
                block, result = blocks[part.call_id], _unwrapped(part.result)
                failed = part.is_error or not types[block.type].succeeded(result)
                steps[block.id] = Step(block, result, failed)
    return sorted(steps.values(), key=lambda step: step.block.index)


def _unwrapped(result: JSON) -> JSON:
    """The block's own result, also where a person edited its call: what says so is meant for a model."""
    found = members(result)
    return found["result"] if found.keys() == {"arguments", "edited_by", "result"} else result


def _judged(step: Step, opening: Opening) -> Step:
    if not (step.failed and step.block.id in opening.skipped):
        return step
    result: JSON = {**opening.worked.get(step.block.id, {}), **members(step.result)}
    return Step(step.block, result, step.failed, passed_over=True)


def calls_of(messages: Iterable[Message]) -> dict[str, ToolCall]:
    """The last call of each block, by the block's id."""
    return {part.id: part for message in messages for part in message.parts if isinstance(part, ToolCall)}
