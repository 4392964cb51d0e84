"""The model's side of the machine: beginning, replies, failures, summaries, and what ends a run for lack of budget."""

from pollux.core.errors import Misfit
from pollux.core.events import HistoryCompressed, ModelCalled, ModelFailed, ModelReplied, RunStarted
from pollux.core.ids import Instant
from pollux.core.run import Ending, Run, evolve
from pollux.core.thread import sources_of

MAX_CALLS = 128
"""How many calls one answer may hold. Every fact about one of them is judged with all of them in view."""


def begin(event: RunStarted) -> Run:
    """A run that nobody drives yet."""
    return Run(
        id=event.run_id,
        thread_id=event.thread_id,
        user=event.user,
        door=event.door,
        origin=event.origin,
        profile=event.profile,
        model=event.model,
        limits=event.limits,
        on_reject=event.on_reject,
        interactive=event.interactive,
        created_at=event.at,
        updated_at=event.at,
        deadline=event.deadline,
        parent=event.parent,
        head=event.head,
        compressed=event.compressed,
        context_tokens=event.context_tokens,
        instructions=event.instructions,
        rules=event.rules,
        document=event.document,
        sources=event.sources,
        request=event.request,
        page=event.page,
        keep_seconds=event.keep_seconds,
        restored=event.restored,
        messages=(event.prompt,),
        closing=spent(event.limits.model_calls, 0, event.at),
    )


def called(run: Run, event: ModelCalled) -> Run:
    """A call is announced, and counted."""
    _is_due(run, event)
    if run.asked:
        raise Misfit("model_called needs the model not to have been called for this attempt, but it was")
    if is_summary_due(run):
        raise Misfit("model_called needs the history to be short enough, but a summary is due first")
    since = event.at if run.asked_since is None else run.asked_since
    return evolve(run, asked=True, asked_since=since, model_calls=run.model_calls + 1)


def interrupted(run: Run, at: Instant) -> Run:
    """The driver that had called the model is gone. The call stays counted; the next one is a new attempt."""
    if not run.asked:
        return run
    return _within_budget(evolve(run, asked=False, attempt=run.attempt + 1), at)


def replied(run: Run, event: ModelReplied) -> Run:
    """A finished answer: text ends the run, calls open a turn, an answer that is no answer is asked for once more."""
    _is_awaited(run, event)
    calls = event.message.calls
    run = evolve(
        run,
        asked=False,
        usage=run.usage + event.usage,
        used=(*run.used, event.usage),
        context_tokens=event.usage.total or run.context_tokens,
    )
    if event.message.sources:
        # From this very answer on: the calls in it may come from what was read for it.
        run = evolve(run, sources=tuple(sorted({*run.sources, *sources_of([event.message])})))
    match event.stop:
        case "bad_call" | "empty" if not run.reasked:
            return _within_budget(evolve(run, reasked=True, attempt=run.attempt + 1), event.at)
        case "bad_call" | "empty" | "blocked" | "truncated":
            return _give_up(run, event)
        case "length" if calls or not event.message.text:
            # An answer cut off in the middle may hold half a call: nothing runs from it.
            return _give_up(run, event)
        case "other" if calls or not event.message.parts:
            # A stop that we do not know may mean that the answer is not whole: nothing runs from it.
            return _give_up(run, event)
        case _ if len(calls) > MAX_CALLS:
            said = f"the model asked for {len(calls)} tools in one turn; at most {MAX_CALLS} are taken"
            return evolve(run, closing=Ending("failed", event.at, "model_error", said))
        case _:
            messages = (*run.messages, event.message)
            if calls:
                return _open_calls(evolve(run, messages=messages, calls=calls), event.at)
            return evolve(run, messages=messages, closing=Ending("completed", event.at, code=event.stop))


def failed(run: Run, event: ModelFailed) -> Run:
    """A call that brought no answer: wait and try again, or fail."""
    _is_awaited(run, event)
    run = evolve(run, asked=False)
    if event.retry_at is not None:
        # What was never answered is not held against the limit; the number of tries has its own.
        return evolve(run, retry_at=event.retry_at, model_calls=run.model_calls - 1)
    code = {
        "auth": "auth_error",
        "instructions": "instructions_failed",
        "interrupted": "stream_interrupted",
        "block": "block_failed",
    }
    return evolve(run, closing=Ending("failed", event.at, code.get(event.kind, "model_error"), event.message))


def compressed(run: Run, event: HistoryCompressed) -> Run:
    """The older part of the thread has a summary, or keeps its words."""
    is_awaited = is_summary_due(run) and not (run.asked or run.calls or run.closing or run.cancel)
    if run.epoch == 0 or (event.epoch, event.turn) != (run.epoch, run.turn) or not is_awaited:
        raise Misfit(f"history_compressed needs a summary to be due in turn {event.turn} of epoch {event.epoch}")
    run = evolve(run, usage=run.usage + event.usage, used=(*run.used, event.usage))
    if event.compressed:
        run = evolve(run, compressed=event.compressed, context_tokens=event.tokens_after)
    # A refused summary leaves the conversation as long as it was, whatever the summary itself would have measured.
    run = evolve(run, compression_tokens=run.context_tokens)
    return _within_budget(run, event.at)


def is_summary_due(run: Run) -> bool:
    """Whether the conversation has grown too long to be sent as it is."""
    limit = run.limits.compress_at
    # After an attempt, also a refused one, the next waits for a tenth more: a summary that does not help is not
    # asked for before every call.
    return (
        limit is not None
        and run.attempt == 1
        and run.context_tokens >= max(limit, 1)
        and run.context_tokens * 10 >= run.compression_tokens * 11
    )


def next_turn(run: Run, at: Instant) -> Run:
    """The turn's calls have their answers: the model is next, if it may be asked again."""
    return _within_budget(evolve(run, turn=run.turn + 1, attempt=1, reasked=False, asked_since=None), at)


def spent(limit: int, used: int, at: Instant) -> Ending | None:
    """The ending for a run that may not call the model any more."""
    if used < limit:
        return None
    return Ending("failed", at, "loop_limit", f"the run reached its limit of {limit} model calls")


def _within_budget(run: Run, at: Instant) -> Run:
    ending = spent(run.limits.model_calls, run.model_calls, at)
    if ending is None and run.limits.tokens is not None and run.usage.total >= run.limits.tokens:
        ending = Ending("failed", at, "budget", f"the run spent its budget of {run.limits.tokens} tokens")
    return evolve(run, closing=ending) if ending else run


def _open_calls(run: Run, at: Instant) -> Run:
    if len({call.id for call in run.calls}) != len(run.calls):
        raise Misfit("model_replied needs calls with distinct ids")
    # With no budget for another call the results could never be told to the model: nothing is run for nobody.
    return _within_budget(run, at)


def _give_up(run: Run, event: ModelReplied) -> Run:
    why = ": ".join(filter(None, (event.reason, event.detail)))
    said = {
        "bad_call": "the model asked for a tool in a way that cannot be read, twice",
        "empty": "the model answered with nothing, twice",
        "blocked": "the model's answer was blocked",
        "truncated": "the model's answer broke off",
        "length": "the model's answer was cut off at its length limit before it could be used",
    }.get(event.stop, "the model stopped without an answer")
    code = "stream_interrupted" if event.stop == "truncated" else "model_error"
    return evolve(run, closing=Ending("failed", event.at, code, f"{said} ({why})" if why else said))


def _is_awaited(run: Run, event: ModelReplied | ModelFailed) -> None:
    _is_due(run, event)
    if not run.asked:
        raise Misfit("a model's answer needs a call to have been made, but none was in this attempt")


def _is_due(run: Run, event: ModelCalled | ModelReplied | ModelFailed) -> None:
    expected = (run.epoch, run.turn, run.attempt)
    found = (event.epoch, event.turn, event.attempt)
    # Nobody drives a run that was never claimed: there is no epoch 0.
    if run.epoch == 0 or found != expected or run.calls or run.closing or run.retry_at is not None or run.cancel:
        raise Misfit(
            f"the model needs to be due: expected (epoch, turn, attempt) {expected}, found {found};"
            f" the run is {run.status}"
        )
