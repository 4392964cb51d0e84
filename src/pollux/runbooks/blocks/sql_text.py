"""Where the statements of an SQL text begin and end, and whether they merely read.

The answer decides which tool a block calls. It is not what keeps a reading tool from writing: that is the database
itself, to which each statement goes alone, in a transaction that cannot write.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal

from pollux.core.frozen import frozen

Dialect = Literal["sqlite", "postgres"]


@frozen
class Statement:
    """One statement. `words` are those outside of quotes and comments, in capitals; `;` is one of them."""

    text: str
    words: tuple[str, ...]


_COMMON: Final = r"(?P<skip>--[^\n]*|'(?:[^']|'')*'?|\"(?:[^\"]|\"\")*\"?{more})|(?P<word>[^\W\d]\w*)|(?P<end>;)|."
_TOKENS: Final[dict[Dialect, re.Pattern[str]]] = {
    "sqlite": re.compile(_COMMON.format(more=r"|/\*.*?(?:\*/|\Z)|`[^`]*`?|\[[^\]]*\]?"), re.DOTALL),
    "postgres": re.compile(
        # Strings with escapes first: their E is no word. Comments nest there, and are looked at by hand.
        r"(?P<escaped>[eE]'(?:[^'\\]|''|\\.)*'?)|(?P<nested>/\*)|(?P<dollar>\$(?:[^\W\d]\w*)?\$)|"
        + _COMMON.format(more=""),
        re.DOTALL,
    ),
}

_FIRST: Final[dict[Dialect, frozenset[str]]] = {
    "sqlite": frozenset("SELECT VALUES EXPLAIN WITH PRAGMA".split()),
    "postgres": frozenset("SELECT VALUES EXPLAIN WITH SHOW TABLE".split()),
}
_WRITING: Final = frozenset("INSERT UPDATE DELETE MERGE INTO SHARE CREATE ALTER DROP EXECUTE".split())
_PRAGMAS: Final = frozenset(
    "TABLE_INFO TABLE_XINFO TABLE_LIST INDEX_LIST INDEX_INFO INDEX_XINFO FOREIGN_KEY_LIST FOREIGN_KEY_CHECK"
    " DATABASE_LIST COLLATION_LIST FUNCTION_LIST MODULE_LIST PRAGMA_LIST COMPILE_OPTIONS INTEGRITY_CHECK QUICK_CHECK"
    " USER_VERSION SCHEMA_VERSION APPLICATION_ID ENCODING PAGE_COUNT PAGE_SIZE FREELIST_COUNT JOURNAL_MODE".split()
)
_ACTING: Final = re.compile(
    # Functions whose effect no transaction holds back.
    r"PG_(?:TERMINATE|CANCEL|RELOAD|ROTATE|NOTIFY|SWITCH|CREATE|DROP|COPY|PROMOTE|(?:TRY_)?ADVISORY|LOGICAL|REPLICATION"
    r"|FILE|WAL|BACKUP|START|STOP|LOG|SYNC|IMPORT|STAT_RESET)\w*|DBLINK\w*|LO_\w+|NEXTVAL|SETVAL|SET_CONFIG"
)
TRANSACTION: Final = frozenset("BEGIN START COMMIT END ROLLBACK ABORT SAVEPOINT RELEASE PREPARE".split())
"""With one of these first, a statement ends or begins a transaction by itself."""


def statements(text: str, dialect: Dialect) -> tuple[Statement, ...]:
    """The statements. What is empty, or nothing but a comment, is none."""
    return tuple(statement for statement in _split(text, dialect) if statement.words)


def reads_only(statement: Statement, dialect: Dialect) -> bool:
    """Whether it looks like one that reads. When in doubt it does not."""
    first, *rest = statement.words
    if first not in _FIRST[dialect]:
        return False
    if first == "PRAGMA":
        return "=" not in statement.text and any(word in _PRAGMAS for word in rest[:2])
    return not any(word in _WRITING or (dialect == "postgres" and _ACTING.fullmatch(word)) for word in rest)


def _split(text: str, dialect: Dialect) -> Iterator[Statement]:
    start = position = 0
    words: list[str] = []
    while found := _TOKENS[dialect].match(text, position):
        position = found.end()
        match found.lastgroup:
            case "nested":
                position = _after_comment(text, position)
            case "dollar":
                closing = text.find(found[0], position)
                position = len(text) if closing < 0 else closing + len(found[0])
            case "word":
                words.append(found[0].upper())
            case "end" if _is_inside(words, dialect):
                words.append(";")
            case "end":
                yield Statement(text[start : found.start()].strip(), tuple(words))
                start, words = position, []
            case _:
                pass
    yield Statement(text[start:].strip(), tuple(words))


def _is_inside(words: list[str], dialect: Dialect) -> bool:
    """Whether this semicolon stands inside the body of a trigger, which ends with `; END`."""
    is_trigger = dialect == "sqlite" and words[:1] == ["CREATE"] and "TRIGGER" in words[1:3]
    return is_trigger and "BEGIN" in words and words[-2:] != [";", "END"]


def _after_comment(text: str, position: int) -> int:
    depth = 1
    for found in re.finditer(r"/\*|\*/", text[position:]):
        depth += 1 if found[0] == "/*" else -1
        if not depth:
            return position + found.end()
    return len(text)
