"""What both databases tell of runs without their journals: the beginnings of prompts, and what was spent."""

import json
import re
from typing import Final

LONGEST_PROMPT: Final = 200
BEGINNING: Final = 2_048
"""So many bytes of a stored message are read: a prompt may have megabytes of images behind its text."""

# A JSON text as far as it is there: the end may be missing, in the middle of a character too.
_TEXT: Final = re.compile(rb'\{"text":"((?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*)', re.DOTALL)

UNSURE: Final = "(unknown > 0 OR told <> version)"
"""Of a run that ended badly: whether it may hold an action whose outcome is unknown."""


def spending(runs: str, whose: str, since: str) -> str:
    """What selects the columns of `Spending`, as SQL. Its values: the moment, whose twice, and the moment again.

    Whose twice, so that an index leads to either part. A run without a limit is taken to have just reached one.
    """
    return f"""
        SELECT
            CAST(coalesce(sum(tokens) FILTER (WHERE updated_at >= {since}), 0) AS bigint),
            CAST(coalesce(sum(2 * coalesce(budget, tokens) - tokens) FILTER (
                WHERE ended_at IS NULL AND 2 * coalesce(budget, tokens) > tokens
            ), 0) AS bigint)
        FROM {runs} WHERE ({whose} AND ended_at IS NULL) OR ({whose} AND ended_at >= {since})
    """


def beginning_of(body: bytes) -> str:
    """The first characters of a stored message's text, of which only the first bytes may be there."""
    found = _TEXT.search(body)
    if found is None:
        return ""
    text: str = json.loads(b'"%b"' % found[1].decode("utf-8", "ignore").encode(), strict=False)
    return text[:LONGEST_PROMPT]
