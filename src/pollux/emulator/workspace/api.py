"""The gate before Gmail and Calendar: path, token, scope, body; then the method, and its answer as JSON."""

import json
from dataclasses import replace
from typing import Any

from pollux.core.frozen import frozen
from pollux.emulator.answer import Answer
from pollux.emulator.jsons import too_deep
from pollux.emulator.workspace import calendar, gmail, refusal
from pollux.emulator.workspace.accounts import Accounts
from pollux.emulator.workspace.call import Call
from pollux.emulator.workspace.grants import Grants
from pollux.emulator.workspace.incoming import Incoming
from pollux.emulator.workspace.ledger import Ledger
from pollux.emulator.workspace.made import Made
from pollux.emulator.workspace.refusal import Refusal, Said
from pollux.emulator.workspace.scopes import Method

_JSON = "application/json; charset=UTF-8"
_NO_STORE = {"Cache-Control": "no-cache, no-store, max-age=0, must-revalidate", "Vary": "Origin"}


@frozen(kw_only=True)
class World:
    """Everything a call can touch."""

    accounts: Accounts
    grants: Grants
    ledger: Ledger
    made: Made


def answer(incoming: Incoming, found: tuple[Method, dict[str, str]] | None, world: World, *, now: float) -> Answer:
    """Answer one call."""
    if found is None:
        return refuse(Said(404, f"The path {incoming.path} has no {incoming.verb} here.", "notFound"), method="")
    method, values = found
    try:
        call = _call(incoming, method, values, world, now=now)
        body = gmail.answer(call) if method.id.startswith("gmail.") else calendar.answer(call)
    except Refusal as refused:
        return refuse(refused.said, method=method.id)
    except OSError:
        # The ledger's disk is full or gone: nothing has happened.
        return refuse(Said(500, "The ledger cannot be written, so nothing was done.", "backendError"), method=method.id)
    return Answer(204, (), _JSON, headers=_NO_STORE) if body is None else in_json(body)


def refuse(said: Said, *, method: str) -> Answer:
    """A refusal as Google words it."""
    found = in_json(refusal.body(said, method=method), status=said.status)
    return replace(found, headers={**found.headers, **dict(said.headers)})


def in_json(body: Any, *, status: int = 200) -> Answer:
    """An answer in JSON."""
    content = json.dumps(body, ensure_ascii=False, indent=2).encode("utf-8", "replace")
    return Answer(status, (content,), _JSON, headers=_NO_STORE)


def _call(incoming: Incoming, method: Method, values: dict[str, str], world: World, *, now: float) -> Call:
    name = incoming.bearer or incoming.query.get("access_token", [""])[-1]
    token = world.grants.access(name)
    if token is None:
        raise Refusal(refusal.bad_token(missing=not name))
    if not token.scopes & set(method.scopes):
        raise Refusal(refusal.missing_scope(method.scopes))
    if len(incoming.content) > gmail.LARGEST:
        raise Refusal(too_large())
    return Call(
        method=method.id,
        account=token.grant.account,
        scopes=token.scopes,
        values=values,
        query=incoming.query,
        content=incoming.content,
        body=_body(incoming),
        now=now,
        accounts=world.accounts,
        ledger=world.ledger,
        made=world.made,
    )


def too_large() -> Said:
    """413: more than one request may carry."""
    return Said(413, f"Request payload size exceeds the limit: {gmail.LARGEST} bytes.", "uploadTooLarge")


def _body(incoming: Incoming) -> Any:
    if incoming.verb in ("GET", "DELETE") or not incoming.content:
        return None
    if not incoming.headers.get("Content-Type", "").startswith("application/json"):
        raise refusal.invalid("Media type is not supported: send application/json.", reason="badContent")
    try:
        body = incoming.json
    except (ValueError, RecursionError):
        raise refusal.invalid("Invalid JSON payload received. Parse Error", reason="parseError") from None
    if too_deep(body):
        raise refusal.invalid("Invalid JSON payload received. Too deep.", reason="parseError")
    return body
