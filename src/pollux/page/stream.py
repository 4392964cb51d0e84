"""The page's verbs, told as they happen. The last line is what the other routes answer."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from pollux.asgi.bodies import encoded
from pollux.asgi.errors import INTERNAL
from pollux.asgi.follow import Follow, is_settled
from pollux.core.errors import PolluxError, public_text
from pollux.core.run import Run
from pollux.engine.logs import log_of
from pollux.engine.ports import Recorded
from pollux.page.runtime import PageRuntime
from pollux.page.verbs import Exchange, answer_own, answered, settled
from pollux.wire.breaks import json_line

logger = log_of(__name__)


async def lines(runtime: PageRuntime, exchange: Exchange, begun: Run, *, after: int) -> AsyncGenerator[bytes]:
    """What happens after that fact of the run, until nothing is owed. The last line is the answer, or says why not."""
    yield _line({"type": "status", "status": "planning", "runId": begun.id})
    follow = Follow()
    try:
        async with aclosing(runtime.engine.watch(begun.id)) as items:
            async for item in items:
                is_new = not isinstance(item, Recorded) or item.seq > after
                for line in follow.read(item):
                    if is_new:
                        yield _line(line)
                run = follow.run
                if run is None or run.version < begun.version or not is_settled(run):
                    continue
                if not await answer_own(runtime, exchange, run):
                    break
        yield _line(await answered(runtime, exchange, await settled(runtime, exchange, begun.id)))
    except PolluxError as problem:
        yield _line({"type": "error", "error": public_text(problem), "code": problem.code, "runId": begun.id})
    except Exception:
        logger.exception("a stream failed")
        yield _line({"type": "error", "error": INTERNAL, "code": "internal", "runId": begun.id})


def _line(line: object) -> bytes:
    return json_line(encoded(line))
