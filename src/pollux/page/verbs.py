"""A page's two verbs: say something, and tell what came of the calls. Each message is an ordinary run.

The conversation is the page's to keep; what it brings back is believed because it is sealed. The same request asked
again finds the run that it began, and gets the answer that was recorded: nothing is done twice.
"""

import hashlib
import hmac
import json
import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count

import msgspec

from pollux.asgi.budget import size_of
from pollux.asgi.errors import HttpError
from pollux.asgi.visits import Visit
from pollux.core.errors import Conflict, Misfit, NotFound, ThreadBusy, ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import RunId, ThreadId
from pollux.core.messages import JSON, Message
from pollux.core.page import PAGE, Page
from pollux.core.run import Run
from pollux.engine.engine import Start
from pollux.engine.on_page import reference_of
from pollux.page.answers import told, waiting_calls
from pollux.page.consequences import consequential
from pollux.page.declared import Declared, declared, tools_hash
from pollux.page.history import completed, recent
from pollux.page.own import own_answer
from pollux.page.private import private_references
from pollux.page.prompt import system_prompt
from pollux.page.results import answers, as_text
from pollux.page.runtime import PageRuntime
from pollux.page.seal import Holder, Opened, opened
from pollux.page.shapes import SendBody, SubmitBody, Told
from pollux.page.state import READ

logger = logging.getLogger(__name__)

LEAVE_OFF_SECONDS = 5.0
KEEP_SECONDS = 600.0
"""How long after a run's end its answer can be asked for again. Then what was said is dropped; the page has it."""


ELSEWHERE = (
    "the run of this history is not in the store of this server. It ended more than ten minutes ago, or another server"
    " began it: servers with one POLLUX_SEAL_KEY need one store, too (POLLUX_STORE). Begin a new conversation"
)


@frozen
class Exchange:
    """One request, read: what was said before, what the page offers and shows, and the run that it is about."""

    visit: Visit
    before: Opened
    offered: Declared
    page: Page
    state: JSON
    tools_hash: str
    asked: str = ""
    """A digest of the whole request, where it says something."""
    size: int = 0
    """About how many tokens a model reads that is asked about it."""

    @property
    def holder(self) -> Holder:
        return holder_of(self.visit)


def holder_of(visit: Visit) -> Holder:
    """Whom a history is given to."""
    return Holder(visitor=visit.user, origin=visit.origin, profile=visit.profile)


async def read(runtime: PageRuntime, visit: Visit, body: SendBody | SubmitBody) -> Exchange:
    """What a request says. Raises ValidationError or Misfit where it is not to be believed."""
    # Elsewhere: a page may show a megabyte, and everybody else would wait while it is looked through.
    return await runtime.aside(lambda: _read(runtime, visit, body))


def _read(runtime: PageRuntime, visit: Visit, body: SendBody | SubmitBody) -> Exchange:
    if isinstance(body, SendBody) and not body.message.strip():
        raise ValidationError("message must hold more than blanks")
    before = opened(body.history, holder=holder_of(visit), keys=runtime.keys, now=runtime.engine.clock.now())
    offered = declared(body.tool_definitions, taken=tuple(runtime.engine.toolbox))
    if offered.left_out:
        # The page's owner is told in the answer; this is for whoever runs the server.
        why = "; ".join(f"{each.name!a}: {each.why}" for each in offered.left_out[:3])
        logger.info("%d tools of a page at %a are not offered (%s)", len(offered.left_out), visit.origin, why)
    profile = runtime.engine.profiles.get(visit.profile)
    prefix = profile.instructions if profile else ""
    told_ = system_prompt(body.page_state, runtime.actions_of(visit.profile), prefix=prefix)
    private = (*private_references(body.page_state), *map(reference_of, offered.private))
    asked = consequential(body.page_state, private)
    # Where nothing can be done and nothing was cut, there is nothing to call.
    reading = (READ,) if offered.tools or READ.name in told_ else ()
    page = Page(told_, (*reading, *offered.tools), private, asked.pressed, asked.sending, asked.names)
    offered_hash = tools_hash(body.tool_definitions)
    if isinstance(body, SubmitBody):
        return Exchange(visit, before, offered, page, body.page_state, offered_hash)
    brought = [body.history, *((tool.name, tool.description, tool.input_schema) for tool in page.tools)]
    size = size_of(body.message, page.told, _json(brought))
    return Exchange(visit, before, offered, page, body.page_state, offered_hash, _digest(visit, body), size)


async def begun(runtime: PageRuntime, exchange: Exchange, body: SendBody) -> Run:
    """The run that answers this message: a new one, or the one that the same request began before."""
    for use in count():
        run_id, request = _identity(runtime, exchange, use)
        # By its former, shorter name where it began before an update.
        for known in (run_id, RunId(run_id[:28])):
            with suppress(NotFound):
                return await runtime.engine.queries.run(known, exchange.visit.user)
        await _leave_off(runtime, exchange)
        try:
            return await _start(runtime, exchange, body, run_id=run_id, request=request)
        except (Conflict, ThreadBusy):
            # The same request came twice at once; or long ago.
            with suppress(NotFound):
                return await runtime.engine.queries.run(run_id, exchange.visit.user)
        if exchange.before.run_id is not None:
            message = "this was answered before, and the answer is not kept any more. Begin a new conversation"
            raise HttpError(409, "answer_gone", message)
        # The first words of a conversation may be said again another day.
    raise AssertionError("unreachable")


async def _start(runtime: PageRuntime, exchange: Exchange, body: SendBody, *, run_id: RunId, request: str) -> Run:
    visit, thread_id = exchange.visit, ThreadId("thr_" + run_id.removeprefix("run_"))
    start = Start(
        body.message,
        user=visit.user,
        thread_id=thread_id,
        create=True,
        history=await _said_before(runtime, exchange),
        profile=visit.profile,
        door=PAGE,
        origin=visit.origin,
        run_id=run_id,
        request=request,
        page=exchange.page,
        keep_seconds=KEEP_SECONDS,
        live=True,
    )
    if runtime.budget is None:
        return await runtime.engine.start(start)
    async with runtime.budget.promise(visit.user, visit.profile, size=exchange.size) as limits:
        return await runtime.engine.start(replace(start, limits=limits))


async def submitted(runtime: PageRuntime, exchange: Exchange, body: SubmitBody) -> tuple[Run, int]:
    """The run, after it was told what came of its calls, and how many facts it had before."""
    engine, user, run_id = runtime.engine, exchange.visit.user, exchange.before.run_id
    if run_id is None:
        raise HttpError(400, "history_unsigned", "expected the history that came with the calls")
    given = await runtime.aside(lambda: answers(body.results, pending=exchange.before.pending))
    try:
        run = await engine.queries.run(run_id, user)
    except NotFound:
        raise NotFound(ELSEWHERE) from None
    since, waiting = run.version, {action.id for action in waiting_calls(run)}
    with suppress(Misfit):
        # Where it has ended, what it came to is the answer. So is what a call came to that was answered before.
        if run.is_open and exchange.page != run.page:
            run = await engine.show(run_id, exchange.page, user=user)
        for answer in given:
            if answer.call_id in waiting:
                error = as_text(answer.result) if answer.is_error else None
                run = await engine.submit(answer.call_id, answer.result, user=user, error=error)
    return run, since


async def answer_own(runtime: PageRuntime, exchange: Exchange, run: Run) -> bool:
    """Answer what the page need not, or must not. Whether there was something: then the run goes on."""
    waiting = waiting_calls(run)
    answers_ = await runtime.aside(lambda: [(action.id, own_answer(action, exchange.state)) for action in waiting])
    for action_id, own in answers_:
        if own is not None:
            with suppress(Misfit):
                await runtime.engine.submit(action_id, own.result, user=run.user, error=own.error)
    return any(own is not None for _, own in answers_)


async def settled(runtime: PageRuntime, exchange: Exchange, run_id: RunId) -> Run:
    """The run, once only the page or the user can bring it on, or it has ended."""
    while True:
        run = await runtime.engine.wait_settled(run_id)
        if not await answer_own(runtime, exchange, run):
            return run


async def answered(runtime: PageRuntime, exchange: Exchange, run: Run) -> Told:
    """What to tell the page."""
    # As it was brought when the run began: a page may have more to say by now, but the run does not know of it.
    before = tuple(await runtime.engine.queries.messages(run.thread_id, run.user))[: run.head]
    answer = partial(
        told,
        runtime,
        run,
        holder=exchange.holder,
        before=before,
        tools_hash=exchange.tools_hash,
        offered=exchange.offered,
    )
    return await runtime.aside(answer)


async def _leave_off(runtime: PageRuntime, exchange: Exchange) -> None:
    """Whoever says something new does not wait for what was asked of the page before."""
    run_id = exchange.before.run_id
    if run_id is None:
        return
    with suppress(NotFound, Misfit):
        run = await runtime.engine.queries.run(run_id, exchange.visit.user)
        if run.is_open:
            await runtime.engine.cancel(run_id, by=exchange.visit.user, user=exchange.visit.user)


async def _said_before(runtime: PageRuntime, exchange: Exchange) -> tuple[Message, ...]:
    """What was said before: as the run has it that the history comes from, while that is kept; else as it was brought.

    The run may know more by now: an action that was approved and done after the page was told of the question.
    """
    run_id, user = exchange.before.run_id, exchange.visit.user
    if run_id is not None:
        with suppress(NotFound):
            run = await runtime.engine.wait_settled(run_id, seconds=LEAVE_OFF_SECONDS)
            if run.user == user and not run.is_open:
                messages = await runtime.engine.queries.messages(run.thread_id, user)
                return await runtime.aside(lambda: recent(messages))
    return completed(exchange.before.messages)


def _digest(visit: Visit, body: SendBody) -> str:
    """What tells this request from every other one."""
    asked = [visit.user, visit.origin, visit.profile, body.message, body.request_id, body.history]
    asked += [body.tool_definitions, body.page_state]
    return hashlib.sha256(_json(asked)).hexdigest()


def _json(value: object) -> bytes:
    try:
        return msgspec.json.encode(value, order="sorted")
    except (ValueError, OverflowError):
        # Numbers beyond 64 bits.
        return json.dumps(value, sort_keys=True).encode()


def _identity(runtime: PageRuntime, exchange: Exchange, use: int) -> tuple[RunId, str]:
    """The id of the run that this very request begins, and a digest of the request."""
    mark = hmac.digest(runtime.keys[-1], f"pollux page run {use} {exchange.asked}".encode(), "sha256").hex()
    return RunId(f"run_{mark[:32]}"), exchange.asked
