"""The documents of the folder: listed, shown, and, where that is allowed, changed.

A change names the digest of what it replaces: what somebody else wrote meanwhile is never lost.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from msgspec import UNSET

from pollux.asgi.endpoint import Call
from pollux.asgi.errors import HttpError
from pollux.core.errors import NotFound, PolicyError, ToolError, ValidationError
from pollux.runbooks.documents import (
    AcpSource,
    AgentBlock,
    AgentCapabilities,
    Block,
    InternalSource,
    Runbook,
    agent_of,
    decoded,
    form_of,
    read,
    with_block,
)
from pollux.runbooks.http.runtime import RunbookRuntime
from pollux.runbooks.http.shapes import (
    AcpAgentView,
    AgentView,
    BlockView,
    CapabilitiesView,
    DocumentView,
    InternalAgentView,
    NoticeView,
    ProgramView,
    RunbookItem,
    RunbookPage,
)
from pollux.runbooks.opening import folder_of
from pollux.runbooks.runtime import Started
from pollux.runbooks.shelf import SUFFIXES, Volume, digest_of
from pollux.tools.threads import in_thread

CHANGED = "document_changed"
PROJECT_FILE = "pollux.toml"


async def listed(runtime: RunbookRuntime, call: Call) -> RunbookPage:
    """The documents, by path."""
    return await in_thread(_page, runtime, call.query.limit, call.query.before)


async def shown(runtime: RunbookRuntime, call: Call) -> DocumentView:
    """One document, also one that cannot be read: whoever mends it needs to see it."""
    return await in_thread(_shown, runtime, call.query.path)


async def replaced(runtime: RunbookRuntime, call: Call) -> DocumentView:
    """Another text in place of the one that has this digest."""

    def change(_: str) -> str:
        source: str = call.body.source
        return read(source, form=form_of(source)).source

    return await in_thread(_changed, runtime, call.query.path, call.body.digest, change)


async def patched(runtime: RunbookRuntime, call: Call) -> DocumentView:
    """Other properties of one block. Every other line stays as it is."""

    def change(source: str) -> str:
        runbook = read(source, form=form_of(source))
        block = runbook.block(call.path["id"])
        if block is None:
            raise NotFound(f"there is no block {call.path['id'][:80]!r} in this runbook")
        return with_block(runbook, replace(block, props={**block.props, **call.body.props})).source

    return await in_thread(_changed, runtime, call.query.path, call.body.digest, change)


def volume_at(runtime: RunbookRuntime, path: str) -> Volume:
    """A document of the folder by its path. Raises NotFound for whatever is no document there."""
    names = path.split("/")
    # Only what the list tells: neither other files of the folder nor a second name for the same one.
    is_listed = path.endswith(SUFFIXES) and not any(not name or name.startswith(".") for name in names)
    if not is_listed or "node_modules" in names:
        raise NotFound(f"there is no runbook {path[:200]!r}")
    try:
        return runtime.shelf.at(path)
    except OSError:
        raise NotFound(f"there is no runbook {path[:200]!r}") from None


def path_of(runtime: RunbookRuntime, path: str) -> str:
    """A document's path as the list tells it; one from elsewhere as it is."""
    try:
        return Path(path).relative_to(runtime.shelf.folder).as_posix()
    except ValueError:
        return path


def changed_meanwhile(what: str = "the document is") -> HttpError:
    return HttpError(409, CHANGED, f"{what} not the one of this digest any more. Read it again, then decide")


def _page(runtime: RunbookRuntime, limit: int, before: str | None) -> RunbookPage:
    paths = sorted(path_of(runtime, str(path)) for path in runtime.shelf.paths())
    rest = paths[bisect_right(paths, before) :] if before is not None else paths
    trusted = {(pin.digest, pin.folder) for pin in runtime.runbooks.trust.list() if pin.kind == "runbook"}
    items = [_item(runtime, path, trusted) for path in rest[:limit]]
    return RunbookPage(items=items, next=rest[limit - 1] if len(rest) > limit else None)


def _item(runtime: RunbookRuntime, path: str, trusted: set[tuple[str, str]]) -> RunbookItem:
    digest, folder, runbook, error = "", "", None, ""
    try:
        # Not read blindly: what is called like a document may be a pipe.
        found = volume_at(runtime, path)
        digest, folder = found.digest, folder_of(str(found.path), "")
        runbook = found.read()
    except (ValidationError, NotFound) as problem:
        error = str(problem)
    return RunbookItem(
        path=path,
        id=runbook.id if runbook else "",
        name=runbook.name if runbook else "",
        digest=digest,
        trusted=(digest, folder) in trusted,
        blocks=len(runbook.blocks) if runbook else 0,
        warnings=[notice.text for notice in runbook.warnings] if runbook else [],
        error=error,
    )


def _shown(runtime: RunbookRuntime, path: str) -> DocumentView:
    return _view(runtime, path, volume_at(runtime, path))


def _changed(runtime: RunbookRuntime, path: str, digest: str, change: Callable[[str], str]) -> DocumentView:
    if not runtime.editable:
        raise PolicyError("documents are not changed here. `editable = true` in [runbooks] allows it")
    volume_at(runtime, path)
    made: list[str] = []

    def checked(content: bytes) -> bytes:
        source = decoded(content)
        if digest_of(source) != digest:
            raise changed_meanwhile()
        made.append(change(source))
        return made[-1].encode()

    try:
        runtime.root.edit(path, checked)
    except ToolError as problem:
        # Somebody was faster, or the file cannot be replaced where it lies.
        raise HttpError(409, CHANGED, str(problem)) from None
    source = made[-1]
    return _view(runtime, path, Volume(runtime.shelf.folder / path, source, form_of(source)))


def _view(runtime: RunbookRuntime, path: str, found: Volume) -> DocumentView:
    runbook, error = None, ""
    try:
        runbook = found.read()
    except ValidationError as problem:
        error = str(problem)
    programs = programs_at(runtime, found) if runbook else Started()
    return DocumentView(
        path=path,
        source=found.source,
        form=found.form,
        digest=found.digest,
        trusted=runtime.runbooks.is_trusted(found),
        editable=runtime.editable,
        id=runbook.id if runbook else "",
        name=runbook.name if runbook else "",
        version=runbook.version if runbook else 0,
        blocks=[_block(runtime, block) for block in runbook.blocks] if runbook else [],
        warnings=_notices(runbook) if runbook else [],
        error=error,
        programs=[ProgramView(word=word, file=file) for word, file in programs.shown],
        programs_digest=programs.digest if runbook else "",
    )


def workspace_of(directory: Path) -> Path:
    """The folder of the nearest `pollux.toml`, or the document's own."""
    return next((each for each in (directory, *directory.parents) if (each / PROJECT_FILE).is_file()), directory)


def programs_at(runtime: RunbookRuntime, found: Volume) -> Started:
    """What it would start now. Raises ValidationError for a document that cannot be read."""
    directory = found.path.parent.resolve()
    return runtime.runbooks.programs(found, directory=directory, workspace=workspace_of(directory))


def _notices(runbook: Runbook) -> list[NoticeView]:
    return [
        NoticeView(text=notice.text, block=notice.block, line=notice.line, is_hazard=notice.is_hazard)
        for notice in runbook.warnings
    ]


def _block(runtime: RunbookRuntime, block: Block) -> BlockView:
    return BlockView(
        id=block.id,
        type=block.type,
        name=block.name,
        props=dict(block.props),
        content=block.content,
        line=block.line,
        depth=block.depth,
        runs=block.type in runtime.runbooks.types,
        agent=_agent(agent_of(block)) if block.type == "agent" else None,
    )


def _agent(block: AgentBlock) -> AgentView:
    return AgentView(
        source=_source(block.source),
        prompt=block.prompt,
        system_prompt=block.system_prompt,
        capabilities=capabilities_view(block.capabilities),
        timeout_seconds=block.timeout_seconds,
        working_directory=block.working_directory,
    )


def _source(source: AcpSource | InternalSource) -> InternalAgentView | AcpAgentView:
    if isinstance(source, AcpSource):
        return AcpAgentView(command=source.command, args=list(source.args), env=dict(source.env))
    chosen = source.model
    return InternalAgentView(
        model=chosen.model if chosen else None,
        maker=chosen.maker if chosen else None,
        uri=chosen.uri if chosen else None,
        profile=source.profile or UNSET,
    )


def capabilities_view(capabilities: AgentCapabilities) -> CapabilitiesView:
    """What an agent may do."""
    return CapabilitiesView(
        read_files=capabilities.read_files,
        write_files=capabilities.write_files,
        execute_commands=capabilities.execute_commands,
        always_allow_tools=capabilities.always_allow_tools,
    )
