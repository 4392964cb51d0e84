"""Which words of a script name the code that an interpreter is given.

Where literal words say it, those count: `sh deploy.sh`, `awk -f sum.awk`. Where it is made up (`sh $file`) or comes by
the input (`cat file | sh`), every word counts that may name it: of the statement, or of the whole script. What a script
merely reads or writes does not count.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from itertools import islice, zip_longest
from typing import Final

from pollux.core.frozen import frozen
from pollux.tools.shell.judge import commands_in
from pollux.tools.shell.launchers import indirect, program
from pollux.tools.shell.parse import statements
from pollux.tools.shell.programs import INTERPRETERS, SHELLS, WRAPPERS
from pollux.tools.shell.steering import steers


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


CODE_BY: Final[Mapping[str, str]] = {
    **dict.fromkeys(SHELLS, "c"),
    **dict.fromkeys(("python", "pypy"), "cm"),
    **dict.fromkeys(("perl", "julia"), "eE"),
    **dict.fromkeys(("ruby", "lua", "luajit", "rscript", "elixir", "racket", "raku"), "e"),
    "node": "ep",
    "php": "r",
    "guile": "c",
}
"""The letters of options behind which an interpreter finds its code, or the name of its module."""
RUN_MODULES: Final = _set("cProfile coverage doctest pdb profile pytest runpy timeit trace unittest")
"""Modules of Python that run the file or the module which they are given."""
FILES_BY: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "awk": ("fEil", _set("--file --exec --include --load")),
    "sed": ("f", _set("--file")),
    **dict.fromkeys(("make", "gmake"), ("fC", _set("--file --makefile --directory --eval"))),
    "just": ("fd", _set("--justfile --working-directory")),
    "rake": ("fr", _set("--rakefile --require")),
    "psql": ("f", _set("--file")),
    "sqlite3": ("", _set("-init --init")),
    "at": ("f", frozenset()),
    "pip": ("rc", _set("--requirement --constraint")),
    **dict.fromkeys(("vi", "vim", "nvim", "ex"), ("Su", frozenset[str]())),
    **dict.fromkeys(("ssh", "scp"), ("F", frozenset[str]())),
    "sftp": ("Fb", frozenset()),
    "ant": ("f", _set("-f -file -buildfile")),
    "cargo": ("", _set("--manifest-path --config")),
    "cmake": ("PCS", frozenset()),
    **dict.fromkeys(("docker", "docker-compose", "podman"), ("f", _set("--file"))),
    "emacs": ("l", _set("--load --script -script")),
    "gradle": ("bcI", _set("--build-file --settings-file --init-script")),
    "invoke": ("c", _set("--collection")),
    **dict.fromkeys(("lftp", "ninja", "tmux"), ("f", frozenset[str]())),
    "mvn": ("f", _set("--file")),
    "nox": ("f", _set("--noxfile")),
    "pre-commit": ("c", _set("--config")),
    "pytest": ("c", _set("--config-file --rootdir")),
    "r": ("f", _set("--file")),
    "sbcl": ("", _set("--script --load")),
    "scons": ("fC", _set("--file --makefile --directory")),
    "snakemake": ("s", _set("--snakefile")),
    "task": ("td", _set("--taskfile --dir")),
    "tox": ("c", _set("--conf")),
    "gdb": ("x", _set("--command --eval-command")),
    **dict.fromkeys(("npm", "pnpm", "yarn"), ("C", _set("--prefix --cwd --dir"))),
}
"""The options behind which a program finds a file of code, or the folder where it looks for one."""
IN_FOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("python", "pypy"), ("__main__.py",)),
    "node": ("index.js", "package.json"),
}
"""What an interpreter reads that is given a folder."""
LOADED_BY: Final[Mapping[str, tuple[str, frozenset[str], str]]] = {
    "node": ("r", _set("--require --import --loader --experimental-loader"), ".js .cjs .mjs .json .node /index.js"),
    "perl": ("Mm", frozenset(), ".pm"),
    "ruby": ("r", frozenset(), ".rb"),
    "lua": ("l", frozenset(), ".lua"),
}
"""The options behind which an interpreter finds what it loads first, and how the names of such files end."""
READ_BY_DEFAULT: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("make", "gmake"), _set("GNUmakefile makefile Makefile")),
    **dict.fromkeys(("npm", "pnpm", "yarn"), _set("package.json")),
    "just": _set("justfile Justfile .justfile"),
    "rake": _set("rakefile Rakefile rakefile.rb Rakefile.rb"),
    "ant": _set("build.xml"),
    "cargo": _set("Cargo.toml build.rs"),
    "cmake": _set("CMakeLists.txt"),
    **dict.fromkeys(
        ("docker", "docker-compose", "podman"), _set("compose.yaml compose.yml docker-compose.yml Dockerfile")
    ),
    "fab": _set("fabfile.py"),
    "gradle": _set("build.gradle build.gradle.kts settings.gradle settings.gradle.kts"),
    "gulp": _set("gulpfile.js"),
    "invoke": _set("tasks.py"),
    "meson": _set("meson.build"),
    "mvn": _set("pom.xml"),
    "ninja": _set("build.ninja"),
    "nox": _set("noxfile.py"),
    "pre-commit": _set(".pre-commit-config.yaml"),
    "pytest": _set("conftest.py"),
    "scons": _set("SConstruct"),
    "snakemake": _set("Snakefile"),
    "task": _set("Taskfile.yml Taskfile.yaml"),
    "tox": _set("tox.ini"),
}
"""What a program reads in its folder, and runs what that says."""
RUN_FILES: Final = _set(
    """
    ansible-playbook bc busybox bun clisp crontab dart dc deno dotnet escript ex expect gnuplot go groovy ipython java
    jjs jrunscript kotlin logrotate m4 mongo mongosh nix-shell ocaml octave osascript powershell pwsh runghc scala swift
    swipl ts-node tsx xdotool
    """
)
"""Programs whose words may be files of code."""
READ_INPUT: Final = _set("at batch bc dc ed gnuplot mysql parallel psql r sqlite3")
"""What runs what it is given by its input, besides interpreters."""
RUN_FOLDERS: Final = _set("run-parts npx bunx pnpx")
"""Programs that run what lies in the folder that they are given."""
REDEFINE: Final = _set("alias enable hash")
MAKERS: Final = _set("cp curl dd gunzip install ln mv patch rsync scp tee wget")
"""Programs that make files of the names which they are given."""
UNPACK: Final = _set("7z bsdtar cpio tar unrar unzip")
"""Programs that make files of names which they are not given."""
MADE: Final = re.compile(r"[$`]|[<>]\(|\{\}|^~[-+\d]")
"""A word that is not what it will be: an expansion, a substitution, the place for a file of `find`."""
FOREIGN: Final = _set(
    """
    bash sh dash zsh ksh python python3 perl ruby node php executable exec execfile eval runpy run_path dofile loadfile
    system popen subprocess spawn
    """
)
"""What a text in another language says where it starts an interpreter."""
CODE_NAMES: Final = re.compile(
    r"\.(?:[cm]?js|tsx?|jsx|pyw?|rb|pl|pm|php|lua|sh|bash|zsh|ksh|fish|awk|r|jl|tcl)$", re.IGNORECASE
)
"""How files of code are called."""
HERE: Final = re.compile(r"(?<![^\s=:])~\+(?=/)|\$PWD\b|\$\{PWD\}|\$\(pwd\)")
"""Where a script stands, in its own words."""
_WRITTEN: Final = re.compile(r"(?:&|\d)?(?<!<)>>?(?![>(])[|&]?\s*[^\s;&|()<>]+")
_EXPANSION: Final = re.compile(r"^~[-+\d][^/]*|\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$\w+|\$[@*#?!-]|\{[^{}]*\}")
_MAKES: Final = re.compile(r"(?<!<)>>?\|?\s*[\"']?([^\s;&|()<>\"']+)")
_FILE_URL: Final = re.compile(r"\bfile://(?:localhost(?=[/$]))?")
_FUNCTION: Final = re.compile(r"\w\s*\(\s*\)|\bfunction\s")
_VARIABLE: Final = re.compile(r"\$[\w{@*]")
_HERE_DOCUMENT: Final = re.compile(r"""<<-?\s*["']?(\w+)["']?[^\n]*\n(.*?)\n\s*\1(?=\n|$)""", re.DOTALL)
_MOVES_INPUT: Final = re.compile(r"\bexec\b[^\n;&|]*<")
_OF_FOLDERS: Final = re.compile(r"\b(?:find|fd|ls|xargs|parallel)\b")
_LISTED: Final = re.compile(r"\w+=[\"']?\$\((?:find|ls|fd)\b[^)]*\)")
_PLACEHOLDER: Final = re.compile(r"(?:-I|--replace=)\s*[\"']?([^\s\"']+)")
_ONLY_MADE: Final = re.compile(r"\"?(?:\$\(.*\)|`.*`|\$\{?\w+\}?)\"?", re.DOTALL)
_ASSIGNED: Final = re.compile(r"(?<![\w$])([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^\s;&|()]*)")
_IN_OPTIONS: Final = re.compile(r"[=!]")

MOST_DOCUMENTS: Final = 16
"""Texts within one statement that are read for themselves."""

IsFile = Callable[[str], bool]


@frozen
class Handed:
    """What names code. A name may be a pattern, and a folder may stand before it."""

    names: dict[str, None] = field(default_factory=dict[str, None])
    """Each names a file of code."""
    texts: dict[str, None] = field(default_factory=dict[str, None])
    """Each word of them that means a file may be the one."""
    foreign: dict[str, None] = field(default_factory=dict[str, None])
    """Code in other languages than a shell's."""
    script: str = ""
    is_moved: bool = False
    """Whether the script has another input of its own from somewhere on."""
    made: frozenset[str] | None = frozenset()
    """The names of files that it makes itself. None: any name."""
    listed: tuple[str, ...] = ()
    """What it asks for the names of files, to use them elsewhere."""
    folders: dict[str, None] = field(default_factory=dict[str, None])
    """Texts of statements that look for the files of whole folders."""


def handed(script: str, *, is_file: IsFile) -> Handed:
    """What names code in a shell's script. `is_file` says whether a word means a file there. Never raises."""
    found = Handed(
        script=script,
        is_moved=_MOVES_INPUT.search(script) is not None,
        made=_made_by(script),
        listed=tuple(_LISTED.findall(script)),
    )
    # A variable that changes what programs run, such as BASH_ENV, names code itself.
    steering = (value for name, value in _ASSIGNED.findall(script) if name != "PATH" and steers(name))
    found.texts.update(dict.fromkeys(steering))
    _read_all(found, script, is_file)
    return found


def _made_by(script: str) -> frozenset[str] | None:
    names = set(map(os.path.basename, _MAKES.findall(script)))
    for argv in commands_in(script)[0]:
        name = program(argv)
        if name in UNPACK:
            return None
        names.update(os.path.basename(word) for word in argv[1:] if name in MAKERS)
    return frozenset(names)


def words_of(text: str) -> list[str]:
    """The words of a text, and its quoted texts, without the places that it only writes to."""
    plain = HERE.sub(".", _FILE_URL.sub("", _WRITTEN.sub(" ", text)))
    quoted = [inner for pair in re.findall(r"\"([^\"]*)\"|'([^']*)'", plain) for inner in pair if inner]
    words = re.findall(r"[^\s\"'`;&|()<>{}$=,\\]+", plain)
    defaults = [word.rpartition(":")[2].lstrip("-=+?") for word in words if ":" in word]
    return list(dict.fromkeys(word for word in (*words, *quoted, *defaults) if word))


def pattern_of(word: str) -> str:
    """The word as a pattern of file names; empty where nothing of it is certain."""
    pattern = _EXPANSION.sub("*", re.sub(r"[\"']", "", word))
    return "" if "$" in pattern or not pattern.strip("*/.") else pattern


class _Reader:
    """Reads the commands of one statement."""

    def __init__(self, found: Handed, statement: str, is_file: IsFile) -> None:
        self._found = found
        self._statement = statement
        self._is_file = is_file

    def command(self, argv: tuple[str, ...]) -> None:
        name = program(argv)
        for word in argv[1:]:
            self._command_in(word)
        if "/" in argv[0]:
            self._written(argv[0])
        if MADE.search(argv[0]) or name in REDEFINE:
            self._made(argv[0])
        elif name == "eval":
            if any(map(MADE.search, argv[1:])):
                self._unsaid()
        elif name in (".", "source") or name in INTERPRETERS:
            self._interpreter(argv, name)
        elif name == "git":
            self._settings(argv[1:])
        elif name in RUN_FOLDERS:
            words = [word for word in argv[1:] if not word.startswith("-") and ("/" in word or name == "run-parts")]
            self._found.folders.update(dict.fromkeys(f"{word}/" for word in words))
            if any(map(MADE.search, argv[1:])):
                self._unsaid()
        elif name in FILES_BY or name in READ_BY_DEFAULT or name in RUN_FILES or name in READ_INPUT:
            self._runner(argv, name)
        if name not in INTERPRETERS and indirect(argv):
            # Whatever runs other programs: an interpreter among its words is given the words that follow.
            starts = (at for at, word in enumerate(argv) if at and word in INTERPRETERS)
            for at in islice(starts, 1):
                self._interpreter(argv[at:], argv[at])

    def _written(self, word: str) -> None:
        """Code that the script writes itself is made of something: each word may be it."""
        if self._found.made is None or os.path.basename(word.strip("\"'")) in self._found.made:
            self._found.texts[self._found.script] = None

    def _command_in(self, word: str) -> None:
        """Some options take a command, after a name of their own: `--to-command='sh x'`, `core.pager=sh x`."""
        pieces = (word, *(word[found.end() :] for found in _IN_OPTIONS.finditer(word)))
        for piece in (each.strip("\"'") for each in pieces if " " in word):
            first = piece.split()[:1]
            if (first in (["."], ["source"]) or program(first) in INTERPRETERS) and piece != self._statement:
                _read_all(self._found, piece, self._is_file)
                return

    def _interpreter(self, argv: tuple[str, ...], name: str) -> None:
        self._loaded(argv[1:], name)
        letters = CODE_BY.get(name, "")
        is_told = is_value = False
        for word, following in zip_longest(argv[1:], argv[2:], fillvalue=""):
            if word == "-" or word.startswith(("/dev/", "/proc/")):
                break
            if word.startswith(("-", "+")):
                if code_flag(word, letters, name):
                    self._code(name, word, following)
                    for each in argv[1:]:
                        if following in RUN_MODULES or CODE_NAMES.search(each):
                            self._module(each)
                    return
                if name in SHELLS and word.startswith("-") and not word.startswith("--") and "s" in word:
                    break
                if self._joined(name, word, letters):
                    return
                option, _, code = word.partition("=")
                if code and code_flag(option, letters, name):
                    self._found.foreign[code.strip("\"'")] = None
                self._file_in(word)
                is_value = word not in INTERPRETERS.get(name, ())
                continue
            if MADE.search(word):
                self._made(word)
                return
            if _is_pattern(word):
                self._found.names[word] = None
                return
            # The grammar takes the number before a redirection for a word.
            is_told = is_told or not (is_value or word.isdigit())
            self._found.names.update(dict.fromkeys(os.path.join(word, end) for end in IN_FOLDERS.get(name, ())))
            if name == "node":
                self._found.names.update(dict.fromkeys(f"{word}{end}" for end in (".js", ".json", ".node")))
            self._written(word)
            if self._is_file(word):
                self._found.names[word] = None
                if not is_value:
                    return
            # What stands behind an option may be its value, or the code.
            is_value = False
        else:
            if is_told:
                return
        self._input(name)

    def _loaded(self, words: tuple[str, ...], name: str) -> None:
        """The modules that options name: beside it, or in the folders that other options add."""
        letters, longs, ends = LOADED_BY.get(name, ("", frozenset[str](), ""))
        folders = ["", *values_of(words, "I", frozenset())] if name in ("perl", "ruby") else [""]
        for value in values_of(words, letters, longs):
            module = re.split(r"[=\s]", value.lstrip("-"))[0].replace("::", "/")
            names = [module, *(f"{module}{end}" for end in ends.split())] if module else []
            self._found.names.update(dict.fromkeys(os.path.join(each, file) for each in folders for file in names))

    def _code(self, name: str, flag: str, code: str) -> None:
        """Code that is a word, or the name of a module."""
        is_module = flag.endswith("m") and name in ("python", "pypy")
        if is_module:
            self._module(code)
        elif not code or code.startswith(('"', "$", "`")) or self._is_filled_in(code):
            self._unsaid()
        elif name not in SHELLS:
            self._found.foreign[code] = None

    def _joined(self, name: str, word: str, letters: str) -> bool:
        """Code in the word of its option: `-mjob`. Whether the words that follow are for that code."""
        is_python = name in ("python", "pypy")
        if name in SHELLS or not letters or word.startswith("--"):
            return False
        options = "[bBdEhiIOPqsSuvVx]*" if is_python else "[A-Za-z0-9.]*?"
        found = re.match(rf"-{options}([{letters}])(.+)", word, re.DOTALL)
        if found and is_python and found[1] == "m":
            self._module(found[2])
        elif found:
            self._found.foreign[found[2].strip("\"'")] = None
        return found is not None and is_python

    def _module(self, name: str) -> None:
        """A module of Python, or a file of code."""
        path = name.replace(".", "/")
        ends = (".py", "/__init__.py", "/__main__.py")
        self._found.names.update(dict.fromkeys([name, *(f"{path}{end}" for end in ends)]))

    def _settings(self, words: tuple[str, ...]) -> None:
        """Settings of git that name a file or a folder: `-c include.path=x`, `-c core.hooksPath=x`."""
        for value in values_of(words, "c", _set("--config-env")):
            file = value.partition("=")[2].strip("\"'")
            if file:
                self._found.names[pattern_of(file) or file] = None
                if "hookspath" in value.casefold():
                    self._found.folders[f"{file}/"] = None

    def _is_filled_in(self, code: str) -> bool:
        """Whether words of the input come to stand in it."""
        places = _PLACEHOLDER.findall(self._statement)
        return "{}" in code or any(place in code for place in places)

    def _filter(self, words: tuple[str, ...]) -> None:
        """awk or sed: the first word that is no option is a program, unless an option brings one."""
        is_given, rest = False, iter(words)
        for word in rest:
            option = word.partition("=")[0]
            if option in ("-e", "-f", "--expression", "--file", "-F", "-v"):
                is_given = is_given or option not in ("-F", "-v")
                value = next(rest, "") if option == word else word
                if option in ("-e", "--expression") and _ONLY_MADE.fullmatch(value):
                    self._unsaid()
            elif not word.startswith("-"):
                if not is_given and _ONLY_MADE.fullmatch(word):
                    self._unsaid()
                elif not is_given:
                    self._found.foreign[word] = None
                return

    def _runner(self, argv: tuple[str, ...], name: str) -> None:
        letters, longs = FILES_BY.get(name, ("", frozenset[str]()))
        values = list(values_of(argv[1:], letters, longs))
        if name in RUN_FILES:
            values += argv[1:]
            for word in argv[1:]:
                self._file_in(word)
        if any(value == "-" or MADE.search(value) for value in values):
            self._unsaid()
        if name in ("awk", "sed"):
            self._filter(argv[1:])
        self._found.names.update(dict.fromkeys(values))
        for default in READ_BY_DEFAULT.get(name, ()):
            self._found.names.update(dict.fromkeys([default, *(os.path.join(value, default) for value in values)]))
        before, _, after = self._statement.partition(argv[0])
        if name in READ_INPUT and ("|" in before or "<" in after):
            self._input(name)

    def _file_in(self, option: str) -> None:
        """A file that is named in the same word as its option."""
        names = (option.partition("=")[2], option[2:])
        self._found.names.update(dict.fromkeys(name for name in names if name and self._is_file(name)))

    def _made(self, word: str) -> None:
        if pattern := pattern_of(word):
            self._found.names[pattern] = None
        self._unsaid()

    def _input(self, name: str) -> None:
        """The code comes by the input: from a text that is written there, or from what the statement names."""
        is_short = self._statement.count("<<") <= MOST_DOCUMENTS
        bodies = [found[2] for found in _HERE_DOCUMENT.finditer(self._statement)] if is_short else []
        for body in bodies:
            if name not in SHELLS:
                self._found.foreign[body] = None
            else:
                _read_all(self._found, body, self._is_file)
        self._unsaid(_HERE_DOCUMENT.sub("\n", self._statement) if bodies else self._statement)

    def _unsaid(self, statement: str = "") -> None:
        """The code is named somewhere in the statement; if that has variables or is called elsewhere, in the script."""
        statement = statement or self._statement
        is_elsewhere = _VARIABLE.search(statement) or _FUNCTION.search(statement) or self._found.is_moved
        text = self._found.script if is_elsewhere else statement
        self._found.texts[text] = None
        self._found.folders.update(dict.fromkeys([statement] if _OF_FOLDERS.search(statement) else self._found.listed))


def _read_all(found: Handed, text: str, is_file: IsFile) -> None:
    for statement in statements(text):
        commands, _ = commands_in(statement)
        reader = _Reader(found, statement, is_file)
        is_made = any(MADE.search(argv[0]) for argv in commands)
        arguments = set(_arguments_behind(commands)) if is_made else frozenset[str]()
        for argv in commands:
            if argv[0] not in arguments:
                reader.command(argv)


def _arguments_behind(commands: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    """What is made up and given to a program behind a launcher, which may look like the program itself."""
    for outer in commands:
        if program(outer) in WRAPPERS:
            inner = (each for each in commands if len(each) < len(outer) and outer[-len(each) :] == each)
            named = (each for each in inner if not MADE.search(each[0]) and not each[0][:1].isdigit())
            yield from (word for each in named for word in each[1:] if MADE.search(word))


def code_flag(word: str, letters: str, name: str) -> bool:
    """Whether an option is followed by code."""
    if word.startswith("--"):
        return name == "node" and word in ("--eval", "--print")
    return bool(letters) and re.fullmatch(rf"-[A-Za-z0-9.]*[{letters}]", word) is not None


def _is_pattern(word: str) -> bool:
    return re.search(r"[*?\[]|\{.*[,.].*\}", word) is not None


def values_of(words: tuple[str, ...], letters: str, longs: frozenset[str]) -> Iterator[str]:
    """What stands behind these options, in the same word or as the next one."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        option, is_given, value = word.partition("=")
        if option in longs:
            yield value if is_given else following
        elif letters and (found := re.match(rf"-[A-Za-z]*?[{letters}](.*)", word, re.DOTALL)):
            yield found[1] or following
