"""Which programs a script starts, and which files it gives them as code, as far as its words say.

Of a shell's script the words count that its grammar finds where a command may stand, also behind launchers and in
scripts within. Where that is not all (a variable is a command, another language), each word counts that means a program
outside the system's folders, and so do the places of the PATH: what the script makes up by itself is looked for there.
"""

import glob
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Final

from pollux.runbooks.blocks.handed import CODE_BY, CODE_NAMES, FOREIGN, HERE, handed, values_of, words_of
from pollux.runbooks.blocks.spelling import spelled_out
from pollux.runbooks.documents import Runbook
from pollux.runbooks.located import (
    NOT_FOUND,
    WORD,
    Programs,
    described,
    differences,
    folder_described,
    interpreters,
    is_open,
    is_within,
    located,
    places_of,
)
from pollux.runbooks.templates import has_tags
from pollux.tools.shell.environment import is_writable_by_others
from pollux.tools.shell.judge import commands_in
from pollux.tools.shell.launchers import indirect, program
from pollux.tools.shell.programs import INTERPRETERS, SYSTEM_FOLDERS, WRAPPERS
from pollux.tools.shell.steering import steers

SYSTEM: Final = "a program of the system"
"""What a file in the system's folders counts as: who can change that one can change everything."""
PATH: Final = "PATH"

MOST_DIRECTORIES: Final = 64
"""In which a script may work, that is looked into."""
MOST_BESIDE: Final = 16
"""Folders of a CDPATH."""
MOST_FILES: Final = 1_000
"""That one pattern names."""
_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_TAG: Final = re.compile(r"\{%.*?%\}", re.DOTALL)
_VALUE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_SETS_PATH: Final = re.compile(r"""(?<![\w$])PATH\+?=("[^"]*"|'[^']*'|[^\s;&|]*)""")
_SETS_CDPATH: Final = re.compile(r"""(?<![\w$])CDPATH\+?=("[^"]*"|'[^']*'|[^\s;&|]*)""")
_MOVES: Final = frozenset({"--chdir", "--working-directory", "--wd", "--wdns"})
_BETWEEN: Final = re.compile(r"[:!@]")
"""What may stand before a program in a word: `exec:./job`."""
_LOADS: Final = re.compile(r"\b(?:from|import|require|require_relative|use|load|__import__|import_module)\b([^\n;]*)")
_MODULES: Final = (".py", "/__init__.py", ".js", ".cjs", ".mjs", ".json", "/index.js", ".rb", ".pm", ".lua", ".php")
_HOME: Final = re.compile(r"\$HOME\b|\$\{HOME\}")


def scripts_of(runbook: Runbook, *, directory: str, places: tuple[str, ...], shell: str) -> Programs:
    """The programs that the scripts of a document would start now. `shell` is that of terminals which name none.

    `places` are the folders that are open to others, besides those in which the scripts work.
    """
    places = (*places, directory)
    found: list[tuple[str, str]] = []
    env: dict[str, str] = {}
    for block in runbook.blocks:
        told = {name: value for name, value in block.props.items() if isinstance(value, str)}
        match block.type:
            case "env" if not has_tags(f"{told.get('name')}{told.get('value')}"):
                env[told.get("name", "").strip()] = told.get("value", "")
            case "directory" | "local-directory" if (path := told.get("path", "").strip()) and not has_tags(path):
                directory = os.path.normpath(os.path.join(directory, os.path.expanduser(path)))
                places = (*places, directory)
            case "script" | "terminal" | "run":
                named = told.get("interpreter" if block.type == "script" else "type", "").strip()
                interpreter = named or ("bash" if block.type == "script" else shell)
                code = _VALUE.sub("x", _TAG.sub("\n", told.get("code", "")))
                found += started(interpreter, code, env=env, directory=directory, places=places)
            case _:
                pass
    return tuple(dict.fromkeys(found))


def started(
    interpreter: str, code: str, *, env: Mapping[str, str], directory: str, places: tuple[str, ...]
) -> Programs:
    """The programs that this code would start there now, and its interpreter. `places` are open to others."""
    words = interpreter.split()
    if not words or "\0" in interpreter + code:
        return ()
    code = _HOME.sub(lambda _: env.get("HOME", os.path.expanduser("~")), code)
    is_shell = os.path.basename(words[0]) in _SHELLS
    code = spelled_out(code, interpreter=interpreter) if is_shell else code
    commands, is_whole = commands_in(code) if is_shell else ((), False)
    # A shell that goes elsewhere, or sets its own PATH, finds other files.
    there = _directories(directory, commands, _moves_by(code, env))
    own, is_set = _own_places(code, directory)
    look = _Look(env, there, own, places)
    found = [*look.program(words[0]), *(pair for argv in commands for pair in look.command(argv))]
    if not (is_whole and is_set):
        found += [*look.words(code), *look.places()]
    found += look.handed(code) if is_shell else look.foreign(code)
    found += _of_line(words, env=env, directory=directory, places=places)
    return tuple(dict.fromkeys(found))


def _of_line(words: list[str], *, env: Mapping[str, str], directory: str, places: tuple[str, ...]) -> Programs:
    """The files that the interpreter's own words give it as code, before that of the block."""
    name = program(words)
    # As it is started, with a code that does nothing: what it takes by its input is not among its words.
    line = shlex.join([*words, f"-{CODE_BY.get(name, 'c')[0]}", ":"])
    if not words[1:]:
        return ()
    look = _Look(env, [directory], [], places)
    commands = (argv for argv in commands_in(line)[0] if argv[0] != ":")
    return (*look.handed(line), *(pair for argv in commands for pair in look.program(argv[0])))


def unaccepted(found: Iterable[tuple[str, str]], accepted: Iterable[tuple[str, str]]) -> list[str]:
    """What is not as it was accepted, in words for people. A program of the system needs nobody's word."""
    accepted = tuple(accepted)
    known = {word for word, _ in accepted}
    # A variable of another document, around this one or within it, was not there when this one was accepted.
    others = (each for each in found if not steers(each[0].partition("=")[0]) or "=" not in each[0] or each[0] in known)
    return differences((each for each in others if each[1] != SYSTEM or each[0] in known), accepted)


def shown(programs: Programs) -> Programs:
    """Those of which a person should know: not the system's, and the PATH in one line."""
    places = [file for word, file in programs if word == PATH]
    line = ((PATH, os.pathsep.join(places)),) if places else ()
    return (*(each for each in programs if each[0] != PATH and each[1] not in (SYSTEM, NOT_FOUND)), *line)


def code_of(script: str, *, env: Mapping[str, str], directory: str, places: tuple[str, ...]) -> Programs:
    """The files of code alone, without those of the system."""
    if "\0" in script:
        return ()
    script = spelled_out(script)
    look = _Look(env, _directories(directory, commands_in(script)[0], _moves_by(script, env)), [], places)
    return tuple(dict.fromkeys(pair for pair in look.handed(script) if pair[1] not in (SYSTEM, NOT_FOUND)))


def _directories(directory: str, commands: Iterable[tuple[str, ...]], beside: tuple[str, ...]) -> list[str]:
    """Where commands of a script may work: where it begins, and wherever it goes from there, also by a CDPATH."""
    found = [directory]
    for argv in commands:
        for target in map(os.path.expanduser, _targets(argv)):
            moved = (os.path.normpath(os.path.join(each, by, target)) for each in found for by in ("", *beside))
            found += [each for each in dict.fromkeys(moved) if each not in found and os.path.isdir(each)]
            del found[MOST_DIRECTORIES:]
    return found


def _targets(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Where a command goes, or its launcher for it: `cd x`, `env -C x`, `sudo --chdir=x`."""
    if argv[0] in ("cd", "pushd"):
        return argv[-1:] if len(argv) > 1 else ()
    return tuple(values_of(argv[1:], "CD", _MOVES)) if program(argv) in WRAPPERS else ()


def _moves_by(code: str, env: Mapping[str, str]) -> tuple[str, ...]:
    values = [*_SETS_CDPATH.findall(code), env.get("CDPATH", "")]
    told = (HERE.sub(".", each) for value in values for each in value.strip("\"'").split(":"))
    return tuple(dict.fromkeys(map(os.path.expanduser, told)))[:MOST_BESIDE]


def _own_places(code: str, directory: str) -> tuple[list[str], bool]:
    """The places that the code itself puts into its PATH, and whether they can be told."""
    entries = [entry for value in _SETS_PATH.findall(code) for entry in value.strip("\"'").split(":")]
    entries = [entry for entry in entries if entry not in ("$PATH", "${PATH}", "")]
    told = [os.path.expanduser(HERE.sub(".", entry)) for entry in entries]
    return [os.path.join(directory, entry) for entry in told if "$" not in entry], not any("$" in each for each in told)


class _Look:
    """Finds what words mean in these directories, with these places besides those of the PATH."""

    def __init__(
        self, env: Mapping[str, str], directories: list[str], places: list[str], opened: tuple[str, ...]
    ) -> None:
        self._env = env
        self._directories = directories
        self._places = places
        self._own = [place for place in places_of(env) if not _is_system(place)]
        self._open = opened
        self._known: dict[str, str] = {}
        self._began: dict[str, frozenset[str]] = {}
        """How the names of what is in a directory begin."""

    def command(self, argv: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """The program, and the file of code that it is given."""
        yield from self.program(argv[0])
        if argv[0] in (".", "source") or program(argv) in INTERPRETERS or indirect(argv):
            # Some take code as a word, in a language of their own, and many a program or a file of code.
            text = " ".join(argv[1:])
            yield from self.words(f"{text} {_BETWEEN.sub(' ', text)}")
            yield from self._of_words(word for word in words_of(text) if CODE_NAMES.search(word))

    def _code(self, word: str) -> Programs:
        return tuple((word, self._described(path)) for path in self._paths(word))

    def _paths(self, word: str) -> Iterator[str]:
        # A shell looks for it on the PATH, too.
        more = [] if "/" in word else [*self._places, *places_of(self._env)]
        paths = (os.path.join(folder, os.path.expanduser(word)) for folder in (*self._directories, *more))
        yield from (path for path in paths if not word.startswith("-") and os.path.isfile(path))

    def handed(self, script: str) -> Iterator[tuple[str, str]]:
        """The files that a shell's script gives an interpreter as code."""
        found = handed(script, is_file=lambda word: any(self._paths(word)))
        texts = (*found.texts, *self._env.values()) if found.texts else ()
        words = list(dict.fromkeys(word for text in dict.fromkeys(texts) for word in words_of(text)))
        for name in dict.fromkeys(found.names):
            yield from self._code(name) or self._matching(name, words)
        yield from self._of_words(words)
        yield from self._of_variables()
        for text in dict.fromkeys(found.folders):
            yield from self._of_folders(text)
        for code in dict.fromkeys(found.foreign):
            yield from self.foreign(code)

    def foreign(self, code: str) -> Iterator[tuple[str, str]]:
        """The files that code in another language seems to run."""
        words = words_of(code)
        starts = not FOREIGN.isdisjoint(words)
        yield from self._of_words(word for word in words if starts or CODE_NAMES.search(word))
        yield from self._of_modules(dict.fromkeys(word for text in _LOADS.findall(code) for word in words_of(text)))

    def _of_modules(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """What such code loads by name, from where it works or where its words say."""
        for name in names:
            path = name if name.startswith(("./", "../")) else name.strip(".").replace("::", "/").replace(".", "/")
            first = path.partition("/")[0]
            for directory in self._directories:
                if first not in (".", "..") and first not in self._beginnings(directory):
                    continue
                files = (f"{path}{end}" for end in _MODULES if os.path.isfile(os.path.join(directory, f"{path}{end}")))
                opened = ((file, os.path.join(directory, file)) for file in files)
                yield from ((file, self._described(at)) for file, at in opened if is_open(at, self._open))

    def _beginnings(self, directory: str) -> frozenset[str]:
        if directory not in self._began:
            self._began[directory] = frozenset(each.partition(".")[0] for each in _names(directory))
        return self._began[directory]

    def _of_variables(self) -> Iterator[tuple[str, str]]:
        """What the document has set for its programs may name code, such as BASH_ENV."""
        for name, value in self._env.items():
            for word in words_of(value) if name != PATH and steers(name) else ():
                files = [self._described(path) for _, path in self._open_files(word)]
                yield from ((f"{name}={word}", file) for file in files or [NOT_FOUND])

    def _of_words(self, words: Iterable[str]) -> Iterator[tuple[str, str]]:
        for word in words:
            yield from ((name, self._described(path)) for name, path in self._open_files(word))

    def _open_files(self, word: str) -> Iterator[tuple[str, str]]:
        """Of each file that a word may mean: the word. Only what others may write."""
        for directory in self._directories:
            path = os.path.join(directory, os.path.expanduser(word))
            paths = [path] if os.path.isfile(path) else self._matches(word, directory)
            yield from ((word, each) for each in paths if is_open(each, self._open))

    def _matching(self, pattern: str, words: list[str]) -> Iterator[tuple[str, str]]:
        """Of each file that a pattern names: the pattern. A folder that is made up is looked for among these words."""
        tails = [pattern]
        if (tail := pattern.removeprefix("*").lstrip("/")) != pattern:
            folders = (word for word in words if pattern.startswith("*/") and self._is_folder(word))
            tails += [tail, *(os.path.join(folder, tail) for folder in folders)]
        for directory in self._directories:
            for each in tails:
                path = os.path.join(directory, each)
                paths = [path] if os.path.isfile(path) else self._matches(each, directory)
                yield from ((pattern, self._described(path)) for path in paths)

    def _is_folder(self, word: str) -> bool:
        return any(os.path.isdir(os.path.join(each, os.path.expanduser(word))) for each in self._directories)

    def _matches(self, pattern: str, directory: str) -> list[str]:
        if not re.search(r"[*?\[{]", pattern) or pattern.strip("*/.") == "":
            return []
        pattern = os.path.expanduser(re.sub(r"\{[^{}]*\}", "*", pattern))
        found = glob.iglob(os.path.join(glob.escape(directory), pattern), recursive=True, include_hidden=True)
        return [path for path in islice(found, MOST_FILES) if os.path.isfile(path)]

    def _of_folders(self, text: str) -> Iterator[tuple[str, str]]:
        """Of the folders that a statement looks through: all their files as one."""
        words = words_of(text)
        folders = [word for word in words if "/" in word or word == "."] or ["."]
        names = [word for word in words if re.search(r"[*?\[]", word) and "/" not in word]
        for word in folders:
            for directory in self._directories:
                path = os.path.join(directory, os.path.expanduser(word))
                if os.path.isdir(path) and (os.path.samefile(path, directory) or is_open(path, self._open)):
                    yield word, folder_described(path, names)

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
        if path not in self._known:
            self._known[path] = SYSTEM if self._is_of_system(path) else described(path, self._open)
        return self._known[path]

    def _is_of_system(self, path: str) -> bool:
        folder = os.path.dirname(path)
        # In `/` everything is beneath what is open. The system's folders are the system's all the same.
        beneath = [place for place in self._open if not is_within(folder, [place])]
        return _is_system(folder) and not is_open(path, beneath)


def _is_system(place: str) -> bool:
    return os.path.normpath(place) in SYSTEM_FOLDERS and not is_writable_by_others(place)


def _names(place: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(place)
    return []
