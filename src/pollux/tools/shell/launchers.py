"""Which commands reach beyond themselves, and how many of their words say how far.

`git log` does what its name says. `env`, `find -exec`, `python -m` and `tee` do not: they run another program, write
where they are told or talk to the network. Leave for `find` must not be leave for anything, so a rule for such a
command has to spell out the words that decide what it reaches: `python -m pytest`, after which the words are pytest's
own; for `sh -c` or `find … -exec`, all of them. The facts stand in `programs`; in doubt a command reaches.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from pollux.core.frozen import frozen
from pollux.tools.shell.filters import is_plain_awk, is_plain_sed
from pollux.tools.shell.programs import (
    ALIASES,
    ALWAYS,
    INTERPRETERS,
    MODULES,
    OPTIONS,
    RELAYS,
    RUNNERS,
    SHELLS,
    SUBCOMMANDS,
    WRAPPERS,
    Options,
    Subcommands,
)

MAX_DEPTH = 4
MAX_STARTS = 4
MAX_SEEN_STARTS = 256
MAX_SCRIPTS = 16


@frozen
class Reach:
    """Why a command reaches beyond itself, and how many of its first words decide what it reaches."""

    reason: str
    words: int


def indirect(argv: Sequence[str]) -> str | None:
    """Why this command reaches beyond itself, or None if it only does what its name says."""
    found = reach(tuple(argv))
    return found.reason if found else None


def reach(argv: tuple[str, ...], *, depth: int = 0) -> Reach | None:
    """How far a command reaches beyond itself; None if it does not."""
    name = program(argv)
    if not name or depth > MAX_DEPTH:
        return Reach("it cannot be told what it runs", len(argv))
    if argv[1:] == ("--version",):
        return None
    if (start := _launch(WRAPPERS, name, argv)) is not None:
        return _through_wrapper(argv, name, start=start, depth=depth)
    if _launch(RELAYS, name, argv) is not None or name in ALWAYS:
        return Reach(f"{name} runs other commands, writes files or uses the network", len(argv))
    if name in INTERPRETERS:
        return _through_interpreter(argv, name, depth=depth)
    if name in RUNNERS:
        return Reach(f"{name} runs what the project defines", _words_for_runner(argv, name))
    if name in SUBCOMMANDS:
        return _by_subcommand(argv, name, SUBCOMMANDS[name])
    if name == "awk":
        return None if is_plain_awk(argv[1:]) else Reach("awk may run commands and write files", len(argv))
    if name == "sed":
        return None if is_plain_sed(argv[1:]) else Reach("sed may run commands and write files", len(argv))
    if name in OPTIONS and (word := _reaching_word(argv[1:], OPTIONS[name])):
        return Reach(f"{name} reaches further with {word!r}", len(argv))
    return None


def inside(argv: tuple[str, ...], *, depth: int = 0) -> Iterator[tuple[str, ...] | str]:
    """The commands, and the texts of scripts, that can be seen inside a command. For rules that forbid."""
    name = program(argv)
    if not name or depth > MAX_DEPTH:
        return
    if argv[0] != name:
        yield name, *argv[1:]
    starts: list[int] = []
    for table in (WRAPPERS, RELAYS):
        if (start := _launch(table, name, argv)) is not None:
            starts += _starts(argv, start)
            yield from islice((word for word in argv[1:] if len(word.split()) > 1), MAX_SCRIPTS)
    if name in SHELLS:
        yield from islice((word for word in argv[1:] if not word.startswith("-")), MAX_SCRIPTS)
    if name == "find":
        starts += [at + 1 for at, word in enumerate(argv) if word in _FIND_RUNS]
    if name in INTERPRETERS and "-m" in argv:
        starts.append(argv.index("-m") + 1)
    if name in SUBCOMMANDS:
        # `git -C elsewhere push` is a push all the same.
        yield from ((name, *argv[at:]) for at in _starts(argv, (1, 0)) if at > 1)
    for at in starts:
        if inner := argv[at:]:
            yield inner
            yield from inside(inner, depth=depth + 1)


def program(argv: Sequence[str]) -> str:
    """The name by which the tables know a program: without its directory and version."""
    base = argv[0].rpartition("/")[2] if argv else ""
    name = base.casefold().removesuffix(".exe")
    name = ALIASES.get(name, name)
    if name in _KNOWN:
        return name
    bare = _VERSION.sub("", name)
    bare = ALIASES.get(bare, bare)
    return bare if bare in _KNOWN else base


_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_KNOWN = frozenset({*ALWAYS, *INTERPRETERS, *RUNNERS, *SUBCOMMANDS, *OPTIONS, *WRAPPERS, *RELAYS, "awk", "sed"})
_VERSION = re.compile(r"(?:[-.]?[0-9][0-9.]*|\.basic|\.tiny|\.nox|\.gtk3)$")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def _launch(table: dict[str, int], name: str, argv: tuple[str, ...]) -> tuple[int, int] | None:
    """Where a launcher's own words begin and how many are not options, if it is one."""
    if name in table:
        return 1, table[name]
    pair = f"{name} {argv[1]}" if len(argv) > 1 else ""
    return (2, table[pair]) if pair in table else None


def _starts(argv: tuple[str, ...], start: tuple[int, int]) -> list[int]:
    """Where the inner command may begin. An option may or may not take the next word as its value: both count."""
    return list(islice(_possible_starts(argv, *start), MAX_SEEN_STARTS))


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


def _through_wrapper(argv: tuple[str, ...], name: str, *, start: tuple[int, int], depth: int) -> Reach:
    starts = _starts(argv, start)
    if not starts or len(starts) > MAX_STARTS:
        return Reach(f"{name} runs another command", len(argv))
    return Reach(f"{name} runs another command", max(at + _deciding(argv[at:], depth) for at in starts))


def _deciding(argv: tuple[str, ...], depth: int) -> int:
    found = reach(argv, depth=depth + 1)
    return found.words if found else 1


def _through_interpreter(argv: tuple[str, ...], name: str, *, depth: int) -> Reach:
    flags = INTERPRETERS[name]
    at = 1
    while at < len(argv) and argv[at] in flags:
        at += 1
    if name in ("python", "pypy") and argv[at : at + 1] == ("-m",) and len(argv) > at + 1:
        inner = argv[at + 1 :]
        deciding = len(inner) if inner[0].casefold() in MODULES else _deciding(inner, depth)
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
