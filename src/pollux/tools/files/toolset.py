"""The file tools that a model is offered. Those that read ask nobody; those that write do.

Arguments are settled by their spelling before anybody is asked: the path that is shown is the path that is used, and
what is protected or outside is refused at once. Rules see that path as the subject; of a glob, the folder it begins in.
"""

from collections.abc import Callable
from typing import Final

from pollux.core.errors import PolicyError, ToolError, ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import Reconciled, Tool, ToolContext, ToolSpec
from pollux.tools.define import Args, FunctionTool
from pollux.tools.files.change import change_once, glance, outcome
from pollux.tools.files.glob import branches_of, glob
from pollux.tools.files.names import Names, shown
from pollux.tools.files.root import MAX_BYTES, Root
from pollux.tools.files.search import MAX_PATTERN, search
from pollux.tools.files.text import decoded, encoded
from pollux.tools.threads import in_thread

MAX_LISTED: Final = 2_000
MAX_SHOWN: Final = 1_500

_WILD: Final = frozenset("*?[{")


def _schema(*, optional: tuple[str, ...] = (), **properties: JSON) -> dict[str, JSON]:
    required: list[JSON] = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _path(what: str) -> JSON:
    return _text(f"{what}, relative to the working folder")


def _text(description: str, *, most: int | None = None) -> JSON:
    schema: dict[str, JSON] = {"type": "string", "description": description, "minLength": 1}
    return schema if most is None else {**schema, "maxLength": most}


def _long(description: str) -> dict[str, JSON]:
    return {"type": "string", "description": description, "maxLength": MAX_BYTES}


WRITE_FILE: Final = ToolSpec(
    "write_file",
    "Make a text file, or replace the whole of one. Missing folders are made.",
    _schema(path=_path("the file"), content=_long("the whole new content")),
    side_effect=True,
    # Another's later change must not be overwritten by a repeat: look first.
    repeat="checkable",
    parallel=False,
)


def file_tools(root: Root) -> list[Tool]:
    """read_file, list_directory, glob, search, write_file and replace, beneath the root."""
    return [_read_file(root), _list_directory(root), _glob(root), _search(root), _write_file(root), _replace(root)]


def _read_file(root: Root) -> Tool:
    spec = ToolSpec("read_file", "Read a text file.", _schema(path=_path("the file")))

    def run(context: ToolContext, args: Args) -> dict[str, JSON]:
        content = root.read(str(args["path"]))
        if content is None:
            raise ToolError("there is no file at this path. list_directory or glob show what there is")
        return {"content": decoded(content)}

    return FunctionTool(spec, run, prepare=_settle(root.readable_names), subjects=_subject, place=str(root.path))


def _list_directory(root: Root) -> Tool:
    spec = ToolSpec(
        "list_directory", "List what is in a folder.", _schema(path=_path("the folder"), optional=("path",))
    )

    def run(context: ToolContext, args: Args) -> dict[str, JSON]:
        entries = root.list(str(args["path"]), limit=MAX_LISTED + 1)
        listed: list[JSON] = [{"name": entry.name, "type": entry.type} for entry in entries[:MAX_LISTED]]
        note = f"there are more than {MAX_LISTED:,} entries; find the others with glob" if entries[MAX_LISTED:] else ""
        return _noted({"entries": listed, "count": len(listed)}, note)

    return FunctionTool(spec, run, prepare=_settle(root.readable_names), subjects=_subject, place=str(root.path))


def _glob(root: Root) -> Tool:
    spec = ToolSpec(
        "glob",
        "Find files by name. ** stands for any folders, {a,b} for either.",
        _schema(pattern=_text("such as src/**/*.py", most=MAX_PATTERN)),
    )

    def prepare(args: Args) -> Args:
        names = _spelled(root.names, str(args["pattern"]))
        pattern = shown(names)
        branches_of(pattern)
        return {**args, "pattern": pattern}

    def subjects(args: Args) -> frozenset[str]:
        names = str(args["pattern"]).split("/")[:-1]
        fixed = [name for at, name in enumerate(names) if not _WILD & set("".join(names[: at + 1]))]
        return frozenset({shown(fixed)})

    def run(context: ToolContext, args: Args) -> dict[str, JSON]:
        found = glob(root, str(args["pattern"]))
        return _noted({"paths": list(found.paths), "count": len(found.paths)}, found.note)

    return FunctionTool(spec, run, prepare=prepare, subjects=subjects, place=str(root.path))


def _search(root: Root) -> Tool:
    pattern = _text("a Python regular expression, matched against one line at a time", most=MAX_PATTERN)
    where = _path("the file or folder to search")
    spec = ToolSpec(
        "search", "Search text files for a pattern.", _schema(pattern=pattern, path=where, optional=("path",))
    )

    def run(context: ToolContext, args: Args) -> dict[str, JSON]:
        matches = search(root, str(args["pattern"]), str(args["path"]))
        lines: list[JSON] = [{"path": match.path, "line": match.line, "text": match.text} for match in matches.found]
        return _noted({"matches": lines, "count": len(lines)}, matches.note)

    return FunctionTool(spec, run, prepare=_settle(root.readable_names), subjects=_subject, place=str(root.path))


def _write_file(root: Root) -> Tool:
    def prepare(args: Args) -> Args:
        _check_text("content", args["content"])
        return _settle(root.writable_names)(args)

    def run(context: ToolContext, args: Args) -> dict[str, JSON]:
        content = encoded(args["content"])
        root.write(str(args["path"]), content)
        return {"path": args["path"], "bytes": len(content)}

    async def reconcile(context: ToolContext, args: Args) -> Reconciled:
        content = encoded(args["content"])
        found = await in_thread(root.read, str(args["path"]))
        if found is None:
            return Reconciled("not_done")
        # Other content may be what was there before, or what somebody wrote after us.
        return (
            Reconciled("done", {"path": args["path"], "bytes": len(content)})
            if found == content
            else Reconciled("unknown")
        )

    def preview(args: Args) -> str:
        content = str(args["content"])
        more = "\n…" if len(content) > MAX_SHOWN else ""
        return f"Write {len(encoded(content)):,} bytes to {args['path']}\n\n{content[:MAX_SHOWN]}{more}"

    return FunctionTool(
        WRITE_FILE, run, prepare=prepare, subjects=_subject, preview=preview, reconcile=reconcile, place=str(root.path)
    )


def _replace(root: Root) -> Tool:
    spec = ToolSpec(
        "replace",
        "Change one place in a text file. The old text must be in the file exactly once.",
        _schema(
            path=_path("the file"),
            old={**_long("the text to replace, quoted exactly"), "minLength": 1},
            new=_long("the text to put there"),
        ),
        side_effect=True,
        repeat="checkable",
        parallel=False,
    )

    def prepare(args: Args) -> Args:
        _check_text("old", args["old"])
        _check_text("new", args["new"])
        if args["old"] == args["new"]:
            raise ValidationError("new: expected another text than `old`; there is nothing to change")
        return _settle(root.writable_names)(args)

    def run(context: ToolContext, args: Args) -> dict[str, JSON]:
        old, new = str(args["old"]), str(args["new"])
        root.edit(str(args["path"]), lambda content: encoded(change_once(decoded(content), old, new)))
        return {"path": args["path"], "replacements": 1}

    async def reconcile(context: ToolContext, args: Args) -> Reconciled:
        content = await in_thread(root.read, str(args["path"]))
        found = outcome(None if content is None else decoded(content), str(args["old"]), str(args["new"]))
        return Reconciled(found, {"path": args["path"], "replacements": 1} if found == "done" else None)

    def preview(args: Args) -> str:
        return f"Change {args['path']}\n\n{glance(str(args['old']), str(args['new']))}"

    return FunctionTool(
        spec, run, prepare=prepare, subjects=_subject, preview=preview, reconcile=reconcile, place=str(root.path)
    )


def _settle(names_of: Callable[[str], Names]) -> Callable[[Args], Args]:
    """Arguments with the path as it will be used and shown; without one, the folder itself."""
    return lambda args: {**args, "path": shown(_spelled(names_of, str(args.get("path", "."))))}


def _spelled(names_of: Callable[[str], Names], path: str) -> Names:
    try:
        return names_of(path)
    except PolicyError as problem:
        # A call that cannot be allowed is refused before anybody is asked about it.
        raise ValidationError(str(problem), code=problem.code) from None


def _check_text(name: str, text: JSON) -> None:
    size = len(encoded(text, name=name))
    if size > MAX_BYTES:
        raise ValidationError(f"{name}: expected at most {MAX_BYTES / 1e6:g} MB, found {size / 1e6:.1f} MB")


def _subject(args: Args) -> frozenset[str]:
    return frozenset({str(args["path"])})


def _noted(result: dict[str, JSON], note: str) -> dict[str, JSON]:
    return {**result, "note": note} if note else result
