"""Runbooks in an engine: the tools, profiles and provider that it needs for them, and the verbs of the doors.

A runbook is a thread. Each go at it is a run there: what the earlier ones have done is not done again.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from pollux.bootstrap import Opened
from pollux.core.errors import Misfit, NotFound, ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import RunId, UserId
from pollux.core.messages import JSON, Message
from pollux.core.policy import Rule
from pollux.core.profile import Profile
from pollux.core.redact import Masking, Secret, no_words
from pollux.core.run import Action, Run
from pollux.core.tools import Tool
from pollux.engine.engine import Engine
from pollux.engine.start import Start
from pollux.runbooks import rules
from pollux.runbooks.agents.asked import asked_tools
from pollux.runbooks.agents.block import Agent
from pollux.runbooks.agents.foreign import foreign_agent
from pollux.runbooks.agents.internal import NO_OUTFITS, Host, Outfits, document_tools, internal_agent
from pollux.runbooks.agents.live import LiveAgents
from pollux.runbooks.agents.program import programs_of
from pollux.runbooks.blocks import standard_blocks, tools_of
from pollux.runbooks.blocks.started import scripts_of, shown, unaccepted
from pollux.runbooks.documents import Runbook, read
from pollux.runbooks.located import Programs
from pollux.runbooks.opening import Opening, document_fact, folder_of, open_places
from pollux.runbooks.progress import Progress, Step, Types, progress_of
from pollux.runbooks.provider import DocumentProvider, WithDocuments
from pollux.runbooks.settings import AgentEntry
from pollux.runbooks.shelf import Volume, digest_of
from pollux.runbooks.sub_runbook import SubRunbook, sub_runbook
from pollux.runbooks.told import asked_by, is_unfinished, work_of
from pollux.runbooks.trust import Trust
from pollux.tools.files.root import Root
from pollux.tools.files.toolset import file_tools
from pollux.tools.masked import MaskedTool
from pollux.tools.shell.agent_shell import Runner
from pollux.tools.shell.toolset import shell_tool

DOOR: Final = "runbook"


@frozen
class Started:
    """The programs of a document: which file each word of its agents' commands and of its scripts means."""

    agents: Programs = ()
    scripts: Programs = ()

    @property
    def shown(self) -> Programs:
        """Those of which a person should know."""
        return tuple(dict.fromkeys((*self.agents, *shown(self.scripts))))

    @property
    def digest(self) -> str:
        """All of them in one word: what is accepted later is what was shown."""
        text = json.dumps([self.agents, self.scripts])
        return hashlib.sha256(text.encode()).hexdigest()


@frozen
class Runbooks:
    """What an engine needs to run documents, and what knows how far they have come."""

    types: Types
    tools: tuple[Tool, ...]
    profiles: Mapping[str, Profile]
    host: Host
    trust: Trust
    agents: Mapping[str, AgentEntry]
    shell: str = "bash"
    """Of terminals that name none."""
    outfits: Outfits = NO_OUTFITS
    """What the person's configuration gives our own agents."""

    def providers(self, others: Opened) -> WithDocuments:
        """The engine's providers, with the one that reads documents."""
        self.host.opened = others
        return WithDocuments(DocumentProvider(self.types), others)

    def accept(self, document: Volume, programs: Started, *, by: UserId) -> None:
        """Trust a document as it stands, with these programs, which the person was shown."""
        path = str(document.path)
        folder = folder_of(path, "")
        pin = partial(self.trust.pin, "runbook", document.digest, what=path, by=by, folder=folder)
        pin(programs=programs.agents, scripts=programs.scripts)

    def is_trusted(self, document: Volume) -> bool:
        """Whether a person accepted this text in this folder."""
        folder = folder_of(str(document.path), "")
        return self.trust.is_trusted("runbook", document.digest, folder=folder)

    def programs(self, document: Volume, *, directory: Path, workspace: Path | None = None) -> Started:
        """Which files the commands of its agents and scripts mean there."""
        places = open_places(folder_of(str(document.path), ""), str(directory), str(workspace or ""))
        return self.started(document.read(), directory=directory, places=places)

    def started(self, runbook: Runbook, *, directory: Path, places: tuple[str, ...]) -> Started:
        """The same of a document where these folders are open to others."""
        return Started(
            programs_of(runbook, directory=str(directory), places=places, registry=self.agents),
            scripts_of(runbook, directory=str(directory), places=places, shell=self.shell),
        )

    def was_accepted_without(self, document: Volume, programs: Started) -> bool:
        """Whether a person accepted it before the programs of scripts were pinned, and has not seen some of these."""
        pin = self.trust.pinned("runbook", document.digest, folder=folder_of(str(document.path), ""))
        return pin is not None and pin.scripts is None and bool(unaccepted(programs.scripts, ()))

    def progress(self, messages: Sequence[Message]) -> Progress:
        """How far a run has come. Raises ValidationError where it is no runbook's."""
        return progress_of(messages, self.types)

    async def start(
        self, opening: Opening, *, user: UserId, interactive: bool = True, more: tuple[Rule, ...] = ()
    ) -> Run:
        """Begin a document. Raises ValidationError, with block and line, where it is none."""
        return await self._engine.start(self.beginning(opening, user=user, interactive=interactive, more=more))

    def beginning(
        self, opening: Opening, *, user: UserId, interactive: bool = True, more: tuple[Rule, ...] = ()
    ) -> Start:
        """What a first go at a document begins with. Raises ValidationError, with block and line, where it is none."""
        return self._start(opening, self._check(opening), user=user, interactive=interactive, more=more)

    async def resume(
        self,
        run_id: RunId,
        *,
        user: UserId,
        retry: str = "",
        skip: str = "",
        variables: Mapping[str, str] | None = None,
        interactive: bool = True,
        more: tuple[Rule, ...] = (),
        model: str = "",
        profile: str = "",
    ) -> Run:
        """Go on with a runbook: where it was, or, after a failure, with that block again or without it.

        `variables` are given besides those that were given before.
        A go that begins now takes the `model` and the `profile`, if one is named, for agent blocks that name none.

        Raises:
            NotFound: there is no such run.
            Misfit: there is nothing to go on with, or it must be said how.
        """
        run = await self._engine.queries.run(run_id, user)
        if run.profile != rules.PROFILE:
            raise NotFound(f"{run_id} is no run of a runbook")
        if run.parent is not None:
            raise Misfit(f"{run_id} is a part of {run.parent.root}. Go on with that one")
        if run.is_open:
            if retry or skip:
                raise Misfit(
                    f"{run_id} has not ended: there is nothing yet to try again or to pass over. Resume it without"
                )
            if variables or more:
                raise Misfit(
                    f"{run_id} has not ended, and goes on with the variables and rules that it was begun with. Answer"
                    " what it asks, or cancel it first"
                )
            await self._take_up(run)
            return await self._engine.queries.run(run_id, user)
        thread = await self._engine.queries.messages(run.thread_id, user)
        progress = self.progress(thread)
        opening = progress.opening
        given = dict(variables or {})
        sources = {name: each for name, each in opening.variable_sources.items() if name not in given}
        opening = replace(opening, variables={**opening.variables, **given}, variable_sources=sources)
        failed = progress.failure
        if failed is not None:
            block = failed.block
            if not (retry or skip):
                raise Misfit(_undecided(run, failed), code="needs_decision")
            named = retry or skip
            if named not in (block.id, block.name):
                raise ValidationError(f"expected the block that stopped the run, {block.id}, found {named!r}")
            opening = replace(opening, retried=(block.id,) if retry else (), skipped=() if retry else (block.id,))
            if skip:
                opening = replace(opening, worked=await self._worked(run, block.id))
        elif progress.following is None:
            raise Misfit("the runbook has been run to its end")
        else:
            opening = replace(opening, retried=(), skipped=(), worked={})
        opening = replace(opening, model=model or opening.model, profile=profile or opening.profile)
        start = self._start(opening, progress.runbook, user=user, interactive=interactive, more=more)
        restored = await self._engine.queries.is_restored(run)
        return await self._engine.start(replace(start, thread_id=run.thread_id, restored=restored))

    async def _worked(self, run: Run, block_id: str) -> dict[str, dict[str, JSON]]:
        """What the result of a block that failed does not say."""
        action = next((each for each in run.actions if each.call.id == block_id), None)
        if action is None or not is_unfinished(action):
            return {}
        asked: Sequence[Action] = asked_by(run, action)
        if action.where == "child":
            # It may not have begun, or its words were erased.
            with suppress(NotFound):
                queries = self._engine.queries
                asked = (await queries.run(queries.child_of(action.id))).actions
        return {block_id: work_of(action, asked)}

    async def _take_up(self, run: Run) -> None:
        """The run, and those of its agents and parts: whoever drove one of them may have driven all, and be dead."""
        if not run.is_open:
            return
        # It first: a child that ends meanwhile would answer an attempt that is no longer the last.
        await self._engine.recover(run.id)
        for action in run.open:
            if action.where == "child" and action.started:
                # Not there yet, if its parent was stopped before it began: then the parent begins it.
                with suppress(NotFound):
                    queries = self._engine.queries
                    await self._take_up(await queries.run(queries.child_of(action.id)))

    def _start(
        self, opening: Opening, runbook: Runbook, *, user: UserId, interactive: bool, more: tuple[Rule, ...]
    ) -> Start:
        digest, folder = digest_of(opening.source), opening.folder
        pin = self.trust.pinned("runbook", digest, folder=folder)
        opening = replace(opening, is_trusted=pin is not None)
        opening = replace(opening, programs=pin.programs if pin else None, scripts=pin.scripts if pin else None)
        return Start(
            opening.message(),
            user=user,
            profile=rules.PROFILE,
            door=DOOR,
            origin=opening.path or opening.directory,
            interactive=interactive,
            live=True,
            rules=more,
            document=document_fact(digest, folder, is_trusted=pin is not None),
            title=runbook.name,
            project=opening.directory,
        )

    @staticmethod
    def _check(opening: Opening) -> Runbook:
        runbook = read(opening.source, form=opening.form)
        if hazard := runbook.hazard:
            raise ValidationError(f"{hazard}. Nothing was run")
        return runbook

    @property
    def _engine(self) -> Engine:
        return self.host.engine


def make_runbooks(
    *,
    root: Root,
    runner: Runner,
    roots: Callable[[str], Root],
    agents: Mapping[str, AgentEntry],
    model: str,
    trust: Trust,
    shell: str = "bash",
    secrets: Iterable[Secret] = (),
    outfits: Outfits = NO_OUTFITS,
) -> Runbooks:
    """Everything there is to running documents, but for the engine. `root` is where our own agents work.

    `secrets` are masked in whatever blocks and agents put out, before anything of it is kept or told. The engine has to
    have the tools that the `outfits` name.
    """
    kept = no_words(secrets)
    host, live = Host(), LiveAgents()
    agent_tools = (internal_agent(host, model, outfits), foreign_agent(live, Masking(kept), agents))
    types = (
        *standard_blocks(shell=shell),
        Agent(agent_tools, agents, model, root.path, outfits),
        SubRunbook(sub_runbook(host, trust)),
    )
    by_name = {name: type_ for type_ in types for name in type_.names}
    blocks = tools_of(types)
    asked = asked_tools(live, roots)
    offered = (*document_tools(host, by_name), *file_tools(root), shell_tool(runner))
    names = tuple(tool.spec.name for tool in (*blocks, *asked))
    document_profile = rules.profile(names, requires_sandbox=runner.requires_sandbox)
    return Runbooks(
        by_name,
        tuple(MaskedTool(tool, kept) for tool in (*blocks, *asked, *offered)),
        {document_profile.name: document_profile, **outfits.profiles_of(model, names)},
        host,
        trust,
        agents,
        shell,
        outfits,
    )


def opening_for(
    volume: Volume,
    *,
    directory: Path,
    workspace: str,
    variables: Mapping[str, str],
    model: str = "",
    profile: str = "",
) -> Opening:
    """A first go at a document."""
    place = (volume.source, volume.form, str(directory), workspace, str(volume.path))
    return Opening(*place, {**variables}, model=model, profile=profile)


def _undecided(run: Run, failed: Step) -> str:
    """What happened to the block that stopped a run, and what a person may do about it."""
    block = failed.block
    named = f"block {block.name!r} ({block.id})"
    action = next((each for each in run.actions if each.call.id == block.id), None)
    approval = action.approval if action else None
    answer = approval.resolution if approval else None
    if answer is not None and answer.status == "rejected":
        words = f": {answer.feedback}" if answer.feedback else ""
        said = f"{named} was rejected by {answer.by}, and has not run{words}"
        again = "asks about it again"
    elif answer is not None and answer.status == "expired":
        said, again = f"nobody answered in time whether {named} may run, and it has not", "asks about it again"
    else:
        said = f"{named} did not succeed: {failed.problem}"
        is_part = block.type == "sub-runbook"
        again = "goes on inside it, with the block there that stopped" if is_part else "runs it again"
    return f"{said}. `--retry {block.id}` {again}, `--skip {block.id}` goes on without it"
