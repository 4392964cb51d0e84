"""Which programs a script starts, as far as its words say, and whether those are the ones that a person accepted.

Of a shell's script the words count that its grammar finds where a command may stand, also behind launchers and in
scripts within. Where that is not all (a variable is a command, another language), each word counts that means a program
outside the system's folders, and so do the places of the PATH: what the script makes up by itself is looked for there.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, cast

from pollux.core.errors import ToolError
from pollux.core.messages import JSON
from pollux.runbooks.blocks.block_type import TEXT, Args
from pollux.runbooks.documents import Runbook
from pollux.runbooks.located import UNACCEPTED, WORD, Programs, described, differences, interpreters, located, places_of
from pollux.runbooks.scene import Scene
from pollux.runbooks.templates import has_tags
from pollux.tools.shell.environment import is_writable_by_others
from pollux.tools.shell.judge import commands_in
from pollux.tools.shell.launchers import program
from pollux.tools.shell.programs import INTERPRETERS, SYSTEM_FOLDERS

SYSTEM: Final = "a program of the system"
"""What a file in the system's folders counts as: who can change that one can change everything."""
PATH: Final = "PATH"

PINNED: Final[dict[str, JSON]] = {
    "accepted": {"type": "object"},
    "programs": {"type": "array", "items": {"type": "array", "items": TEXT}},
    "unaccepted": {"type": "array", "items": TEXT},
    "is_unaccepted": {"type": "boolean"},
}
"""What a tool that runs code is given besides, and finds out."""

_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_TAG: Final = re.compile(r"\{%.*?%\}", re.DOTALL)
_VALUE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_SETS_PATH: Final = re.compile(r"""(?<![\w$])PATH\+?=("[^"]*"|'[^']*'|[^\s;&|]*)""")
_HERE: Final = re.compile(r"\$PWD\b|\$\{PWD\}|\$\(pwd\)")
_HOME: Final = re.compile(r"\$HOME\b|\$\{HOME\}")


def scripts_of(runbook: Runbook, *, directory: str, folder: str, shell: str) -> Programs:
    """The programs that the scripts of a document would start now. `shell` is that of terminals which name none."""
    found: list[tuple[str, str]] = []
    env: dict[str, str] = {}
    for block in runbook.blocks:
        told = {name: value for name, value in block.props.items() if isinstance(value, str)}
        match block.type:
            case "env" if not has_tags(f"{told.get('name')}{told.get('value')}"):
                env[told.get("name", "").strip()] = told.get("value", "")
            case "directory" | "local-directory" if (path := told.get("path", "").strip()) and not has_tags(path):
                directory = os.path.normpath(os.path.join(directory, os.path.expanduser(path)))
            case "script" | "terminal" | "run":
                named = told.get("interpreter" if block.type == "script" else "type", "").strip()
                interpreter = named or ("bash" if block.type == "script" else shell)
                code = _VALUE.sub("x", _TAG.sub("\n", told.get("code", "")))
                found += started(interpreter, code, env=env, directory=directory, folder=folder)
            case _:
                pass
    return tuple(dict.fromkeys(found))


def started(interpreter: str, code: str, *, env: Mapping[str, str], directory: str, folder: str) -> Programs:
    """The programs that this code would start there now, and its interpreter. `folder` is the document's."""
    words = interpreter.split()
    if not words or "\0" in interpreter + code:
        return ()
    code = _HOME.sub(lambda _: env.get("HOME", os.path.expanduser("~")), code)
    commands, is_whole = commands_in(code) if os.path.basename(words[0]) in _SHELLS else ((), False)
    # A shell that goes elsewhere, or sets its own PATH, finds other files.
    moves = (argv[1] for argv in commands if argv[0] in ("cd", "pushd") and len(argv) > 1)
    there = [directory, *(os.path.join(directory, os.path.expanduser(move)) for move in moves)]
    places, is_set = _own_places(code, directory)
    look = _Look(env, there, places, folder)
    found = [*look.program(words[0]), *(pair for argv in commands for pair in look.command(argv))]
    if not (is_whole and is_set):
        found += [*look.words(code), *look.places()]
    return tuple(dict.fromkeys(found))


def _own_places(code: str, directory: str) -> tuple[list[str], bool]:
    """The places that the code itself puts into its PATH, and whether they can be told."""
    entries = [entry for value in _SETS_PATH.findall(code) for entry in value.strip("\"'").split(":")]
    entries = [entry for entry in entries if entry not in ("$PATH", "${PATH}", "")]
    told = [os.path.expanduser(_HERE.sub(".", entry)) for entry in entries]
    return [os.path.join(directory, entry) for entry in told if "$" not in entry], not any("$" in each for each in told)


class _Look:
    """Finds what words mean in these directories, with these places besides those of the PATH."""

    def __init__(self, env: Mapping[str, str], directories: list[str], places: list[str], folder: str) -> None:
        self._env = env
        self._directories = directories
        self._places = places
        self._own = [place for place in places_of(env) if not _is_system(place)]
        self._folder = folder

    def command(self, argv: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """The program, and the file of code that it is given."""
        yield from self.program(argv[0])
        if argv[0] in (".", "source") or program(argv) in INTERPRETERS:
            # An option may take a word of its own: the first that is a file is the code.
            yield from next((code for word in argv[1:] if (code := self._code(word))), ())
            # And some take it as a word, in a language of their own.
            yield from self.words(" ".join(argv[1:]))

    def _code(self, word: str) -> Programs:
        # A shell looks for it on the PATH, too.
        more = [] if "/" in word else [*self._places, *places_of(self._env)]
        folders = [*self._directories, *more]
        paths = (os.path.join(folder, os.path.expanduser(word)) for folder in folders if not word.startswith("-"))
        return tuple((word, self._described(path)) for path in paths if os.path.isfile(path))

    def program(self, word: str) -> Iterator[tuple[str, str]]:
        """Every file that may start by this name, and what interprets it."""
        for path in self._files(word):
            yield word, self._described(path)
            if not self._is_of_system(path):
                for each in interpreters(path):
                    inner = located(each, env=self._env, directory=self._directories[0])
                    yield from [(each, self._described(inner))] if inner else []

    def words(self, code: str) -> Iterator[tuple[str, str]]:
        """Each word that means a program which is not the system's."""
        names = {name for place in (*self._own, *self._places) for name in _names(place)}
        for word in dict.fromkeys(WORD.findall(code)):
            # Most of what looks like a path is no program.
            if word in names or ("/" in word and any(os.access(path, os.X_OK) for path in self._files(word))):
                yield from (pair for pair in self.program(word) if pair[1] != SYSTEM)

    def places(self) -> Iterator[tuple[str, str]]:
        """Where else than in the system's folders programs are looked for."""
        yield from ((PATH, place) for place in self._own)

    def _files(self, word: str) -> Iterator[str]:
        word = os.path.expanduser(word)
        for directory in self._directories:
            if path := located(word, env=self._env, directory=directory):
                yield path
            if "/" not in word:
                break
        paths = (os.path.join(place, word) for place in self._places if "/" not in word)
        yield from (path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK))

    def _described(self, path: str) -> str:
        return SYSTEM if self._is_of_system(path) else described(path, self._folder)

    def _is_of_system(self, path: str) -> bool:
        real = os.path.realpath(path)
        is_ours = real.startswith(self._folder.rstrip(os.sep) + os.sep) or is_writable_by_others(real)
        return _is_system(os.path.dirname(path)) and not is_ours


def _is_system(place: str) -> bool:
    return os.path.normpath(place) in SYSTEM_FOLDERS and not is_writable_by_others(place)


def _names(place: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(place)
    return []


# A call


def accepted_with(scene: Scene) -> dict[str, JSON]:
    """Where the document lies, and the programs that a person accepted with its scripts."""
    # Whoever accepted it before programs were pinned has seen none: only the system's count as accepted.
    programs: JSON = None if scene.programs is None else [[word, file] for word, file in scene.scripts or ()]
    return {"folder": scene.folder, "programs": programs}


def pinned(interpreter: str, args: Args) -> Args:
    """The arguments with what would start, and what of that nobody accepted: worked out here, whatever they say."""
    found = _started(interpreter, args)
    accepted = cast("dict[str, JSON]", args.get("accepted", {})).get("programs")
    changed = [] if accepted is None else unaccepted(found, _pairs(accepted))
    return {
        "accepted": {},
        **args,
        "programs": [[word, file] for word, file in found],
        "unaccepted": list(changed),
        "is_unaccepted": bool(changed),
    }


def unaccepted(found: Iterable[tuple[str, str]], accepted: Iterable[tuple[str, str]]) -> list[str]:
    """What is not as it was accepted, in words for people. A program of the system needs nobody's word."""
    accepted = tuple(accepted)
    known = {word for word, _ in accepted}
    return differences((each for each in found if each[1] != SYSTEM or each[0] in known), accepted)


def subjects_of_programs(args: Args) -> frozenset[str]:
    return frozenset(f"{UNACCEPTED}{each}" for each in cast("list[str]", args.get("unaccepted", [])))


def careful(args: Args) -> str:
    """What a person should see of it beside the code."""
    return "".join(f"\ncareful: {each}" for each in cast("list[str]", args.get("unaccepted", [])))


def check_same(interpreter: str, args: Args) -> None:
    """Raises ToolError where another program would start than the one that was decided about."""
    if "programs" not in args:
        # Decided about by a version that did not look.
        return
    if changed := differences(_started(interpreter, args), _pairs(args.get("programs"))):
        raise ToolError(f"nothing was run, because a program changed after the decision: {'; '.join(changed)}")


def shown(programs: Programs) -> Programs:
    """Those of which a person should know: not the system's, and the PATH in one line."""
    places = [file for word, file in programs if word == PATH]
    line = ((PATH, os.pathsep.join(places)),) if places else ()
    return (*(each for each in programs if each[0] != PATH and each[1] != SYSTEM), *line)


def _started(interpreter: str, args: Args) -> Programs:
    folder = cast("dict[str, str]", args.get("accepted", {})).get("folder") or str(args["directory"])
    env = cast("dict[str, str]", args["env"])
    return started(interpreter, str(args["code"]), env=env, directory=str(args["directory"]), folder=folder)


def _pairs(given: JSON) -> Programs:
    return tuple((str(word), str(file)) for word, file in cast("list[list[str]]", given or []))
