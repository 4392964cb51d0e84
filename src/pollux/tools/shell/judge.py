"""What the policy sees of a command, and what a rule for "commands that begin with these words" looks like.

A command has exactly one of these subjects, which tells all of it:

    run:git log -3                    one simple command that does what its name says
    indirect:(python -m pytest) -q    one that reaches further; the words in brackets decide how far
    script:cd src && make             anything else: it runs by a shell, and no prefix allows it

What is too long, too deep or too strange to be read to its end also has `unanalysed`: every rule that forbids or asks
matches it, none that allows. What reaches further or is a script also has `within:rm -rf x` for every command that can
be seen inside it, and so has a program under another name than its plain one: `/bin/rm`, `python3.12`.

A rule that allows a prefix covers `run:` with any words after it, and `indirect:` if the prefix spells out all the
words in brackets and at least two: `find` allows looking but neither -exec nor -delete, `python` allows nothing,
`python -m pytest` allows that with whatever follows, `find . -delete` exactly that. Only programs that we know are
`run:`; any other has all of its words in brackets. A program of the folder, spelled with its relative path, is enough
by itself: `./check` allows that, without arguments. The program counts as it is written: `ls` is not `./ls`.

A rule that forbids or asks covers `run:` and `within:`, wherever the command stands, and every command that has the
subject `computed`: what a variable, a substitution or an input makes of it may be the one that it names. It does not
see what another program does by itself, such as `python -c` or a script in a file.
"""

import logging
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from unicodedata import normalize

from pollux.core.errors import ValidationError
from pollux.core.policy import UNANALYSED, Mode
from pollux.tools.shell.launchers import IsInstalled, anywhere, at_most, inside, is_computed, is_known, reach
from pollux.tools.shell.parse import Compound, Simple, Words, parse
from pollux.tools.shell.words import has_odd_characters, literal_words

logger = logging.getLogger(__name__)

PROGRAMS = "program:*"
"""What subjects of documents' scripts say of the files behind their words. A rule is by the words."""
COMPUTED = "computed"
"""The subject of a command of which a part is made while it runs: `$x`, `eval "$(…)"`, `… | sh`."""

MAX_PREFIX_WORDS = 16
MAX_PREFIX_LENGTH = 500
MAX_WITHIN = 256
"""How many of the commands inside a command are told, each with as much as a prefix can ask for."""
MAX_LEVELS = 3
"""How deep we read scripts within scripts."""


def subjects(command: str | Sequence[str], *, is_installed: IsInstalled = anywhere) -> frozenset[str]:
    """What a rule or a grant can speak of: the command as a whole, and what can be seen inside it. Never raises.

    `is_installed` says of a program's name whether what it names is the program that everybody knows by it.
    """
    if isinstance(command, str):
        parsed = parse(command)
    else:
        argv = tuple(command)
        is_plain = argv and argv[0] and not has_odd_characters("".join(argv))
        parsed = Simple(argv) if is_plain else Compound("it cannot be run as it is", (argv,) if argv else ())
    if isinstance(parsed, Compound):
        text = command if isinstance(command, str) else shlex.join(command)
        unread = () if parsed.is_whole else (UNANALYSED,)
        computed = (COMPUTED,) if parsed.is_computed else ()
        return frozenset({f"script:{_storable(text)}", *unread, *computed, *_within(parsed.commands)})
    return _subjects_of(parsed.argv, is_installed)


def commands_in(script: str) -> tuple[tuple[Words, ...], bool]:
    """Every command that can be seen in a script, and whether it runs none besides. Never raises."""
    parsed = parse(script)
    first = parsed.commands if isinstance(parsed, Compound) else (parsed.argv,)
    found = tuple(at_most(MAX_WITHIN, _all_within(first, levels=MAX_LEVELS)))
    commands = tuple(each for each in found if each)
    is_read = isinstance(parsed, Simple) or (parsed.is_whole and not parsed.is_computed)
    return commands, is_read and len(commands) == len(found) and not any(map(is_computed, commands))


def advice(command: str) -> str:
    """Why a rule by the program's name does not allow this command, for the person who is asked. Empty for scripts."""
    parsed = parse(command)
    found = None if isinstance(parsed, Compound) else reach(parsed.argv)
    if found is None or isinstance(parsed, Compound) or found.words < len(parsed.argv):
        return ""
    return f"{found.reason}. A rule that allows it must spell out the full command"


def prefix_patterns(prefix: str, decision: Mode) -> tuple[str, ...]:
    """Patterns for the `subjects` of a rule about commands that begin with these words.

    Raises ValidationError if the prefix is anything but plain words.
    """
    words = _prefix_words(prefix, decision)
    joined = shlex.join(words)
    if decision != "allow":
        return *_and_more(f"run:{joined}", f"within:{joined}"), COMPUTED
    fewest = 1 if "/" in words[0] and not words[0].startswith("/") else 2
    if len(words) < fewest and not is_known(words):
        logger.warning(
            "a rule for %s alone allows nothing: it can run code from its arguments or its folder, as far as we know. "
            "Spell out the full command",
            words[0],
        )
    spelled = (f"indirect:{_bracketed(words, deciding)}" for deciding in range(fewest, len(words) + 1))
    # What is within is told by the subject that tells all of it; on its own it opens nothing.
    return *_and_more(f"run:{joined}", *spelled), "within:*", COMPUTED, PROGRAMS


def _subjects_of(argv: Words, is_installed: IsInstalled) -> frozenset[str]:
    found = reach(argv, is_installed=is_installed)
    if found is None:
        seen = (inner for inner in inside(argv) if not isinstance(inner, str))
        return frozenset({f"run:{shlex.join(argv)}", *chain.from_iterable(map(_named, seen))})
    return frozenset({f"indirect:{_bracketed(argv, found.words)}", *_within((argv,))})


def _bracketed(argv: Words, deciding: int) -> str:
    # shlex quotes every bracket that belongs to a word, so that these two stand out.
    return " ".join((f"({shlex.join(argv[:deciding])})", *map(shlex.quote, argv[deciding:])))


def _within(commands: Iterable[Words]) -> Iterator[str]:
    for command in at_most(MAX_WITHIN, _all_within(commands, levels=MAX_LEVELS)):
        yield from _named(command)


def _all_within(commands: Iterable[Words], *, levels: int) -> Iterator[Words | None]:
    """Every command inside these. None stands for what we do not look at: too deep, too many, not to be read.

    Empty words stand for a command that is computed.
    """
    for command in commands:
        yield command
        for inner in inside(command):
            if not isinstance(inner, str):
                yield inner
            elif levels:
                parsed = parse(inner)
                found = parsed.commands if isinstance(parsed, Compound) else (parsed.argv,)
                if isinstance(parsed, Compound) and not parsed.is_whole:
                    yield None
                if isinstance(parsed, Compound) and parsed.is_computed:
                    yield ()
                yield from _all_within(found, levels=levels - 1)
            else:
                yield None


def _named(command: Words | None) -> Iterator[str]:
    if command is None:
        yield UNANALYSED
    elif not command:
        yield COMPUTED
    else:
        yield f"within:{_clipped(command)}"
        if is_computed(command):
            yield COMPUTED


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
