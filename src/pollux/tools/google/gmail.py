"""Send a mail exactly once: make a draft, note it, send it. The draft is the lock, since sending takes it away.

Nothing is sent before the draft's id is safe in the journal. After a crash, therefore:

- nothing noted: nothing was sent. A draft that was made and never noted is found by its mark and used;
- the draft is there: it was not sent, and can be. A second sender finds no draft, so that no second mail leaves;
- the draft is gone: the mail is in Sent, known by its mark; or else a person is asked.

People and other programs can reach the draft meanwhile, also in the moment before it is sent. So the request to send
brings the approved mail with it, and Gmail puts that in the draft's place. A draft that is seen to have changed is not
sent at all. One that was sent by hand is found in Sent like ours; one that was deleted is a case for the person who did
it.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from pollux.core.errors import AuthError, PolluxError, StoreError, ToolExecutionError
from pollux.core.ids import UserId
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.tools.define import Args
from pollux.tools.google import mail, message, personal
from pollux.tools.google.api import GoogleApi, Pause
from pollux.tools.google.draft import MARK, Draft, mark_of, noted, says_the_same
from pollux.tools.google.mailbox import Held, Mail, Mailbox, Sent
from pollux.tools.google.personal import Accounts
from pollux.tools.google.refusal import Lost, Refused
from pollux.tools.google.scopes import GMAIL

TIMEOUT: Final = 120.0
LOOK_SECONDS: Final = 25.0
LOOK_DELAYS: Final = (2.0, 4.0, 6.0)
CREATE_DELAYS: Final = (1.0, 2.0, 4.0)
SEND_DELAYS: Final = (1.0, 2.0, 4.0)
SENT_DELAYS: Final = (0.0, 1.0, 2.0, 4.0)
"""What was sent a moment ago may not be listed yet."""
SETTLE: Final = 1.0
"""A request that was cut off a moment ago may still be on its way: what it would change is looked at twice."""

_NO_MARKS: Final[Mapping[str, str]] = {}
_STAYS: Final = "It was not sent; its draft stays in Drafts"


class GmailSend:
    """The tool `gmail_send`."""

    def __init__(
        self,
        api: GoogleApi,
        *,
        accounts: Accounts,
        pause: Pause = asyncio.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.spec = ToolSpec(
            mail.NAME, mail.DESCRIPTION, mail.SCHEMA, side_effect=True, repeat="checkable", timeout=TIMEOUT
        )
        self._api = api
        self._accounts = accounts
        self._pause = pause
        self._now = now

    def prepare(self, args: Args) -> Args:
        return mail.prepare(args)

    def subjects(self, args: Args) -> frozenset[str]:
        return mail.subjects(args)

    def preview(self, args: Args) -> str:
        return mail.preview(args)

    async def is_offered(self, user: UserId) -> bool:
        """Whether the model hears of it: only where there is an account to send from."""
        return (await self._accounts.status(user)).connected

    async def admit(self, user: UserId) -> None:
        """Raises AuthError where the account lacks what sending takes, or what it takes to find out about it."""
        await personal.admit(self._accounts, user, GMAIL)

    async def run(self, context: ToolContext, args: Args) -> Any:
        """Send the mail, or what an earlier attempt left of it."""
        return _result(await (await self._sending(context, args)).run(), args)

    async def reconcile(self, context: ToolContext, args: Args) -> Reconciled:
        """Look whether an interrupted attempt had sent the mail."""
        draft = noted(context.noted)
        if draft is None:
            return Reconciled("not_done")
        looking = await self._sending(context, args)
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                if await self._patiently(lambda: looking.is_there(draft)):
                    return Reconciled("not_done")
                return Reconciled("done", _result(await looking.in_sent(draft), args))
        except TimeoutError:
            return Reconciled("unknown", detail=_unknown(context, draft, "Gmail did not answer in time"))
        except StoreError:
            # The account is kept there. It is waited for, and the look is taken then.
            raise
        except (PolluxError, Lost, Refused) as problem:
            said = str(problem) if _is_unknown(problem) else _unknown(context, draft, str(problem))
            return Reconciled("unknown", detail=said)

    async def _sending(self, context: ToolContext, args: Args) -> "_Sending":
        account = await personal.account_of(self._accounts, context)
        return _Sending(self._api, account, context, args, self._pause, self._now)

    async def _patiently(self, look: Callable[[], Awaitable[bool]]) -> bool:
        """A machine that starts again may be up before its network is: that is no reason to ask a person."""
        for delay in LOOK_DELAYS:
            try:
                return await look()
            except (Lost, ToolExecutionError):
                await self._pause(delay)
        return await look()


class Changed(ToolExecutionError):
    """The draft does not hold what was approved any more, and was not sent."""

    def __init__(self) -> None:
        super().__init__(
            "a person has changed the draft of this mail since it was approved, so that it was not sent. "
            "The draft stays in Drafts; to send the approved text, ask for it again"
        )


class _Sending:
    """One attempt at one mail."""

    def __init__(
        self,
        api: GoogleApi,
        account: str | None,
        context: ToolContext,
        args: Args,
        pause: Pause,
        now: Callable[[], float],
    ) -> None:
        self._box = Mailbox(api, context.user, account=account)
        self._account = account
        self._context = context
        self._args = args
        self._pause = pause
        self._now = now
        self._mark = mark_of(context.key)
        self._passed_over = ""
        self._mail: Mail | None = None

    async def run(self) -> Sent:
        draft = noted(self._context.noted)
        if draft is None:
            draft = await self._made()
            # Where this raises, nothing may be sent: somebody else drives the action, or nobody could take over.
            await self._context.note(draft.as_note())
        elif not await self._is_as_approved(draft):
            return await self.in_sent(draft)
        return await self._sent(draft)

    async def is_there(self, draft: Draft) -> bool:
        """Whether the draft is still there, also after a moment."""
        if await self._box.held(draft.id) is None:
            return False
        await self._pause(SETTLE)
        return await self._box.held(draft.id) is not None

    async def in_sent(self, draft: Draft) -> Sent:
        """The mail that a draft became. Raises ToolExecutionError where nobody can say."""
        async with self._doubt(draft):
            for delay in SENT_DELAYS:
                await self._pause(delay)
                sent = await self._box.marked_sent(self._mark, since=draft.made_at)
                if sent is not None:
                    return sent
        raise self._unknown(draft, "its draft is gone, and no mail with its mark was found in Sent")

    # Before the note: nothing can have been sent, whatever goes wrong.

    async def _made(self) -> Draft:
        try:
            self._mail = await self._written()
            held = await self._left_over() if self._context.attempt > 1 else None
            held = held or await self._created(self._mail)
        except Refused as refused:
            raise ToolExecutionError(f"Gmail refused the mail: {refused}. Nothing was sent") from None
        except Lost as lost:
            raise ToolExecutionError(f"Gmail could not be reached: {lost}. Nothing was sent") from None
        return Draft(held.id, held.message, self._now(), self._account)

    async def _left_over(self) -> Held | None:
        """The draft that an earlier attempt made and could not note."""
        held = await self._box.marked_draft(self._mark)
        if held is None:
            return None
        if not await self._is_shown(held):
            # One that cannot be compared stays where it is: a person's words in it must not be lost.
            self._passed_over = held.id
            return None
        return held

    async def _created(self, mail: Mail) -> Held:
        for delay in CREATE_DELAYS:
            try:
                return await self._box.create(mail)
            except Lost:
                await self._pause(delay)
                held = await self._box.marked_draft(self._mark, but=self._passed_over)
                if held is not None:
                    await self._is_shown(held)
                    return held
        raise Lost("it did not make a draft, although it was asked several times")

    async def _is_shown(self, held: Held) -> bool:
        """Whether Gmail shows what a draft with our mark holds. Raises Changed when that is not what was approved."""
        raw = await self._box.raw(held.id)
        if raw is not None and not says_the_same(self._built(), raw):
            raise Changed
        return raw is not None

    # After the note: an earlier attempt may have sent it, and so may a request whose answer was lost.

    async def _is_as_approved(self, draft: Draft) -> bool:
        """Whether the draft is there to be sent. Raises Changed when it holds another mail."""
        async with self._doubt(draft):
            held = await self._box.held(draft.id)
            if held is None:
                return False
            if held.message == draft.message:
                return True
            raw = await self._box.raw(draft.id)
            if raw is None and await self._box.held(draft.id) is None:
                return False
        if raw is None or not says_the_same(self._built(), raw):
            raise Changed
        return True

    async def _sent(self, draft: Draft) -> Sent:
        lost: list[Lost] = []
        said = "Gmail failed each time it was asked to send the mail"
        async with self._doubt(draft):
            mail = self._mail or await self._written()
        for delay in SEND_DELAYS:
            try:
                return await self._box.send(draft.id, mail)
            except Lost as problem:
                lost.append(problem)
            except Refused as refused:
                if refused.status not in (404, 410):
                    said = f"Gmail refused the mail: {refused}"
                    if not lost:
                        raise ToolExecutionError(f"{said}. {_STAYS}") from None
            except ToolExecutionError as problem:
                # Google is busy, or gives us no token: that speaks of this request alone.
                if not lost:
                    raise ToolExecutionError(f"{problem}. {_STAYS}") from None
            except AuthError as problem:
                if not lost:
                    # Whoever connects again and asks again finds two of them: better to hear of the first.
                    raise AuthError(f"{problem}. {_STAYS}", connect_url=problem.connect_url) from None
            await self._pause(delay)
            try:
                if not await self._is_as_approved(draft):
                    return await self.in_sent(draft)
            except Changed:
                if all(problem.ended for problem in lost):
                    raise
                # What is still on its way would send the approved mail after all.
                said = "Gmail gave no answer in time, and its draft was changed meanwhile"
                raise self._unknown(draft, said) from None
        if all(problem.ended for problem in lost):
            raise ToolExecutionError(f"{said}. {_STAYS}")
        raise self._unknown(draft, "Gmail gave no answer in time. While the draft lies in Drafts, it has not been sent")

    async def _written(self) -> Mail:
        """The approved mail as it leaves, in the thread that it replies to."""
        thread = str(self._args.get("replyTo") or "")
        marks = await self._box.reply_marks(thread) if thread else _NO_MARKS
        if marks is None:
            raise Refused(404, "", f"there is no thread {thread!r} to reply to in this mailbox")
        return Mail(message.build(self._args, marks={MARK: self._mark, **marks}), thread)

    def _built(self) -> bytes:
        """What to compare a draft with. Where it stands in a thread is no part of it."""
        return message.build(self._args, marks={MARK: self._mark})

    def _unknown(self, draft: Draft, why: str) -> ToolExecutionError:
        return ToolExecutionError(_unknown(self._context, draft, why), code="outcome_unknown")

    @asynccontextmanager
    async def _doubt(self, draft: Draft) -> AsyncGenerator[None]:
        """Where the mail may have left: a look that fails must not read as if it had not."""
        try:
            yield
        except StoreError:
            # It says nothing of Gmail: whoever runs this looks again once the store is back.
            raise
        except (PolluxError, Lost, Refused) as problem:
            raise self._unknown(draft, f"Gmail could not be asked ({problem})") from problem


def _result(sent: Sent, args: Args) -> dict[str, Any]:
    return {"sent": True, "id": sent.id, "threadId": sent.thread, "to": args.get("to", [])}


def _is_unknown(problem: Exception) -> bool:
    return isinstance(problem, ToolExecutionError) and problem.code == "outcome_unknown"


def _unknown(context: ToolContext, draft: Draft, why: str) -> str:
    since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(draft.made_at))
    settle = f"pollux actions settle {context.action_id}"
    return (
        f"it is not known whether the mail was sent: {why}. Look in Gmail's Sent for a mail with its subject and "
        f"recipients from {since} on. If it is there, say `{settle} --done`, else `{settle} --not-done`"
    )
