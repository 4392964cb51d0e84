"""Shipped for users' tests: a scripted model, a clock that stands still, a ban on real requests, conformance suites.

Nothing else of Pollux imports from here.
"""

from collections.abc import Generator
from contextlib import contextmanager

from pollux.providers import reach
from pollux.providers.scripted import Answer, call, calls, chunks, fail, reply
from pollux.testing.clock import FakeClock
from pollux.testing.model import ScriptedModel, scripted

__all__ = [
    "Answer",
    "FakeClock",
    "ScriptedModel",
    "call",
    "calls",
    "chunks",
    "fail",
    "forbid_real_requests",
    "reply",
    "scripted",
]


@contextmanager
def forbid_real_requests() -> Generator[None]:
    """In this block, asking a provider that is not on this machine is an error before anything is sent."""
    reach.forbid(1)
    try:
        yield
    finally:
        reach.forbid(-1)
