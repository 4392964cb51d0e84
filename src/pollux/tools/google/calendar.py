"""Create an event exactly once: its id is ours, made of the action's key, and Calendar takes each id only once.

Deleted events keep their id, so that this holds as well when somebody deletes the event before a second attempt.
Each account has a calendar of its own, so the account is noted first, and every later attempt keeps to it.
"""

import asyncio
import hashlib
from base64 import b32hexencode
from typing import Any, Final, cast

from pollux.core.errors import AuthError, PolluxError, ToolExecutionError
from pollux.core.ids import UserId
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.tools.define import Args
from pollux.tools.google import event, personal
from pollux.tools.google.api import GoogleApi, Pause
from pollux.tools.google.personal import Accounts
from pollux.tools.google.refusal import Lost, Refused
from pollux.tools.google.scopes import CALENDAR

EVENTS: Final = "/calendar/v3/calendars/primary/events"
TIMEOUT: Final = 120.0
INSERT_DELAYS: Final = (0.5, 1.0, 2.0)
AGAIN_DELAYS: Final = (1.0, 2.0, 4.0, 8.0)
"""After a crash: a machine that starts again may be up before its network is."""
LOOK_DELAYS: Final = (0.0, 1.0, 2.0)
"""What was asked for a moment ago may still be on its way."""


class CalendarEventCreate:
    """The tool `calendar_event_create`."""

    def __init__(self, api: GoogleApi, *, accounts: Accounts, pause: Pause = asyncio.sleep) -> None:
        self.spec = ToolSpec(
            event.NAME, event.DESCRIPTION, event.SCHEMA, side_effect=True, repeat="keyed", timeout=TIMEOUT
        )
        self._api = api
        self._accounts = accounts
        self._pause = pause

    def prepare(self, args: Args) -> Args:
        return event.prepare(args)

    def subjects(self, args: Args) -> frozenset[str]:
        return event.subjects(args)

    def preview(self, args: Args) -> str:
        return event.preview(args)

    async def is_offered(self, user: UserId) -> bool:
        """Whether the model hears of it: only where there is a calendar to write in."""
        return (await self._accounts.status(user)).connected

    async def admit(self, user: UserId) -> None:
        """Raises AuthError where the account does not let us write in its calendar."""
        await personal.admit(self._accounts, user, CALENDAR)

    async def run(self, context: ToolContext, args: Args) -> Any:
        """Create the event, or find that an earlier attempt has."""
        account = await personal.account_of(self._accounts, context)
        if context.noted is None and account is not None:
            await context.note({"account": account})
        wanted = event.resource(args, id=event_id(context.key))
        query = {"sendUpdates": str(args["notify"])}
        lost: list[Lost] = []
        for delay in INSERT_DELAYS if context.attempt == 1 else AGAIN_DELAYS:
            try:
                created = await self._api.post(context.user, CALENDAR, EVENTS, query, json=wanted, account=account)
                return _result(created)
            except Lost as problem:
                lost.append(problem)
            except (Refused, ToolExecutionError, AuthError) as no:
                said = _said(context, no)
                if not lost and context.attempt == 1 and not _is_taken(no):
                    raise said from None
                # It speaks of this request alone: an earlier one may have created the event.
                return await self._existing(context, wanted, account, otherwise=said)
            # Asking again is harmless: the id is taken if the lost request had its effect.
            await self._pause(delay)
        said = ToolExecutionError(f"Google Calendar could not be reached: {lost[-1]}. Nothing was created")
        if not all(problem.ended for problem in lost):
            said = _unknown(context, "Google Calendar gave no answer in time, and it is not there so far")
        return await self._existing(context, wanted, account, otherwise=said)

    async def reconcile(self, context: ToolContext, args: Args) -> Reconciled:
        """Never asked: a second attempt is harmless."""
        return Reconciled("unknown")

    async def _existing(
        self, context: ToolContext, wanted: dict[str, Any], account: str | None, *, otherwise: PolluxError
    ) -> dict[str, Any]:
        """The event of our id. Raises `otherwise` where there is none, and ToolExecutionError where nobody can say."""
        try:
            for delay in LOOK_DELAYS:
                await self._pause(delay)
                found = await self._look(context, wanted["id"], account)
                if found is not None:
                    break
            else:
                raise otherwise
        except (AuthError, ToolExecutionError, Lost, Refused) as problem:
            if problem is otherwise:
                raise
            raise _unknown(context, f"Google Calendar could not be asked ({problem})") from problem
        return _checked(found, wanted)

    async def _look(self, context: ToolContext, id: str, account: str | None) -> dict[str, Any] | None:
        try:
            return await self._api.get(context.user, CALENDAR, f"{EVENTS}/{id}", account=account)
        except Refused as refused:
            if refused.status == 410:
                return {"id": id, "status": "cancelled"}
            if refused.status == 404:
                return None
            raise


def event_id(key: str) -> str:
    """The id of an action's event, in the letters that Calendar allows: base32hex in lower case."""
    return b32hexencode(hashlib.sha256(f"pollux event {key}".encode()).digest()).decode().rstrip("=").lower()


def _checked(found: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    # Of a deleted event Calendar promises no more than its id and status; the id alone can only be ours.
    is_ours = found.get("status") == "cancelled" or _mark(found) == _mark(wanted)
    if not is_ours:
        raise ToolExecutionError(
            "another event has the id that this one was to have. Nothing was created; ask for it again"
        )
    return _result(found)


def _mark(event: dict[str, Any]) -> object:
    properties = cast("dict[str, Any]", event.get("extendedProperties") or {})
    return cast("dict[str, Any]", properties.get("private") or {}).get("polluxAction")


def _result(found: dict[str, Any]) -> dict[str, Any]:
    result = {"created": True, "id": found.get("id"), "link": found.get("htmlLink")}
    if found.get("status") == "cancelled":
        return result | {"deleted": "the event was created, and somebody has deleted it since"}
    return result


def _is_taken(no: Exception) -> bool:
    return isinstance(no, Refused) and no.status == 409


def _said(context: ToolContext, no: Refused | ToolExecutionError | AuthError) -> PolluxError:
    """What to say of a refusal where the event turns out not to be there."""
    if not isinstance(no, Refused):
        return no
    if _is_taken(no):
        return _unknown(context, "Google Calendar has its id, but does not show it")
    return ToolExecutionError(f"Google Calendar refused the event: {no}. Nothing was created")


def _unknown(context: ToolContext, why: str) -> ToolExecutionError:
    settle = f"pollux actions settle {context.action_id}"
    return ToolExecutionError(
        f"it is not known whether the event was created: {why}. Look for it in the calendar on its day. If it is "
        f"there, say `{settle} --done`, else `{settle} --not-done`",
        code="outcome_unknown",
    )
