"""The tools an engine knows, by name, with their schemas compiled once."""

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

import jsonschema_rs

from pollux.core.canonical import normal
from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import Tool


class Toolbox(Mapping[str, Tool]):
    """Tools by name. Two of one name are refused: the model could not tell them apart."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._validators: dict[str, jsonschema_rs.Validator] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> None:
        name = tool.spec.name
        if name in self._tools:
            raise ValidationError(f"two tools are called {name!r}; give one of them another name")
        try:
            self._validators[name] = jsonschema_rs.validator_for(dict(tool.spec.input_schema))
        except (jsonschema_rs.ValidationError, ValueError) as problem:
            raise ValidationError(f"the input schema of tool {name!r} is not JSON Schema: {problem}") from None
        self._tools[name] = tool

    def prepare(self, name: str, args: object) -> dict[str, JSON]:
        """The arguments in canonical form, checked by schema and by the tool itself. Raises ValidationError."""
        if not isinstance(args, dict):
            raise ValidationError(f"expected an object of arguments, found {type(args).__name__}")
        checked = cast("dict[str, JSON]", normal(args))
        problem = next(iter(self._validators[name].iter_errors(checked)), None)
        if problem is not None:
            where = "/".join(str(step) for step in problem.instance_path) or "the arguments"
            raise ValidationError(f"{where}: {problem.message}")
        prepared = self._tools[name].prepare(checked)
        return checked if prepared is checked else cast("dict[str, JSON]", normal(prepared))

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)
