"""Whoever has an account here: anyone who once allowed something on the consent page."""

from typing import Any

from pollux.emulator.workspace.made import Made
from pollux.emulator.workspace.mailbox import Mailbox


class Accounts:
    """Mailboxes and calendars by address."""

    def __init__(self, made: Made) -> None:
        self._made = made
        self.mailboxes: dict[str, Mailbox] = {}
        self.calendars: dict[str, dict[str, dict[str, Any]]] = {}

    def known(self, address: str) -> bool:
        """Does this address have an account here?"""
        return address in self.mailboxes

    def mailbox(self, address: str) -> Mailbox:
        """The mail of this address."""
        if address not in self.mailboxes:
            self.mailboxes[address] = Mailbox(address, self._made)
        return self.mailboxes[address]

    def events(self, address: str) -> dict[str, dict[str, Any]]:
        """The events of this address by id, deleted ones too."""
        return self.calendars.setdefault(address, {})
