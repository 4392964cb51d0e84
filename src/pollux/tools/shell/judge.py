"""What the policy sees of a command, and what a rule for "commands that begin with these words" looks like.

A command has exactly one of these subjects, which tells all of it:

    run:git log -3                    one simple command that does what its name says
    indirect:(python -m pytest) -q    one that reaches further; the words in brackets decide how far
    script:cd src && make             anything else: it runs by a shell, and no prefix allows it

What reaches further or is a script also has `within:rm -rf x` for every command that can be seen inside it, and so has
a program under another name than its plain one: `/bin/rm`, `python3.12`.

A rule that allows a prefix covers `run:` with any words after it, and `indirect:` if the prefix spells out all the
words in brackets and at least two: `find` allows looking but neither -exec nor -delete, `python` allows nothing,
`python -m pytest` allows that with whatever follows, `find . -delete` exactly that. The program counts as it is
written: `ls` is not `./ls`. A rule that forbids or asks covers `run:` and `within:`, wherever the command stands. It
sees what is written there, not what a variable or another program will make of it; such commands need leave anyway.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from unicodedata import normalize

from pollux.core.errors import ValidationError
from pollux.core.policy import Mode
from pollux.tools.shell.launchers import inside, reach
from pollux.tools.shell.parse import Compound, Simple, Words, parse
from pollux.tools.shell.words import has_odd_characters, literal_words

MAX_PREFIX_WORDS = 16
MAX_PREFIX_LENGTH = 500
MAX_WITHIN = 256
"""How many of the commands inside a command are told, each with as much as a prefix can ask for."""
MAX_LEVELS = 3
"""How deep we read scripts within scripts."""


def subjects(command: str | Sequence[str]) -> frozenset[str]:
    """What a rule or a grant can speak of: the command as a whole, and what can be seen inside it. Never raises."""
    if isinstance(command, str):
        parsed = parse(command)
    else:
        argv = tuple(command)
        is_plain = argv and argv[0] and not has_odd_characters("".join(argv))
        parsed = Simple(argv) if is_plain else Compound("it cannot be run as it is", (argv,) if argv else ())
    if isinstance(parsed, Compound):
        text = command if isinstance(command, str) else shlex.join(command)
        return frozenset({f"script:{_storable(text)}", *_within(parsed.commands)})
    return _subjects_of(parsed.argv)


def prefix_patterns(prefix: str, decision: Mode) -> tuple[str, ...]:
    """Patterns for the `subjects` of a rule about commands that begin with these words.

    Raises ValidationError if the prefix is anything but plain words.
    """
    words = _prefix_words(prefix, decision)
    joined = shlex.join(words)
    if decision != "allow":
        return tuple(_and_more(f"run:{joined}", f"within:{joined}"))
    spelled = (f"indirect:{_bracketed(words, deciding)}" for deciding in range(2, len(words) + 1))
    # What is within is told by the subject that tells all of it; on its own it opens nothing.
    return *_and_more(f"run:{joined}", *spelled), "within:*"


def _subjects_of(argv: Words) -> frozenset[str]:
    found = reach(argv)
    if found is None:
        named = {f"within:{_clipped(inner)}" for inner in inside(argv) if not isinstance(inner, str)}
        return frozenset({f"run:{shlex.join(argv)}", *named})
    return frozenset({f"indirect:{_bracketed(argv, found.words)}", *_within((argv,))})


def _bracketed(argv: Words, deciding: int) -> str:
    # shlex quotes every bracket that belongs to a word, so that these two stand out.
    return " ".join((f"({shlex.join(argv[:deciding])})", *map(shlex.quote, argv[deciding:])))


def _within(commands: Iterable[Words]) -> Iterator[str]:
    for command in islice(_all_within(commands, levels=MAX_LEVELS), MAX_WITHIN):
        yield f"within:{_clipped(command)}"


def _all_within(commands: Iterable[Words], *, levels: int) -> Iterator[Words]:
    for command in commands:
        yield command
        for inner in inside(command):
            if not isinstance(inner, str):
                yield inner
            elif levels:
                parsed = parse(inner)
                found = parsed.commands if isinstance(parsed, Compound) else (parsed.argv,)
                yield from _all_within(found, levels=levels - 1)


def _clipped(command: Words) -> str:
    return _storable(shlex.join(command[:MAX_PREFIX_WORDS])[: 2 * MAX_PREFIX_LENGTH])


def _storable(text: str) -> str:
    # No command that can be run holds one of these, so no two that can be run become one.
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def _prefix_words(prefix: str, decision: Mode) -> Words:
    text = normalize("NFC", prefix)
    words = literal_words(text)
    if not isinstance(words, str) and decision == "allow" and isinstance(parsed := parse(text), Compound):
        words = parsed.reason
    if isinstance(words, str):
        raise ValidationError(
            f"expected a command prefix of plain words such as 'git log', found {prefix!r}: {words}. "
            "Leave out wildcards and operators: a prefix covers every command that begins with its words"
        )
    if len(words) > MAX_PREFIX_WORDS or len(shlex.join(words)) > MAX_PREFIX_LENGTH:
        raise ValidationError(
            f"expected a command prefix of at most {MAX_PREFIX_WORDS} words and {MAX_PREFIX_LENGTH} characters, "
            f"found {len(words)} words and {len(shlex.join(words))} characters"
        )
    return words


def _and_more(*forms: str) -> Iterator[str]:
    for form in forms:
        literal = re.sub(r"[*?[]", r"[\g<0>]", form)
        yield literal
        yield f"{literal} *"
