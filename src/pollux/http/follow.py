"""A run as the lines of a stream: what was said, what was called, and where an answer began anew. Each is told once."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from pollux.asgi.beats import with_beats
from pollux.asgi.bodies import encoded
from pollux.asgi.errors import INTERNAL
from pollux.asgi.follow import Follow, is_settled
from pollux.core.errors import PolluxError, public_text
from pollux.core.run import Run
from pollux.engine.logs import log_of
from pollux.engine.ports import Recorded
from pollux.http.runtime import Looks, Runtime, as_it_is
from pollux.http.views import run_view
from pollux.wire.breaks import json_line

logger = log_of(__name__)


async def told(runtime: Runtime, begun: Run) -> AsyncGenerator[bytes]:
    """A run's lines, from its beginning to where nothing is owed. The last one is a result, or why there is none."""
    first = {"type": "status", "status": "planning", "threadId": begun.thread_id, "runId": begun.id}
    yield json_line(encoded(first))
    engine, follow, looks = runtime.engine, Follow(), Looks(runtime, begun)
    try:
        async with aclosing(engine.watch(begun.id)) as watched, aclosing(with_beats(watched)) as items:
            async for item in items:
                if item is None:
                    await looks.look()
                    continue
                for line in follow.read(item):
                    yield json_line(encoded(line))
                if type(item) is not Recorded:
                    continue
                # What a key leads back to may have been asked and answered since: only its present state is an answer.
                if follow.run is not None and follow.run.version >= begun.version and is_settled(follow.run):
                    yield json_line(encoded({"type": "result", "result": run_view(follow.run)}))
                    return
    except PolluxError as found:
        problem = as_it_is(engine, found)
        yield _last_word(begun, problem.code, public_text(problem))
    except Exception:
        logger.exception("a stream failed")
        yield _last_word(begun, "internal", INTERNAL)


def _last_word(begun: Run, code: str, message: str) -> bytes:
    """The line for a run that cannot be told to its end here."""
    return json_line(encoded({"type": "error", "error": message, "code": code, "runId": begun.id}))
