"""Write the types of an action as Python: a module of TypedDicts, `send_message_action.py`."""

import json
from typing import Final, assert_never

from pollux.core.messages import JSON
from pollux.tools.actions.metadata import ActionFile
from pollux.tools.actions.names import is_python_name, pascal_case, snake_case, type_name
from pollux.tools.actions.places import ACTION
from pollux.tools.actions.shapes import AnyOf, Atom, Choice, ListOf, Member, RecordOf, Shape, Struct, View

HEAD: Final = "Types of the action"
"""How a module that was written here begins."""
_ATOMS: Final = {
    "string": "str",
    "number": "float",
    "integer": "int",
    "boolean": "bool",
    "null": "None",
    "unknown": "Any",
}
_FILE: Final = Struct(
    (Member("name", Atom("string")), Member("type", Atom("string"), is_optional=True), Member("data", Atom("string")))
)
_SPOKEN_FOR: Final = frozenset({*_ATOMS.values(), "list", "dict", "Literal", "NotRequired"})
"""A member of such a name would hide, within its class, the type of that name."""
_FREE: Final = "dict[str, Any]"


def python_name_of(action: ActionFile) -> str:
    """The name of the module's file."""
    stem = snake_case(action.path.name.removesuffix(ACTION))
    return f"{'_' if stem[:1].isdigit() else ''}{stem}_action.py"


def python_of(action: ActionFile) -> str:
    """The module's source."""
    name = type_name(action.metadata.name)
    writer = _Writer()
    takes = action.takes if isinstance(action.takes, Struct) else Struct(())
    writer.struct(f"{name}Input", takes)
    if isinstance(action.gives, Struct) and action.gives.members:
        writer.struct(f"{name}Output", action.gives)
    elif action.gives is not None:
        writer.alias(f"{name}Output", action.gives)
    body = "\n\n\n".join(writer.sections)
    used = [each for each in ("Any", "Literal", "NotRequired", "TypeAlias", "TypedDict") if each in writer.used]
    head = f"{HEAD} {action.metadata.name}. Change its {ACTION} file instead, and write them anew."
    return f'"""{head}"""\n\nfrom typing import {", ".join(used)}\n\n\n{body}\n'


class _Writer:
    """Writes each object as a class of its own, those that it is made of before it."""

    def __init__(self) -> None:
        self.sections: list[str] = []
        self.used: set[str] = set()
        self._names: set[str] = set()
        self._known: dict[str, str] = {}

    def struct(self, wanted: str, struct: Struct) -> str:
        """Write an object; the result is its name."""
        name = self._unlike_others(wanted)
        members = [(member.name, self._member(name, member)) for member in struct.members]
        self.used.add("TypedDict")
        if all(is_python_name(key) and key not in _SPOKEN_FOR for key, _ in members):
            lines = [f"\n    {key}: {hint}" for key, hint in members] or ["\n    pass"]
            self.sections.append(f"class {name}(TypedDict):{''.join(lines)}")
        else:
            lines = [f"        {_written(key)}: {hint},\n" for key, hint in members]
            self.sections.append(f'{name} = TypedDict(\n    "{name}",\n    {{\n{"".join(lines)}    }},\n)')
        return name

    def alias(self, wanted: str, shape: Shape) -> None:
        """Write another name for what is no object."""
        name = self._unlike_others(wanted)
        hint = self._hint(name, shape)
        self.used.add("TypeAlias")
        self.sections.append(f"{name}: TypeAlias = {hint}")

    def _member(self, owner: str, member: Member) -> str:
        hint = self._hint(owner + pascal_case(member.name), member.shape)
        if not member.is_optional:
            return hint
        self.used.add("NotRequired")
        return f"NotRequired[{hint}]"

    def _hint(self, wanted: str, shape: Shape) -> str:
        match shape:
            case Atom(name="file"):
                return self._once("JayFile", _FILE)
            case Atom(name=name):
                self.used.update({"Any"} if name == "unknown" else ())
                return _ATOMS[name]
            case Choice(values=values):
                return self._literal(values)
            case ListOf(item=item):
                return f"list[{self._hint(f'{wanted}Item', item or Atom('unknown'))}]"
            case RecordOf(item=item):
                return f"dict[str, {self._hint(f'{wanted}Value', item)}]"
            case Struct(members=()):
                self.used.add("Any")
                return _FREE
            case Struct():
                return self.struct(wanted, shape)
            case View(name=name, shape=inner, is_nullable=is_nullable):
                hint = self._once(name, inner) if isinstance(inner, Struct) else self._hint(wanted, inner)
                return f"{hint} | None" if is_nullable else hint
            case AnyOf(members=parts):
                hints = [self._hint(f"{wanted}{number}", part) for number, part in enumerate(parts, 1)]
                return "Any" if "Any" in hints else " | ".join(dict.fromkeys(hints))
            case _:
                assert_never(shape)

    def _literal(self, values: tuple[JSON, ...]) -> str:
        # There is no literal of a number with a fraction.
        if not all(value is None or isinstance(value, str | int) for value in values):
            self.used.add("Any")
            return "Any"
        self.used.add("Literal")
        return f"Literal[{', '.join(_written(value) for value in values)}]"

    def _once(self, name: str, struct: Struct) -> str:
        if name not in self._known:
            self._known[name] = _FREE if not struct.members else self.struct(name, struct)
            self.used.update({"Any"} if not struct.members else ())
        return self._known[name]

    def _unlike_others(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._names:
            number += 1
            name = f"{wanted}_{number}"
        self._names.add(name)
        return name


def _written(value: JSON) -> str:
    # The way Python's own formatters would write it.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
