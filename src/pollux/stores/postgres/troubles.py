"""What went wrong with PostgreSQL, in words a person can act on."""

from typing import Final

import psycopg
from psycopg import errors

from pollux.core.errors import StoreError, ValidationError
from pollux.stores.postgres.address import Address

NOT_WRITTEN: Final = (errors.UniqueViolation, errors.DeadlockDetected, errors.SerializationFailure)
"""Another transaction was in the way: this one was certainly undone, and may fit when it is judged again."""

_SAID: Final = {
    "53100": "expected room for the store at {place}, but the server's disk is full. Free some space and try again",
    "53200": "expected the server at {place} to have memory, but it has none left. Try again, or give it more",
    "53300": "expected a free connection at {place}, but all are taken. Use fewer, or raise max_connections",
    "55P03": "expected the store at {place} to be free, but another process holds it. Try again",
    "57014": "expected the store at {place} to answer in time, but it did not. Try again",
    "25P03": "expected to be in time at {place}, but the server gave up waiting. Try again",
    "25006": "expected to write the store at {place}, but that server is read-only. Name the one that writes",
    "42501": "expected to be permitted to use the store at {place}, but that is not so. Check the role's rights",
    "3D000": "expected a database at {place}, but there is none of this name. Create it first",
}
# A connection that is refused has no code: libpq tells its cause in words alone.
_TOLD: Final = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    'role "': "28000",
    'database "': "3D000",
    "too many clients": "53300",
    "remaining connection slots": "53300",
    "too many connections for": "53300",
}
_TLS = "expected {place} to speak TLS as sslmode demands, but it does not. Set it up there, or name another sslmode"
_LOST = "expected the database at {place} to answer, but it cannot be reached. See whether it runs"
_UNSETTLED = (
    "expected to hear that the database at {place} has written, but the connection was lost. It may have been written:"
    " read before you try again"
)


def explained(problem: psycopg.Error, place: Address) -> StoreError:
    """The trouble as an error of ours."""
    state = problem.sqlstate or _state_told(str(problem))
    if state in _SAID:
        return StoreError(_SAID[state].format(place=place))
    if state[:2] == "28":
        return StoreError(
            f"expected to log in at {place}, but that was refused. Check user and password in the address"
        )
    if not state and "does not support SSL" in str(problem):
        return StoreError(_TLS.format(place=place))
    if state[:3] == "57P" or state[:2] == "08" or (not state and isinstance(problem, psycopg.OperationalError)):
        return StoreError(_LOST.format(place=place))
    # The primary message alone: details may repeat what was to be written.
    found = problem.diag.message_primary or type(problem).__name__
    return StoreError(f"expected PostgreSQL to serve the store at {place}, found: {found} ({state or 'no code'})")


def _state_told(text: str) -> str:
    _, _, said = text.partition("FATAL:")
    return next((state for words, state in _TOLD.items() if words in said), "")


def unsettled(place: Address) -> StoreError:
    """Nobody can know whether it was written."""
    return StoreError(_UNSETTLED.format(place=place))


def check_text(*values: object) -> None:
    """See that every text among the values can be kept. Raises ValidationError."""
    text = "".join([value for value in values if isinstance(value, str)])
    if "\0" in text:
        raise ValidationError("expected text that PostgreSQL can keep, found the character NUL. Leave it out")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValidationError("expected Unicode text, found a lone surrogate") from None
