"""One API call, its gate passed: who calls, with what rights, about what."""

from collections.abc import Mapping
from typing import Any

from pollux.core.frozen import frozen
from pollux.emulator.jsons import is_object
from pollux.emulator.workspace.accounts import Accounts
from pollux.emulator.workspace.ledger import Ledger
from pollux.emulator.workspace.made import Made
from pollux.emulator.workspace.refusal import invalid


@frozen(kw_only=True)
class Call:
    """What a method's answer is made of."""

    method: str
    account: str
    scopes: frozenset[str]
    values: Mapping[str, str]
    query: Mapping[str, list[str]]
    content: bytes
    body: Any
    now: float
    accounts: Accounts
    ledger: Ledger
    made: Made

    def asked(self, name: str, default: str = "") -> str:
        """One query parameter."""
        return self.query.get(name, [default])[-1]

    def number(self, name: str, *, default: int, largest: int) -> int:
        """A query parameter as a number from 1. Raises Refusal."""
        text = self.asked(name, str(default))
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise invalid(f"Invalid value at '{name}' (TYPE_UINT32), \"{text}\"")
        return min(int(text) or default, largest)

    def page(self) -> int:
        """Where the asked page begins. Raises Refusal."""
        token = self.asked("pageToken", "0")
        if not (token.isascii() and token.isdigit() and len(token) < 10):
            raise invalid("Invalid pageToken")
        return int(token)

    def object(self, *, known: frozenset[str] | None = None) -> dict[str, Any]:
        """The body as an object with known names only. Raises Refusal."""
        if not is_object(self.body):
            raise invalid("Invalid JSON payload received. Expected an object.", reason="parseError")
        for name in self.body.keys() - (known if known is not None else self.body.keys()):
            raise invalid(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
        return self.body
