"""Names of things. Random ids come from the engine; derived ones are made here, so a replay names things alike."""

import re
from typing import NewType

UserId = NewType("UserId", str)
ThreadId = NewType("ThreadId", str)
RunId = NewType("RunId", str)
ActionId = NewType("ActionId", str)
ApprovalId = NewType("ApprovalId", str)
GrantId = NewType("GrantId", str)

Instant = float
"""Seconds since the epoch, UTC. The core never reads a clock: events bring their time with them."""


def is_thread_id(text: str) -> bool:
    """Whether it could name a thread: nothing that leads elsewhere as a path or a pattern."""
    return re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}", text) is not None


def grant_id(approval: ApprovalId, position: int) -> GrantId:
    """The grants that an approval left behind, one for each subject, in order."""
    return GrantId(f"gnt_{approval.removeprefix('apr_')}_{position}")
