"""A reader for the declarations that are written for TypeScript: it takes those, and nothing that is misspelt."""

import re
from typing import Final

from pollux.tools.actions.shapes import AnyOf, Atom, Choice, ListOf, Member, RecordOf, Shape, Struct

TOKEN: Final = re.compile(r"\s*([A-Za-z_$][\w$]*|'(?:[^'\\\n]|\\.)*'|-?\d[\d.e+-]*|[{}<>\[\]:;,|=?])", re.ASCII)
ATOMS: Final = {"string", "number", "boolean", "null", "unknown"}


class Declarations:
    """Reads a whole file."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at = 0
        while text[at:].strip():
            match = TOKEN.match(text, at)
            assert match, f"nothing that TypeScript knows: {text[at : at + 40]!r}"
            self._tokens.append(match[1])
            at = match.end()
        self._at = 0

    def read(self) -> dict[str, Shape]:
        """Every declaration by its name."""
        found: dict[str, Shape] = {}
        while self._at < len(self._tokens):
            self._take("export")
            kind, name = self._next(), self._next()
            assert re.fullmatch(r"[A-Za-z_]\w*", name) and name not in found
            if kind == "interface":
                found[name] = self._struct()
            else:
                assert kind == "type"
                self._take("=")
                found[name] = self._union()
                self._take(";")
        return found

    def _union(self) -> Shape:
        parts = [self._type()]
        while self._peek() == "|":
            self._next()
            parts.append(self._type())
        if all(isinstance(part, Choice) for part in parts):
            return Choice(tuple(value for part in parts if isinstance(part, Choice) for value in part.values))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _type(self) -> Shape:
        if self._peek() == "{":
            return self._struct()
        token = self._next()
        if token.startswith("'"):
            return Choice((re.sub(r"\\(.)", r"\1", token[1:-1]),))
        if token in ("Array", "Record"):
            self._take("<")
            if token == "Record":
                self._take("string")
                self._take(",")
            inner = self._union()
            self._take(">")
            if token == "Array":
                return ListOf(inner)
            return Struct(()) if inner == Atom("unknown") else RecordOf(inner)
        assert token in ATOMS, token
        return Atom(token)  # pyright: ignore[reportArgumentType]

    def _struct(self) -> Struct:
        self._take("{")
        members: list[Member] = []
        while self._peek() != "}":
            name = self._next()
            name = re.sub(r"\\(.)", r"\1", name[1:-1]) if name.startswith("'") else name
            is_optional = self._peek() == "?" and bool(self._next())
            self._take(":")
            members.append(Member(name, self._union(), is_optional))
            self._take(";")
        self._take("}")
        return Struct(tuple(members))

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, token: str) -> None:
        found = self._next()
        assert found == token, f"expected {token}, found {found}"
