"""A `pollux` that has everything imported and forks for each run: many runs cost little more than their work.

Started by `programs.Warm` with a listening socket as its standard input. A connection brings the words, the environment
and the directory, and four descriptors: three for the standard streams, and one for the exit code. What runs in the
child is the program from `main` on, to the end of its interpreter.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
from importlib import import_module

MODULES = (
    "pollux.cli.run pollux.cli.answer pollux.cli.allow pollux.cli.asking pollux.providers.gemini"
    " pollux.providers.openai pollux.providers.light pollux.stores.sqlite pollux.tools.shell.judge jsonschema_rs"
    " pollux.wire.lines"
).split()


def serve(listener: socket.socket) -> list[str]:
    """Fork for every connection. Returns in a child, with the words of its run."""
    for name in MODULES:
        import_module(name)
    gc.freeze()
    wake, woken = os.pipe()
    for end in (wake, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    reports: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(wake, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not listener:
                    os.read(wake, 4096)
                    _bury(reports)
                    continue
                words, environ, cwd, streams = _read(listener)
                if pid := os.fork():
                    reports[pid] = streams[3]
                    for descriptor in streams[:3]:
                        os.close(descriptor)
                    continue
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                selector.close()
                listener.detach()
                _become(environ, cwd, streams)
                return words


def _read(listener: socket.socket) -> tuple[list[str], dict[str, str], str, list[int]]:
    connection, _ = listener.accept()
    with connection:
        content, streams, _, _ = socket.recv_fds(connection, 1 << 20, 4)
        while more := connection.recv(1 << 20):
            content += more
    asked = json.loads(content)
    return asked["words"], asked["environ"], asked["cwd"], streams


def _become(environ: dict[str, str], cwd: str, streams: list[int]) -> None:
    for number, descriptor in enumerate(streams[:3]):
        os.dup2(descriptor, number)
    # Also the ends that belong to others: a pipe is closed when nobody holds it.
    os.closerange(3, 4096)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)


def _bury(reports: dict[int, int]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        report = reports.pop(pid)
        os.write(report, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(report)


if __name__ == "__main__":
    # Descriptor 0 is the socket; children get another.
    arguments = serve(socket.socket(fileno=os.dup(0)))
    from pollux.cli import main

    sys.exit(main(arguments))
