"""Literal words, read as bash reads them. What bash would fill in, expand or act upon is an obstacle, not a word.

The law: the words that come back are, one for one, what bash would hand to the program. In doubt there is an obstacle.
"""

import re
from unicodedata import category


def literal_words(text: str) -> tuple[str, ...] | str:
    """The words of a text that holds nothing but literal words, quotes resolved; or else what is in the way."""
    if has_odd_characters(text):
        return "it holds control or invisible characters"
    return plain_words(text)


def has_odd_characters(text: str) -> bool:
    """Whether a reader could be misled: control, format and unassigned characters, lone surrogates, odd blanks."""
    if text.isascii():
        return _CONTROL.search(text) is not None
    return any(category(character) in _ODD for character in text if character not in " \t\n")


def plain_words(text: str) -> tuple[str, ...] | str:
    """The same, also where characters are odd: for looking, not for running."""
    words: list[str] = []
    value = bare = ""
    # The end of the line closes the last word. A backslash before it would not make it a part of that word.
    line = text.strip(" \t\n") + "\n"
    at = 0
    while at < len(line):
        piece = _PIECE.match(line, at)
        if piece is None:
            return _OBSTACLES.get(line[at], "it holds something other than plain words")
        at = piece.end()
        if piece["blank"] is None:
            value += _resolved(piece)
            bare += piece["bare"] or _QUOTED
        elif bare:
            if obstacle := _obstacle(bare, value, is_first=not words):
                return obstacle
            words.append(value)
            value = bare = ""
    return tuple(words) or "there is no command"


_ODD = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_QUOTED = "\0"
"""Stands for a quoted piece where only the unquoted characters matter. No unquoted piece can hold it."""

_PIECE = re.compile(
    r"""(?P<blank>[ \t]+|\n\Z)
    | (?P<bare>(?:[A-Za-z0-9_@%+=:,./^~{}\#\]!-]|[^\x00-\x7f])+)
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\$`]|\\[^\n])*)"
    | \\(?P<escaped>[^\n])""",
    re.VERBOSE,
)
_ESCAPE_IN_QUOTES = re.compile(r'\\([$`"\\])')
_OBSTACLES = {
    "\n": "it has more than one line",
    "$": "it holds a variable or a substitution",
    "`": "it holds a substitution",
    "|": "it pipes one command into another",
    "&": "it runs several commands, or one in the background",
    ";": "it runs several commands",
    "<": "it redirects input",
    ">": "it redirects output",
    "(": "it holds a group, a function or a list",
    ")": "it holds a group, a function or a list",
    "*": "it holds an unquoted wildcard",
    "?": "it holds an unquoted wildcard",
    "[": "it holds an unquoted wildcard",
    "\\": "it continues on another line",
    "'": "it holds a quote that is not closed",
    '"': "it holds an expansion in quotes, or a quote that is not closed",
}


def _resolved(piece: re.Match[str]) -> str:
    if piece["double"] is not None:
        return _ESCAPE_IN_QUOTES.sub(r"\1", piece["double"])
    return piece["bare"] or piece["single"] or piece["escaped"] or ""


def _obstacle(bare: str, value: str, *, is_first: bool) -> str:
    """What bash would make of an unquoted word other than the word itself."""
    if bare[0] == "#":
        return "it holds a comment"
    if bare[0] == "~" or ("~" in bare and ("=" in bare or ":" in bare)):
        return "it holds a home directory to be filled in"
    if "!" in bare and (is_first or bare != "!"):
        return "it holds an unquoted exclamation mark"
    if "{" in bare and ("," in value or ".." in value):
        return "it holds braces to be expanded"
    if is_first and "=" in bare:
        return "it sets a variable"
    if is_first and bare[0] == "%":
        return "it names a job of the shell"
    return ""
