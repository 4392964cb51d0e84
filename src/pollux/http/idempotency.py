"""The same request sent twice begins one run. The key becomes the run's own id, so that the store itself refuses a
second one, whichever process it comes to; what was asked lies with the run, by digest, to compare.

The id is a digest with the store's key: who knows user, route and key still cannot tell the run's name.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Self

import msgspec

from pollux.asgi.endpoint import Call
from pollux.asgi.errors import HttpError
from pollux.core.errors import Conflict, NotFound, ThreadBusy, ValidationError
from pollux.core.ids import RunId
from pollux.core.run import Run
from pollux.engine.engine import Engine, Start

LIFE = 24 * 3600.0
LONGEST_KEY = 255


@dataclass(slots=True)
class Once:
    """One request with its key."""

    engine: Engine
    key: tuple[str, ...]
    """User, route and what the caller wrote."""
    request: str
    use: int = 0
    """A key may be used again after a day, and once more after another: each time for a run of its own."""

    @classmethod
    def of(cls, engine: Engine, call: Call) -> Self:
        """What the header says. Raises ValidationError."""
        given = call.headers.getlist("idempotency-key")
        if len(given) > 1 or not 1 <= len(given[0]) <= LONGEST_KEY or not given[0].isprintable():
            raise ValidationError(f"Idempotency-Key must be one text of 1 to {LONGEST_KEY} printable characters")
        body = msgspec.json.encode(call.body, order="sorted").decode()
        return cls(engine, (call.user, call.scope["path"], given[0]), _digest(body))

    async def run(self) -> Run | None:
        """The run of an earlier request with this key. Raises HttpError where that asked for something else."""
        oldest = self.engine.clock.now() - LIFE
        while True:
            run = await self._known(self.run_id) or await self._known(self._former_id)
            if run is None:
                return None
            if run.created_at > oldest:
                break
            self.use += 1
        if run.request != self.request:
            message = "this Idempotency-Key was used for another body. Use a new one"
            raise HttpError(409, "idempotency_mismatch", message, more={"runId": run.id})
        return run

    def start(self, start: Start) -> Start:
        """The start of the run that stands for this key."""
        return replace(start, run_id=self.run_id, request=self.request)

    @property
    def run_id(self) -> RunId:
        """The id that the key becomes."""
        return self.engine.queries.run_id_for(*self.key, str(self.use))

    @property
    def _former_id(self) -> RunId:
        """What the key became before ids had a key of the store's: the request may be older than the update."""
        return RunId("run_" + _digest(_digest(*self.key), str(self.use))[:24])

    async def _known(self, run_id: RunId) -> Run | None:
        try:
            return await self.engine.queries.run(run_id)
        except NotFound:
            return None


async def begin_once(engine: Engine, fresh: Callable[[], Awaitable[Start]], call: Call) -> Run:
    """The run that this key stands for, begun afresh if nobody has.

    Raises what `Engine.start` raises, and HttpError where the key was used for something else.
    """
    once = Once.of(engine, call)
    while True:
        known = await once.run()
        if known is not None:
            return known
        try:
            return await engine.start(once.start(await fresh()))
        except ThreadBusy as problem:
            # Of two requests with one key, the other may have been faster.
            if problem.run_id != once.run_id:
                raise
        except Conflict as problem:
            if problem.code != "run_exists":
                raise
            if await once.run() is None:
                # It began, and what it said was erased since. A request that comes late must not repeat its effects.
                message = "the run of this Idempotency-Key was erased. Use a new key"
                raise HttpError(409, problem.code, message) from None


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
