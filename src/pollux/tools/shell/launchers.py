"""Which commands reach beyond themselves, and how many of their words say how far.

`git log` does what its name says. `env`, `find -exec`, `python -m` and `tee` do not: they run another program, write
where they are told or talk to the network. A rule that allows `find` must not allow anything at all, so a rule for such
a command has to spell out the words that decide what it reaches: `python -m pytest`, after which the words are pytest's
own; for `sh -c`, `find … -exec` and every program that we do not know, all of them. The facts stand in `programs`.

A known program is known by its exact name, without a path or in a folder of the system: `./ls` is any program.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise, zip_longest
from typing import TypeVar

from pollux.core.frozen import frozen
from pollux.tools.shell.filters import is_plain_awk, is_plain_sed
from pollux.tools.shell.programs import (
    ALIASES,
    ALWAYS,
    COMMAND_OPTIONS,
    INTERPRETERS,
    LOADER,
    MODULES,
    OPTIONS,
    PLAIN,
    PROJECT,
    RELAYS,
    RUNNERS,
    SHELLS,
    SUBCOMMANDS,
    SYSTEM_FOLDERS,
    VERSIONS,
    WRAPPERS,
    Options,
    Subcommands,
)
from pollux.tools.shell.steering import steers_in_shell
from pollux.tools.shell.words import plain_words

T = TypeVar("T")

MAX_DEPTH = 4
MAX_STARTS = 4
MAX_SEEN_STARTS = 256
MAX_SCRIPTS = 16


@frozen
class Reach:
    """Why a command reaches beyond itself, and how many of its first words decide what it reaches."""

    reason: str
    words: int


IsInstalled = Callable[[str], bool]
"""Whether the program of this name is one that the agent cannot have written. A path is not asked about."""


def anywhere(name: str) -> bool:
    """Takes every program for the one that its name says."""
    return True


def indirect(argv: Sequence[str]) -> str | None:
    """Why this command reaches beyond itself, or None if it only does what its name says."""
    found = reach(tuple(argv))
    return found.reason if found else None


def reach(argv: tuple[str, ...], *, depth: int = 0, is_installed: IsInstalled = anywhere) -> Reach | None:
    """How far a command reaches beyond itself; None if it does not."""
    name = program(argv)
    if not name or depth > MAX_DEPTH:
        return Reach("it cannot be told what it runs", len(argv))
    if argv[1:] == ("--version",) and name in VERSIONS and "/" not in argv[0] and is_installed(argv[0]):
        return None
    if (start := _launch(WRAPPERS, name, argv)) is not None:
        return _through_wrapper(argv, name, start=start, depth=depth, is_installed=is_installed)
    if _launch(RELAYS, name, argv) is not None or name in ALWAYS:
        return Reach(f"{name} runs other commands, writes files or uses the network", len(argv))
    if name in INTERPRETERS:
        return _through_interpreter(argv, name, depth=depth, is_installed=is_installed)
    if name in RUNNERS:
        return Reach(f"{name} runs what the project defines", _words_for_runner(argv, name))
    if name in PROJECT:
        return _of_project(argv, name, depth=depth)
    if not is_known(argv) or not ("/" in argv[0] or is_installed(argv[0])):
        return Reach(f"{argv[0]} can run code from its arguments or its folder, as far as we know", len(argv))
    return _by_words(argv, name)


def is_known(argv: Sequence[str]) -> bool:
    """Whether it is known of this program what its words do. By its exact name: elsewhere `LS` and `ls2` are others."""
    name, (folder, _, base) = program(argv), argv[0].rpartition("/")
    return (
        name in _TOLD_BY_WORDS
        and (folder in SYSTEM_FOLDERS if "/" in argv[0] else True)
        and (base == name or ALIASES.get(base) == name)
    )


def relies_on_known(argv: tuple[str, ...], is_installed: IsInstalled, *, depth: int = 0) -> bool:
    """Whether a rule may have allowed it for a known program, which then has to be the one that runs."""
    if is_known(argv) or (argv[1:] == ("--version",) and program(argv) in VERSIONS):
        return "/" not in argv[0] and is_installed(argv[0])
    start = _launch(WRAPPERS, program(argv), argv)
    return (
        start is not None
        and depth <= MAX_DEPTH
        and any(relies_on_known(argv[at:], is_installed, depth=depth + 1) for at in _programs_at(argv, start))
    )


def is_of_system(argv: tuple[str, ...]) -> bool:
    """Whether a project has no program of its own under this name: unlike `python`, `npm` and what nobody knows."""
    name = program(argv)
    return "/" not in argv[0] and (name in SHELLS or name in _OF_SYSTEM)


def _by_words(argv: tuple[str, ...], name: str) -> Reach | None:
    if name in SUBCOMMANDS:
        return _by_subcommand(argv, name, SUBCOMMANDS[name])
    if name == "awk":
        return None if is_plain_awk(argv[1:]) else Reach("awk may run commands and write files", len(argv))
    if name == "sed":
        return None if is_plain_sed(argv[1:]) else Reach("sed may run commands and write files", len(argv))
    if name in OPTIONS and (word := _reaching_word(argv[1:], OPTIONS[name])):
        return Reach(f"{name} reaches further with {word!r}", len(argv))
    return None


def _of_project(argv: tuple[str, ...], name: str, *, depth: int) -> Reach:
    if name in OPTIONS and (word := _reaching_word(argv[1:], OPTIONS[name])):
        return Reach(f"{name} reaches further with {word!r}", len(argv))
    # A name alone is too little said. A path, or what runs it, says that the project's own is meant.
    deciding = 1 if depth or "/" in argv[0] else min(2, len(argv))
    return Reach(f"{name} runs code from its folder", deciding)


def inside(argv: tuple[str, ...], *, depth: int = 0) -> Iterator[tuple[str, ...] | str | None]:
    """The commands, and the texts of scripts, that can be seen inside a command. For rules that forbid.

    None stands for more of them, beyond what we look at.
    """
    name = program(argv)
    if not name:
        return
    if depth > MAX_DEPTH:
        yield None
        return
    if argv[0] != name:
        yield name, *argv[1:]
    starts: list[int | None] = []
    for table in (WRAPPERS, RELAYS):
        if (start := _launch(table, name, argv)) is not None:
            starts += _starts(argv, start)
            scripts = _scripts(argv[1:], COMMAND_OPTIONS.get(name, ""))
            yield from at_most(MAX_SCRIPTS, unique(scripts))
    if name in SHELLS:
        yield from at_most(MAX_SCRIPTS, (word for word in argv[1:] if not word.startswith("-")))
    if name == "find":
        starts += [at + 1 for at, word in enumerate(argv) if word in _FIND_RUNS]
    if name in INTERPRETERS and "-m" in argv:
        starts.append(argv.index("-m") + 1)
    if name in SUBCOMMANDS:
        # `git -C elsewhere push` is a push all the same.
        yield from (None if at is None else (name, *argv[at:]) for at in _starts(argv, (1, 0)) if at != 1)
    for at in starts:
        if at is None:
            yield None
        elif inner := argv[at:]:
            yield inner
            yield from inside(inner, depth=depth + 1)


def is_computed(argv: tuple[str, ...], *, is_literal: bool = True) -> bool:
    """Whether it runs what is not written there. `is_literal` says that the shell takes its words as they are."""
    name, words = program(argv), argv[1:]
    runs_words = any(_launch(table, name, argv) is not None for table in (WRAPPERS, RELAYS))
    if not is_literal and (runs_words or name in SHELLS or name in _READERS or not _FIND_RUNS.isdisjoint(words)):
        return True
    if (runs_words or name in _SETTERS) and any(map(steers_in_shell, _set_by(words, is_setter=name in _SETTERS))):
        return True
    if name in SHELLS:
        options = "".join(word for word in words if word.startswith("-") and not word.startswith("--"))
        return "s" in options or all(word.startswith("-") or _reads_input(word) for word in words)
    if name in ("xargs", "parallel"):
        inner = {program((word,)) for word in words}
        return "{}" in inner or not inner.isdisjoint(_RUN_WORDS)
    if name == "find":
        return any(word in _FIND_RUNS and "{}" in inner for word, inner in pairwise(words))
    return (
        name in _REDEFINERS
        or (name == "coproc" and "{" in words)
        or (name in _READERS and any(map(_reads_input, words)))
    )


def _set_by(words: tuple[str, ...], *, is_setter: bool) -> Iterator[str]:
    """The names of variables that these words may set: `X=1`, `--setenv=X=1`, `-eX=1`; for a builtin also `X`."""
    for word in words:
        for part in word.split("=")[: None if is_setter else -1]:
            name = part.partition("[")[0].removesuffix("+")
            yield name
            if name.startswith("-"):
                yield name[2:]


def _may_be_script(word: str) -> bool:
    """Whether a shell would read more than one plain word in it."""
    words = plain_words(word)
    return bool(word) and (isinstance(words, str) or len(words) > 1)


def _scripts(words: tuple[str, ...], letters: str) -> Iterator[str | None]:
    """What of a launcher's words a shell would read more in than one, and all that an option may give it to run.

    `letters` are those of an option that takes a command: as the rest of its word, `-S'rm x'`, or as the next one.
    """
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        _, is_given, value = word.partition("=")
        found = [text for text in (word, value) if _may_be_script(text)]
        if letters and word.startswith("--"):
            found += [value if is_given else following]
        elif letters and (cluster := _CLUSTER.match(word)):
            # Which letter takes the rest as its value is the program's to know.
            found += [word[at + 1 :] for at in range(1, cluster.end()) if word[at] in letters]
            found += [following] if word[-1] in letters else []
        # `env -S` has escapes of its own, which no shell reads as it does.
        yield from (None if "\\" in text and letters else text for text in found if text)


def _reads_input(word: str) -> bool:
    return word.startswith(("/dev/", "/proc/"))


def at_most(count: int, items: Iterable[T]) -> Iterator[T | None]:
    """The first of them, and None where there are more."""
    for at, item in enumerate(items):
        yield item if at < count else None
        if at == count:
            return


def unique(items: Iterable[T]) -> Iterator[T]:
    """Each of them once, where it comes first."""
    seen = set[T]()
    for item in items:
        if item not in seen:
            seen.add(item)
            yield item


def program(argv: Sequence[str]) -> str:
    """The name by which the tables know a program: without its directory and version."""
    base = argv[0].rpartition("/")[2] if argv else ""
    name = base.casefold().removesuffix(".exe")
    name = LOADER if _LOADER.fullmatch(name) else ALIASES.get(name, name)
    if name in _KNOWN:
        return name
    bare = _VERSION.sub("", name)
    bare = ALIASES.get(bare, bare)
    return bare if bare in _KNOWN else base


_READERS = frozenset({".", "eval", "source", "trap"})
_SETTERS = frozenset("declare export getopts local mapfile printf read readarray readonly typeset".split())
"""Builtins that set the variables that they are given by name."""
_REDEFINERS = frozenset({"alias", "enable", "hash", "shopt", "unalias", "{", "}", "(", ")", "[["})
"""Builtins that give a name to another command, and what is a command only to a grammar that lost its way."""
_RUN_WORDS = SHELLS.union(_READERS, WRAPPERS, RELAYS)
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_TOLD_BY_WORDS = frozenset({*PLAIN, *SUBCOMMANDS, "awk", "sed"})
_KNOWN = _TOLD_BY_WORDS.union(ALWAYS, INTERPRETERS, RUNNERS, PROJECT, WRAPPERS, RELAYS)
_OF_SYSTEM = _TOLD_BY_WORDS.union(ALWAYS, WRAPPERS, RELAYS)
_CLUSTER = re.compile(r"-[A-Za-z0-9]+")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?[smhd]?")
_LOADER = re.compile(r"ld(?:64|-[\w.-]+)?\.so(?:\.[0-9]+)*")
"""How the dynamic loader is called, which starts the program that it is given: `ld-linux-x86-64.so.2`."""
_VERSION = re.compile(r"(?:[-.]?[0-9][0-9.]*|\.basic|\.tiny|\.nox|\.gtk3)$")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def _launch(table: dict[str, int], name: str, argv: tuple[str, ...]) -> tuple[int, int] | None:
    """Where a launcher's own words begin and how many are not options, if it is one."""
    if name in table:
        return 1, table[name]
    pair = f"{name} {argv[1]}" if len(argv) > 1 else ""
    return (2, table[pair]) if pair in table else None


def _starts(argv: tuple[str, ...], start: tuple[int, int]) -> list[int | None]:
    """Where the inner command may begin. An option may or may not take the next word as its value: both count."""
    return list(at_most(MAX_SEEN_STARTS, _possible_starts(argv, *start)))


def _possible_starts(argv: tuple[str, ...], begin: int, spare: int) -> Iterator[int]:
    for at in range(begin, len(argv)):
        word = argv[at]
        if word.startswith("-"):
            spare += "=" not in word and word != "--"
        elif not _ASSIGNMENT.match(word):
            yield at
            if not spare:
                return
            spare -= 1


def _through_wrapper(
    argv: tuple[str, ...], name: str, *, start: tuple[int, int], depth: int, is_installed: IsInstalled
) -> Reach:
    starts = _programs_at(argv, start)
    if not starts or len(starts) > MAX_STARTS:
        return Reach(f"{name} runs another command", len(argv))
    return Reach(f"{name} runs another command", max(at + _deciding(argv[at:], depth, is_installed) for at in starts))


def _programs_at(argv: tuple[str, ...], start: tuple[int, int]) -> list[int]:
    """Where the program of a wrapper may stand, and one more place than we look at."""
    starts = list(islice(_possible_starts(argv, *start), MAX_STARTS + 1))
    # The 5 in `timeout 5 ls` is no program.
    while len(starts) > 1 and _NUMBER.fullmatch(argv[starts[0]]):
        del starts[0]
    return starts


def _deciding(argv: tuple[str, ...], depth: int, is_installed: IsInstalled) -> int:
    found = reach(argv, depth=depth + 1, is_installed=is_installed)
    return found.words if found else 1


def _through_interpreter(argv: tuple[str, ...], name: str, *, depth: int, is_installed: IsInstalled) -> Reach:
    flags = INTERPRETERS[name]
    at = 1
    while at < len(argv) and argv[at] in flags:
        at += 1
    if name in ("python", "pypy") and argv[at : at + 1] == ("-m",) and len(argv) > at + 1:
        inner = argv[at + 1 :]
        deciding = len(inner) if inner[0].casefold() in MODULES else _deciding(inner, depth, is_installed)
        return Reach(f"{name} runs a module", at + 1 + deciding)
    if at == len(argv) or argv[at].startswith("-"):
        return Reach(f"{name} runs code", len(argv))
    return Reach(f"{name} runs a file of code", at + 1)


def _words_for_runner(argv: tuple[str, ...], name: str) -> int:
    """What follows `--` is for the script, if a script is named before: `npm install -- x` is another matter."""
    own = argv.index("--") if "--" in argv else len(argv)
    is_script = own > 2 if argv[1:2] == ("run",) else own > 1 and argv[1] in RUNNERS[name]
    return own if is_script else len(argv)


def _by_subcommand(argv: tuple[str, ...], name: str, known: Subcommands) -> Reach | None:
    at = 1
    while at < len(argv) and argv[at] in known.flags:
        at += 1
    word = argv[at] if at < len(argv) else ""
    further = _reaching_word(argv[at + 1 :], known.options)
    if word in known.direct and not further:
        return None
    if word in known.named and not further:
        return Reach(f"{name} {word} acts on more than its words", at + 1)
    return Reach(f"{name} reaches further with {further or word!r}", len(argv))


def _reaching_word(words: tuple[str, ...], options: Options) -> str:
    """The first word that makes a program reach further, or nothing."""
    operands = 0
    for at, word in enumerate(words):
        is_option = len(word) > 1 and word.startswith("-")
        operands += not is_option
        too_many = options.operands is not None and operands > options.operands
        is_cluster = at == 0 and options.clusters_first and not is_option
        if too_many or (options.pattern and options.pattern.search(word)):
            return word
        if (is_option and _is_reaching_option(word, options)) or (is_cluster and set(word) & set(options.letters)):
            return word
    return ""


def _is_reaching_option(word: str, options: Options) -> bool:
    name = word.partition("=")[0]
    if not word.startswith("--"):
        return name in options.names or bool(set(word[1:]) & set(options.letters))
    # Some programs take long options with one dash or two.
    if name in options.names or name[1:] in options.names:
        return True
    return not options.is_exact and name != "--" and any(known.startswith(name) for known in options.names)
