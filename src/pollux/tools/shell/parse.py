"""What a line of shell says. It is read twice: by a strict reader of literal words, and by tree-sitter's grammar.

The law: where `parse` answers Simple, bash would have run exactly that argv, so the argv can be judged and can be run
without a shell. Both readers must agree on it. Everything else is Compound and never judged by its words: it needs a
person. What a Compound lists of its commands is there for rules that forbid, and is as complete as can be seen.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from pollux.core.frozen import frozen
from pollux.tools.shell.launchers import is_computed
from pollux.tools.shell.steering import steers_in_shell
from pollux.tools.shell.words import literal_words, plain_words

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_BYTES = 32_768
MAX_SPECIALS = 1_000
"""Characters that mean something to a shell. The grammar's time may grow with the square of their number."""
MAX_COMMANDS = 256

Words = tuple[str, ...]


@frozen
class Simple:
    """One command of literal words."""

    argv: Words


@frozen
class Compound:
    """Anything else: why it is not simple, and the commands seen in it. Words that are not literal stand as written."""

    reason: str
    commands: tuple[Words, ...] = ()
    is_whole: bool = True
    """Whether all of it was read: no limit was reached, and the grammar understood every line."""
    is_computed: bool = False
    """Whether some of what it runs is not written there: a variable, a substitution or an input makes the command."""


Parsed = Simple | Compound


def parse(text: str) -> Parsed:
    """Read a command as bash would. Never raises, whatever the text."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return Compound(
            f"it is longer than {MAX_BYTES:,} bytes", _seen_roughly(text[:MAX_BYTES]), is_whole=False, is_computed=True
        )
    words = literal_words(text)
    if isinstance(words, str):
        return Compound(words, *_seen(text))
    if not words[0] or words[0] in SHELL_WORDS:
        return Compound(f"{words[0]!r} is a word of the shell, not a program", *_seen(text))
    if len(words) != _words_by_grammar(text):
        return Compound("it cannot be read with certainty", *_seen(text))
    return Simple(words)


def statements(text: str) -> tuple[str, ...]:
    """The statements of a script, each as it is written. Of one that the grammar cannot read: its lines, and all of it.

    Never raises.
    """
    root = None if len(text.encode("utf-8", "replace")) > MAX_BYTES else _tree(text)
    if root is None or root.has_error:
        return (*filter(str.strip, text.splitlines()), text)
    return tuple(text[node.start_byte : node.end_byte] for node in root.named_children if node.type != "comment")


# Words of the shell itself: as programs they do not exist or mean something else. `echo`, `test`, `kill` and others of
# which a program exists are left out: run by argv they do what they say.
SHELL_WORDS = frozenset(
    """! . : [[ ]] { } alias bg bind break builtin caller case cd command compgen complete compopt continue coproc
    declare dirs disown do done elif else enable esac eval exec exit export fc fg fi for function getopts hash help
    history if in jobs let local logout mapfile popd pushd read readarray readonly return select set shift shopt
    source suspend then time times trap type typeset ulimit umask unalias unset until wait while""".split()
)

_PLAIN = frozenset({"command_name", "word", "number", "raw_string", "string", "concatenation"})
_COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_NOT_WORDS = frozenset({"variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect"})
_ASSIGNED = re.compile(r"\$\{!?(\w+)(?:\[[^]]*\])?:?=")
_ONLY_READ = frozenset({"expansion", "simple_expansion", "unset_command"})
_NAMES = frozenset({"variable_assignment", "variable_name"})
_EXPANDED_LATER = re.compile(r"[$<>]\(|`|\$\{")
_COMMENT_CONTINUED = re.compile(r"#[^\n]*\\\n")
_SPECIAL = re.compile(r"[^\w \t./,:@+-]")
_BEYOND_ASCII = re.compile(r"[^\t\n -~]")
_BETWEEN_COMMANDS = re.compile(r"[\n;&|()`{}<>]+")
_BEFORE_COMMAND = re.compile(r"\s*(?:(?:!|do|elif|else|if|then|time|until|while|\w+\+?=\S*)\s+)+")


def _words_by_grammar(text: str) -> int:
    """How many words the grammar finds, if it finds exactly one command of plain words; otherwise 0."""
    root = _tree(text)
    if root is None or root.has_error or root.child_count != 1 or root.children[0].type != "command":
        return 0
    words = root.children[0].children
    return len(words) if all(word.type in _PLAIN for word in words) else 0


def _seen(text: str) -> tuple[tuple[Words, ...], bool, bool]:
    """The commands in it, whether those are all of them, and whether there are some that are not written there."""
    # The grammar takes a backslash that begins a line for the end of the line before.
    text = text.replace("\n\\", "\n \\")
    joined = text.replace("\\\n", "")
    # A line is continued in the middle of a word too, and a comment never: it is read both ways. Where one line could
    # be either, what the next one holds is not known.
    readings = [_read(each) for each in dict.fromkeys((joined, text))]
    commands = tuple(command for found, _, _ in readings for command in found)
    is_computed = any(computed for _, _, computed in readings) or _COMMENT_CONTINUED.search(text) is not None
    # What a backslash between backquotes stands for is read once more before it is run.
    is_computed = is_computed or "\\" in joined[joined.find("`") + 1 : max(joined.rfind("`"), 0)]
    return commands, all(is_whole for _, is_whole, _ in readings), is_computed


def _read(text: str) -> tuple[tuple[Words, ...], bool, bool]:
    root = _tree(text)
    if root is None:
        return _seen_roughly(text), False, True
    found = tuple(islice(_commands_below(root, text), MAX_COMMANDS + 1))
    is_whole = len(found) <= MAX_COMMANDS and not root.has_error
    # bash runs the lines before the one that it cannot read, and reads some that the grammar cannot.
    roughly = _seen_roughly(text) if root.has_error else ()
    return (*found[:MAX_COMMANDS], *roughly), is_whole, _computes(root, text)


def _commands_below(root: "Node", text: str) -> Iterator[Words]:
    """Every command anywhere below, also in substitutions, loops and functions. Deep nesting costs no stack."""
    todo = [root]
    while todo:
        node = todo.pop()
        if words := _words_in(node, text):
            yield words
        todo.extend(reversed(node.children))


def _computes(root: "Node", text: str) -> bool:
    todo = [root]
    while todo:
        node = todo.pop()
        if _is_computed(node, text):
            return True
        todo.extend(node.children)
    return False


def _is_computed(node: "Node", text: str) -> bool:
    source = text[node.start_byte : node.end_byte]
    if node.type in ("raw_string", "heredoc_body"):
        # Arithmetic, prompts and traps expand texts that were quoted once; of here-documents not all is parsed.
        return _EXPANDED_LATER.search(source) is not None
    if node.type == "expansion":
        assigned = _ASSIGNED.match(source)
        return "`" in source or (assigned is not None and steers_in_shell(assigned[1]))
    if node.type == "variable_name":
        # Set for what runs next, here or once it is exported: a file that it names may be read first, and run.
        return (node.parent is None or node.parent.type not in _ONLY_READ) and steers_in_shell(source)
    if node.type == "declaration_command":
        # Of `export $x` nobody knows the name, and `declare -n` gives another name to a variable.
        words = [
            _plain(text, child) for child in node.children if child.type not in ("variable_assignment", "variable_name")
        ]
        return any(word is None or (word.startswith("-") and "n" in word) for word in words)
    if node.type == "ansi_c_string":
        return "\\" in source
    if node.type == "file_redirect":
        return any(_plain(text, word) is None for word in node.children_by_field_name("destination")[1:])
    if node.type != "command":
        return False
    words = [_plain(text, child) for child in node.children if child.type not in _NOT_WORDS]
    literal = tuple(word for word in words if word is not None)
    return bool(words) and (words[0] is None or is_computed(literal, is_literal=len(literal) == len(words)))


def _plain(text: str, node: "Node") -> str | None:
    words = plain_words(text[node.start_byte : node.end_byte].removeprefix("~/"))
    return None if isinstance(words, str) else " ".join(words)


def _words_in(node: "Node", text: str) -> Words:
    if node.type == "redirected_statement":
        return _words_around_redirect(node, text)
    if node.type not in _COMMANDS:
        return ()
    # What a builtin assigns is one of its words: `export PATH=x`.
    skipped = _NOT_WORDS if node.type == "command" else frozenset[str]()
    return tuple(_as_read(text, child) for child in node.children if child.type not in skipped)


def _words_around_redirect(node: "Node", text: str) -> Words:
    """`git > x push` is a push; to the grammar its words are places to write to."""
    after = [word for redirect in node.children_by_field_name("redirect") for word in _words_after(redirect)]
    last = node.child_by_field_name("body")
    while last is not None and last.type not in _COMMANDS:
        last = last.named_children[-1] if last.named_children else None
    if last is None or not after:
        return ()
    return (*_words_in(last, text), *(_as_read(text, word) for word in after))


def _words_after(redirect: "Node") -> Iterator["Node"]:
    yield from redirect.children_by_field_name("destination")[1:]
    yield from redirect.children_by_field_name("argument")
    for inner in redirect.children_by_field_name("redirect"):
        yield from inner.children_by_field_name("destination")[1:]


def _as_read(text: str, node: "Node") -> str:
    source = text[node.start_byte : node.end_byte]
    words = plain_words(source)
    return source if isinstance(words, str) else " ".join(words)


def _seen_roughly(text: str) -> tuple[Words, ...]:
    """What stands where a command could stand. For texts that the grammar cannot read, or not in time."""
    return tuple(islice(_rough_commands(text), MAX_COMMANDS))


def _rough_commands(text: str) -> Iterator[Words]:
    for part in _BETWEEN_COMMANDS.split(text):
        before = _BEFORE_COMMAND.match(part)
        command = part[before.end() :] if before else part
        words = plain_words(command)
        if plain := tuple(command.split()) if isinstance(words, str) else words:
            yield plain


def _tree(text: str) -> "Node | None":
    """The root of the syntax tree, or None for a text that would take the grammar too long."""
    if sum(1 for _ in islice(_SPECIAL.finditer(text), MAX_SPECIALS + 1)) > MAX_SPECIALS:
        return None
    from tree_sitter import Parser

    # The grammar's scanner crashes on `{` before some characters beyond ASCII. To bash they are all letters alike, so
    # it is given a letter for each; and then a byte is a character, which makes its positions ours.
    twin = _BEYOND_ASCII.sub("x", text).encode()
    # A parser costs microseconds, and one that is not shared needs no lock.
    return Parser(_language()).parse(twin).root_node


@cache
def _language() -> "Language":
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())
