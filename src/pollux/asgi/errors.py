"""What went wrong, as HTTP has it: one shape for every error, a status for each class, and nothing but safe text.

What a model or a tool did wrong is never an HTTP status: the request was answered, and the run tells how it ended.
"""

from collections.abc import Mapping
from typing import Any

from pollux.core.errors import (
    AuthError,
    Conflict,
    Draining,
    Misfit,
    NotFound,
    PolicyError,
    PolluxError,
    StoreError,
    ThreadBusy,
    TooNew,
    ValidationError,
    public_text,
)
from pollux.engine.logs import log_of

logger = log_of(__name__)


class HttpError(PolluxError):
    """A refusal that belongs to HTTP alone, or one that has more to say than its text."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, code=code)
        self.status = status
        self.headers = dict(headers or {})
        self.more = dict(more or {})


class Unavailable(PolluxError):
    """Something that we need to answer cannot be reached. It is not the caller's fault, and may pass."""

    code = "unavailable"


class Unproven(AuthError):
    """A browser's cookie without the proof that a page of ours sends it."""

    code = "csrf_required"


STATUSES: tuple[tuple[type[PolluxError], int], ...] = (
    (ValidationError, 400),
    (Unproven, 403),
    (AuthError, 401),
    (PolicyError, 403),
    (NotFound, 404),
    (ThreadBusy, 409),
    (Misfit, 409),
    (Conflict, 409),
    (Draining, 503),
    (StoreError, 503),
    # Another server may be of the version that it takes.
    (TooNew, 503),
    (Unavailable, 503),
)
INTERNAL = "something went wrong here; the log tells what, under this correlation id"


def rendered(problem: Exception, correlation: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Status, headers and what to say. What nobody foresaw is logged and told without a word of its own."""
    status = _status(problem)
    headers: dict[str, str] = {}
    if isinstance(problem, PolluxError) and status != 500:
        code, message, more = problem.code, public_text(problem), _more(problem)
        if isinstance(problem, StoreError):
            logger.warning("the store could not serve a request (%s): %s", correlation, problem)
    else:
        logger.error("a request failed (%s)", correlation, exc_info=problem)
        code, message, more = "internal", INTERNAL, {}
    if isinstance(problem, HttpError):
        headers = problem.headers
    elif status == 401:
        headers = {"www-authenticate": 'Bearer realm="pollux"'}
    elif status == 503:
        headers = {"retry-after": "1"}
    error = {"code": code, "message": message, "correlationId": correlation, **more}
    return status, headers, {"ok": False, "error": error}


def _status(problem: Exception) -> int:
    if isinstance(problem, HttpError):
        return problem.status
    if isinstance(problem, AuthError) and problem.connect_url is not None:
        return 403
    return next((status for kind, status in STATUSES if isinstance(problem, kind)), 500)


def _more(problem: PolluxError) -> dict[str, Any]:
    if isinstance(problem, HttpError):
        return problem.more
    if isinstance(problem, ThreadBusy):
        return {"runId": problem.run_id}
    if isinstance(problem, AuthError) and problem.connect_url is not None:
        return {"connectUrl": problem.connect_url}
    return {}
