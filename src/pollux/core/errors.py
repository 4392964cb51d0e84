"""Everything a caller may catch, as one tree. Each class has a stable `code`; the text is safe to show.

PolluxError
├── ValidationError      input that does not fit: arguments, bodies, settings
├── MissingCredential    no key where one is needed
├── AuthError            no or bad identity, or a missing scope
├── PolicyError          the policy says no
├── ToolExecutionError   a tool or its provider failed
│   └── ToolError        raised by a tool's author: the text goes to the model
├── OutcomeUnknown       a tool may have acted, and nobody knows whether it did
├── ModelError           the model could not be reached, or did not answer sensibly
├── NotFound             an unknown id, or somebody else's: they look alike
│   └── SessionNotFound  no session of this id, or no such session file
├── ThreadBusy           the thread has an open run
├── Misfit               a fact that does not fit the state it met; nothing was changed
├── Conflict             another writer was faster; reload and judge again
├── StoreError           the store could not write or read; nothing was acknowledged
│   └── StoreRestored    the store is an older state or a copy; it takes no writes until somebody adopts it
├── TooNew               stored by a newer Pollux, in words that this one does not know
└── Draining             this process is stopping and takes no new work
"""

from typing import Final, Literal

ModelErrorKind = Literal[
    "auth",
    "bad_request",
    "not_found",
    "rate_limit",
    "overloaded",
    "server",
    "connection",
    "timeout",
    "protocol",
    "block",
]
"""What went wrong. `block`: the model is a document, and one of its blocks has failed."""


class PolluxError(Exception):
    """The root of the tree. `code` is stable, `str()` is safe to show to a person."""

    code: str = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class ValidationError(PolluxError):
    """Input that does not fit what was asked for."""

    code = "invalid"


class MissingCredential(PolluxError):
    """A key that is needed was found nowhere."""

    code = "missing_credential"


class AuthError(PolluxError):
    """No or bad identity, or a missing scope; `connect_url` says where to get it."""

    code = "auth_error"

    def __init__(self, message: str, *, code: str | None = None, connect_url: str | None = None) -> None:
        super().__init__(message, code=code)
        self.connect_url = connect_url


class PolicyError(PolluxError):
    """The policy says no."""

    code = "policy_denied"


class ToolExecutionError(PolluxError):
    """A tool or the provider behind it failed."""

    code = "tool_call_failure"


class ToolError(ToolExecutionError):
    """Raised inside a tool: its text is meant for the model."""


class OutcomeUnknown(PolluxError):
    """Raised inside a tool that may have acted: it broke off where nobody can say how far it came.

    Every other error that a tool raises as its own says that nothing has happened.
    """

    code = "outcome_unknown"


class ModelError(PolluxError):
    """A model call failed. `started` says whether any of the answer had arrived: after that, nobody may retry."""

    code = "model_error"

    def __init__(
        self, message: str, *, kind: ModelErrorKind, retry_after: float | None = None, started: bool = False
    ) -> None:
        super().__init__(message)
        self.kind: ModelErrorKind = kind
        self.retry_after = retry_after
        self.started = started


class NotFound(PolluxError):
    """An id that is unknown, or belongs to somebody else."""

    code = "not_found"


class SessionNotFound(NotFound):
    """There is no session of this id, or no such session file."""

    code = "session_not_found"


class ThreadBusy(PolluxError):
    """The thread already has an open run."""

    code = "thread_busy"

    def __init__(self, message: str, *, run_id: str) -> None:
        super().__init__(message)
        self.run_id = run_id


class Misfit(PolluxError):
    """A fact that does not fit the run it was given to. The run is unchanged."""

    code = "misfit"


class Conflict(PolluxError):
    """The stream has moved on since it was read."""

    code = "conflict"


class StoreError(PolluxError):
    """The store could not do it. What was acknowledged before is safe; this was not acknowledged.

    After an I/O error it may still turn up later: whoever asks again must expect to find it done. The text names files,
    hosts and databases: it is for those who run Pollux. `public_text` has what callers may read.
    """

    code = "store_error"


class StoreRestored(StoreError):
    """The store was put back from a backup, or copied: what it would do next may have been done already."""

    code = "store_restored"


def public_text(problem: PolluxError) -> str:
    """What anybody may read of it, who may not know where the store lies."""
    if isinstance(problem, StoreRestored):
        return STORE_HELD
    return STORE_TROUBLE if isinstance(problem, StoreError) else str(problem)


STORE_TROUBLE: Final = "the store could not do this; the log of this process says why. Try again soon"
STORE_HELD: Final = (
    "the store may have been restored or copied: nothing runs until its operator looks at it (pollux store status)"
)
UNREMEMBERED: Final = "no host that has its signed heads has opened it since the database server was started"
"""Why a store is in doubt that may be the one that was here last: a host that remembers it, or a person, can tell."""


class TooNew(PolluxError):
    """What is stored there was written by a newer Pollux, and this one would misread it.

    No StoreError: to ask once more does not help. A process that can read `version` can go on with it; this one leaves
    it as it is.
    """

    code = "too_new"

    def __init__(self, message: str, *, version: int) -> None:
        super().__init__(message)
        self.version = version


class Draining(PolluxError):
    """The process is on its way out."""

    code = "draining"
