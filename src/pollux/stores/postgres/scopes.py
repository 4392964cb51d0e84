"""Under which scope a transaction sees rows: the engine's, or one user's. Without one it sees nothing.

The scope is set for the transaction, never for the session: behind a pooler the next transaction may be another's.
"""

from collections.abc import Sequence
from typing import Any

import psycopg

Row = tuple[Any, ...]
Db = psycopg.Connection[Row]
Statement = tuple[bytes, Sequence[Any]]
"""SQL and its values."""

# Moments are read digit by digit as they were written, whatever the server's own setting is: the audit is sealed with
# them.
_WHOLE = b"set_config('extra_float_digits', '1', true)"
ENGINE = b"SELECT set_config('pollux.scope', 'engine', true), " + _WHOLE
# Whoever asks is told soon that somebody else holds a table, and keeps no connection from the others meanwhile.
_SOON = b", set_config('lock_timeout', '4s', true)"
_ASKING = ENGINE + _SOON
_USER = b"SELECT set_config('pollux.scope', 'user', true), set_config('pollux.user', %s, true), " + _WHOLE + _SOON


def ask(db: Db, question: Statement, *, user: str | None = None) -> list[Row]:
    """The rows of one question, in one round trip: what goes out together is one transaction."""
    with db.pipeline():
        if user is None:
            db.execute(_ASKING)
        else:
            db.execute(_USER, (user,))
        answer = db.execute(*question)
    return answer.fetchall()
