"""A process of its own for one template that is not simple. It has little memory and little time, and nothing else.

    python -I -S worker.py < request > answer

Started without the site's packages: the request says where ours and MiniJinja's are.
"""

import json
import resource
import signal
import sys


def main() -> None:
    """Read the request, render, answer."""
    request = json.load(sys.stdin.buffer)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    sys.path[:] = [*sys.path, *request["paths"]]
    from pollux.runbooks.templates.engine import fill

    # Of the processor's time, so that a busy machine refuses nothing. At its end the process is killed.
    signal.setitimer(signal.ITIMER_PROF, request["seconds"])
    filled = fill(request["template"], request["payload"])
    signal.setitimer(signal.ITIMER_PROF, 0)
    sys.stdout.buffer.write(json.dumps(filled).encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
