"""The emulator's own pages and questions: start, outbox, ledger, requests, faults."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pollux.emulator import recorder
from pollux.emulator.answer import Answer
from pollux.emulator.faults import UnknownFault
from pollux.emulator.recorder import RecordedRequest
from pollux.emulator.workspace import api, faults, ledger, outbox
from pollux.emulator.workspace.accounts import Accounts
from pollux.emulator.workspace.faults import FaultBook
from pollux.emulator.workspace.incoming import Incoming
from pollux.emulator.workspace.ledger import Ledger

_ALLOWED = {
    "/_emulator/requests": ("GET", "DELETE"),
    "/_emulator/ledger": ("GET",),
    "/_emulator/faults": ("GET", "POST", "DELETE"),
}


class Desk:
    """Answers what is asked about the emulator itself."""

    def __init__(self, accounts: Accounts, book: Ledger, rules: FaultBook, requests: list[RecordedRequest]) -> None:
        self._accounts, self._ledger, self._faults, self._requests = accounts, book, rules, requests
        self._questions: dict[str, Callable[[Incoming], Any]] = {
            "/_emulator/requests": self._seen,
            "/_emulator/ledger": lambda _: ledger.shown(self._ledger.entries),
            "/_emulator/faults": self._rules,
        }

    def answer(self, incoming: Incoming, url: str) -> Answer | None:
        """The answer; None when this is about something else."""
        path = incoming.path
        if path in _ALLOWED:
            return self._question(incoming)
        if incoming.verb not in ("GET", "HEAD"):
            return None
        if path == "/":
            return outbox.start(url, sorted(self._accounts.mailboxes.keys() | self._accounts.calendars.keys()))
        if path in ("/outbox", "/outbox/"):
            return outbox.index(self._ledger.entries)
        return self._one(path.removeprefix("/outbox/")) if path.startswith("/outbox/") else None

    def _question(self, incoming: Incoming) -> Answer:
        allowed = _ALLOWED[incoming.path]
        if incoming.verb not in allowed:
            answer = api.in_json({"error": f"expected {' or '.join(allowed)}, found {incoming.verb}"}, status=405)
            return replace(answer, headers={"Allow": ", ".join(allowed)})
        try:
            return api.in_json(self._questions[incoming.path](incoming))
        except UnknownFault as error:
            return api.in_json({"error": str(error)}, status=400)

    def _seen(self, incoming: Incoming) -> list[dict[str, Any]]:
        if incoming.verb == "DELETE":
            self._requests.clear()
        return [recorder.shown(one) for one in self._requests]

    def _rules(self, incoming: Incoming) -> list[dict[str, Any]]:
        if incoming.verb == "DELETE":
            self._faults.clear()
        if incoming.verb == "POST":
            try:
                rules = incoming.json
            except (ValueError, RecursionError):
                raise UnknownFault("expected JSON: a list of rules") from None
            self._faults.rules += faults.read_rules(rules)
        return [faults.shown(rule) for rule in self._faults.rules]

    def _one(self, id: str) -> Answer:
        entry = next((one for one in reversed(self._ledger.entries) if one.id == id), None)
        for box in self._accounts.mailboxes.values() if entry else ():
            if entry and id in box.mails:
                return outbox.one_mail(box.mails[id], entry)
        for account, events in self._accounts.calendars.items() if entry else ():
            if entry and id in events:
                return outbox.one_event(events[id], entry, account)
        return outbox.none(id)
