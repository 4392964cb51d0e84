"""Trees of runbooks: what a document finds around it, or gets back from its parts, is trusted where it was accepted.

Every tree is run to its end with everything approved, and every question on the way is written down. `expected` says
from the tree alone which questions there have to be.
"""

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.runbooks.lab import ADA, RunbookLab, agent, block, document, script
from tests.waiting import until

from pollux.core.run import Action, Run
from pollux.engine.engine import Engine
from pollux.providers.scripted import reply
from pollux.runbooks.opening import Opening, last_opening
from pollux.runbooks.runtime import Runbooks

WAYS = ("BASH_ENV", "GREETING", "variable", "directory")
VALUES = ("literal", "given", "agent")


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[RunbookLab]:
    lab = RunbookLab(tmp_path)
    yield lab
    await lab.close()


@dataclass(frozen=True)
class Tree:
    """Documents inside one another, the outermost first: which were accepted, and what goes from one to another."""

    accepted: tuple[bool, ...]
    way: str
    """What is set: an environment variable by this name, a variable, or the directory."""
    value: str
    """Whether it is a literal of its document, given by whoever runs it, or an agent's words."""
    upward: bool = False
    """The innermost one sets it and exports it; the outermost one uses it. Else the other way round."""
    moved: bool = False
    """The innermost text was accepted as it lies in another folder."""

    @property
    def depth(self) -> int:
        return len(self.accepted)

    def is_trusted(self, level: int) -> bool:
        is_there = not (self.moved and level == self.depth - 1)
        return all(self.accepted[: level + 1]) and is_there

    @property
    def setter(self) -> int:
        return self.depth - 1 if self.upward else 0

    @property
    def user(self) -> int:
        return 0 if self.upward else self.depth - 1


def trees() -> Iterator[Tree]:
    accepted = [flags for depth in (1, 2, 3) for flags in product((True, False), repeat=depth)]
    for flags in accepted:
        yield from (Tree(flags, way, value) for way, value in product(WAYS, VALUES))
        if len(flags) > 1:
            yield from (Tree(flags, way, value, upward=True) for way, value in product(WAYS[:2], VALUES[::2]))
            yield from (Tree(flags, way, "literal", moved=True) for way in WAYS)


TREES = tuple(trees())


def expected(tree: Tree) -> list[tuple[int, str]]:
    """The questions, each by the level of its document and its tool."""
    found: list[tuple[int, str]] = []
    if tree.value == "agent" and not tree.is_trusted(tree.setter):
        found.append((tree.setter, "runbook_agent"))
    if tree.way == "BASH_ENV" and tree.value != "literal":
        # It changes what every program runs, and nobody has accepted this value.
        found.append((tree.setter, "runbook_env"))
    if tree.way == "directory" and tree.value == "agent":
        found.append((tree.setter, "runbook_directory"))
    is_from_words = tree.value == "agent" and tree.way != "directory"
    is_from_elsewhere = tree.upward and not tree.is_trusted(tree.setter)
    if not tree.is_trusted(tree.user) or is_from_words or is_from_elsewhere:
        found.append((tree.user, "runbook_script"))
    return found


def test_there_are_enough_trees_and_they_expect_questions_and_none():
    assert len(TREES) == len(set(TREES)) and len([tree for tree in TREES if tree.depth < 3]) >= 100
    unasked = [tree for tree in TREES if not expected(tree)]
    assert unasked and all(all(tree.accepted) for tree in unasked)
    assert {tree.way for tree in unasked} == set(WAYS)


@pytest.mark.parametrize("depth", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
async def test_every_tree_asks_what_it_has_to_ask(lab: RunbookLab, depth: int):
    # What the agent says is a file that is there: a script of the tree runs it, or it is where it works.
    engine, runbooks = await lab.engine(*(reply(str(lab.work)) for tree in TREES if tree.value == "agent"))
    through: list[tuple[Tree, Any, Any]] = []
    for number, tree in enumerate(tree for tree in TREES if tree.depth == depth):
        folder = lab.work / str(number)
        folder.mkdir()
        asked = await questions(engine, await started(lab, runbooks, tree, folder))
        found = [(_level(run, tree), action.tool) for run, action in asked]
        if found != expected(tree):
            through.append((tree, found, expected(tree)))
        for run, action in asked:
            facts = action.call.facts
            is_beneath_doubt = not all(tree.accepted[: _level(run, tree)])
            assert bool(facts and any(each.startswith("runbook: ") for each in facts.placed_by)) == is_beneath_doubt
    assert not through, through


async def started(lab: RunbookLab, runbooks: Runbooks, tree: Tree, folder: Path) -> Run:
    (folder / "payload").write_text("true\n")
    sources = documents(tree, folder)
    for level, source in enumerate(sources):
        (folder / f"{level}.runbook.json").write_text(source)
        if tree.accepted[level]:
            elsewhere = tree.moved and level == tree.depth - 1
            lab.accept(source, folder=folder.parent if elsewhere else folder)
    given = {"GIVEN": value_of(tree, folder)} if tree.value == "given" else {}
    path = str(folder / "0.runbook.json")
    return await runbooks.start(Opening(sources[0], "json", str(folder), path=path, variables=given), user=ADA)


def documents(tree: Tree, folder: Path) -> list[str]:
    written = {
        "literal": value_of(tree, folder),
        "given": "{{ var.GIVEN }}",
        "agent": "{{ doc.named['talk'].output.text }}",
    }[tree.value]
    sets = {
        "variable": block("var", "X", value=written),
        "directory": block("directory", "place", path=written),
    }.get(tree.way, block("env", tree.way, value=written))
    uses = script("use", "true {{ var.X }}" if tree.way == "variable" else "true")
    found: list[str] = []
    for level in range(tree.depth):
        blocks: list[dict[str, Any]] = []
        if level == tree.setter:
            blocks += [agent("talk", "Where?")] if tree.value == "agent" else []
            blocks.append(sets)
        if level < tree.depth - 1:
            part = block("sub-runbook", "part", runbookPath=str(folder / f"{level + 1}.runbook.json"))
            blocks.append({**part, "props": {**part["props"], "exportEnv": tree.upward}})
        if level == tree.user:
            blocks.append(uses)
        found.append(document(*blocks, name=f"{folder.name} {level}"))
    return found


def value_of(tree: Tree, folder: Path) -> str:
    return str(folder if tree.way == "directory" else folder / "payload")


async def questions(engine: Engine, run: Run) -> list[tuple[Run, Action]]:
    """Every question on the way to the end, each approved as soon as it is there."""
    asked: list[tuple[Run, Action]] = []

    async def moved() -> bool:
        if (await engine.queries.run(run.id)).ending:
            return True
        for question in await engine.queries.approvals(ADA, limit=5):
            asked.append((question.run, question.action))
            assert question.action.approval is not None
            await engine.resolve(question.action.approval.id, "approved", by="ada")
        return False

    await until(moved)
    ending = (await engine.queries.run(run.id)).ending
    assert ending is not None and ending.status == "completed", ending
    return asked


def _level(run: Run, tree: Tree) -> int:
    """The level of a run's document: what its file is called."""
    level = int(Path(last_opening(run.messages).path).name.partition(".")[0])
    assert level < tree.depth
    return level
