"""What overviews take and give, as types: outcomes that nobody knows, what was used, the audit's filters, health."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from pollux.asgi.shapes import Camel, Id, Limit, State

Word = Annotated[str, Meta(min_length=1, max_length=200)]
Moment = Annotated[str, Meta(min_length=1, max_length=40)]


Format = Literal["jsonl", "csv"]
"""In which forms the audit is exported."""


class UsageQuery(Struct, frozen=True):
    """How many days back, today included."""

    days: Annotated[int, Meta(ge=1, le=366)] = 30


class AuditWanted(Struct, rename="camel", frozen=True):
    """Which entries: those that fit all that is given. Moments are ISO 8601; without an offset they are in UTC."""

    kind: Word | None = None
    tool: Word | None = None
    status: Word | None = None
    run_id: Id | None = None
    since: Moment | None = None
    until: Moment | None = None


class AuditQuery(AuditWanted, frozen=True):
    """A part of the audit: so many entries, and only those before a number."""

    limit: Limit = 25
    before: str | None = None


class ExportQuery(AuditWanted, frozen=True):
    """In which form."""

    format: Format = "jsonl"


class UnknownView(Camel, kw_only=True, frozen=True):
    """An action of which nobody knows whether it happened, with where it comes from."""

    id: str
    run_id: str
    thread_id: str
    tool: str
    args: dict[str, Any]
    preview: str
    subjects: list[str]
    started_at: str | None
    ended_at: str
    message: str
    prompt: str
    profile: str
    run_state: State


class UnknownPage(Camel, kw_only=True, frozen=True):
    ok: bool = True
    items: list[UnknownView]
    next: str | None = None


class ModelUsage(Camel, kw_only=True, frozen=True):
    """Of one day and model. Of runs that an older version wrote only the total is known; their model is empty."""

    model: str
    runs: int
    input: int
    output: int
    thoughts: int
    cached: int
    total: int
    cost: float | None


class DayView(Camel, kw_only=True, frozen=True):
    """A day in UTC. A run counts on the day on which it began."""

    day: str
    models: list[ModelUsage]


class UsageDays(Camel, kw_only=True, frozen=True):
    """Every day that was asked for, the oldest first."""

    ok: bool = True
    days: list[DayView]
    currency: Literal["USD"] = "USD"


class StoreHealth(Camel, kw_only=True, frozen=True):
    kind: str
    writable: bool


class AuditHealth(Camel, kw_only=True, frozen=True):
    """How far the chain goes. It is one for all users: for anybody but the operator of the server both are null."""

    entries: int | None
    head: str | None


class GoogleHealth(Camel, kw_only=True, frozen=True):
    configured: bool
    connected: bool


class HealthView(Camel, kw_only=True, frozen=True):
    """How this server is, and what waits for whoever asks. `pending` and `unknown` are counted up to 100."""

    ok: bool = True
    version: str
    store: StoreHealth
    model: str
    provider: str
    missing_key: str
    """Why the model cannot be asked, for want of a key; empty where it can."""
    profiles: list[str]
    pending: int
    unknown: int
    audit: AuditHealth
    workers: int | None
    google: GoogleHealth
    runbooks: bool
    uptime_seconds: float
    draining: bool
