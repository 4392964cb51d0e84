"""Overviews: outcomes that nobody knows, what was used day by day, and how this server is."""

import time
from datetime import UTC, date, datetime, timedelta

from pollux._version import __version__
from pollux.asgi.bodies import moment
from pollux.asgi.endpoint import Call
from pollux.config import ConfigError
from pollux.config.models import model_ref
from pollux.core.errors import StoreError
from pollux.core.profile import Profile
from pollux.engine.glance import DayUsage
from pollux.engine.queries import Question
from pollux.http.audit import head
from pollux.http.overview_shapes import (
    AuditHealth,
    DayView,
    GoogleHealth,
    HealthView,
    ModelUsage,
    StoreHealth,
    UnknownPage,
    UnknownView,
    UsageDays,
)
from pollux.http.runtime import READY_SECONDS, Runtime
from pollux.http.views import prompt_of

COUNTED = 100
EPOCH = date(1970, 1, 1)


async def unknown(runtime: Runtime, call: Call) -> UnknownPage:
    """The actions of which nobody knows whether they happened, newest first."""
    limit: int = call.query.limit
    found = await runtime.engine.queries.unknown(call.user, limit=limit + 1, before=call.query.before)
    items = [_unknown(question) for question in found[:limit]]
    return UnknownPage(items=items, next=items[-1].id if len(found) > limit else None)


async def usage(runtime: Runtime, call: Call) -> UsageDays:
    """What this user's runs used, by day and model."""
    today = datetime.fromtimestamp(runtime.engine.clock.now(), UTC).date()
    first = today - timedelta(days=call.query.days - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=UTC).timestamp()
    by_day: dict[date, list[ModelUsage]] = {first + timedelta(days=n): [] for n in range(call.query.days)}
    for used in await runtime.engine.queries.usage(call.user, since):
        # A clock that was wrong once may have begun runs in the future.
        by_day.setdefault(EPOCH + timedelta(days=used.day), []).append(_used(used))
    return UsageDays(days=[DayView(day=day.isoformat(), models=models) for day, models in sorted(by_day.items())])


async def health(runtime: Runtime, call: Call) -> HealthView:
    """How this server is, and what waits for this user."""
    engine = runtime.engine
    profile = engine.profiles.get("default") or next(iter(engine.profiles.values()), Profile())
    last = await head(runtime, call)
    return HealthView(
        version=__version__,
        store=StoreHealth(kind=engine.queries.store_kind, writable=await _is_writable(runtime)),
        model=profile.model,
        provider=_provider(profile.model),
        missing_key=runtime.missing_key,
        profiles=sorted(engine.profiles.keys() - runtime.kept),
        pending=await engine.queries.waiting(call.user, most=COUNTED),
        unknown=len(await engine.queries.unknown(call.user, limit=COUNTED)),
        audit=AuditHealth(entries=last.entries, head=last.head),
        workers=await engine.queries.workers(),
        google=await _google(runtime, call),
        runbooks=bool(runtime.kept),
        uptime_seconds=round(time.monotonic() - runtime.since, 3),
        draining=engine.is_draining,
    )


def _unknown(question: Question) -> UnknownView:
    run, action = question.run, question.action
    assert action.outcome is not None
    return UnknownView(
        id=action.id,
        run_id=run.id,
        thread_id=run.thread_id,
        tool=action.tool,
        args=action.args,
        preview=action.preview,
        subjects=sorted(action.subjects),
        started_at=moment(action.started.at) if action.started else None,
        ended_at=moment(action.outcome.at),
        message=action.outcome.message,
        prompt=prompt_of(run),
        profile=run.profile,
        run_state=run.status,
    )


def _used(used: DayUsage) -> ModelUsage:
    return ModelUsage(
        model=used.model,
        runs=used.runs,
        input=used.input,
        output=used.output,
        thoughts=used.thoughts,
        cached=used.cached,
        total=used.total,
        cost=used.cost,
    )


async def _is_writable(runtime: Runtime) -> bool:
    try:
        await runtime.engine.check_store(READY_SECONDS)
    except StoreError:
        return False
    return True


def _provider(model: str) -> str:
    """Who answers for a model of this name; empty where only the one who started this server knows."""
    try:
        return model_ref(model).provider
    except ConfigError:
        return ""


async def _google(runtime: Runtime, call: Call) -> GoogleHealth:
    if runtime.google is None:
        return GoogleHealth(configured=False, connected=False)
    return GoogleHealth(configured=True, connected=(await runtime.google.oauth.status(call.user)).connected)
