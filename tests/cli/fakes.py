"""Servers for tests of the program, in threads of their own: the emulator, and one that says what it is told to."""

import asyncio
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tests.waiting import HANG_SECONDS

from pollux.emulator import Emulator, run_emulator


@contextmanager
def emulated() -> Generator[Emulator]:
    """The emulator, for tests that block while a program talks to it."""
    made: list[Emulator] = []
    ready, over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with run_emulator(seed=1) as emulator:
            made.append(emulator)
            ready.set()
            while not over.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(HANG_SECONDS)
    try:
        yield made[0]
    finally:
        over.set()
        thread.join(HANG_SECONDS)


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    method: str
    path: str
    body: bytes


Respond = Callable[[Request, socket.socket], None]
"""Answers on the client's connection, which is closed when it returns."""


@contextmanager
def serving(respond: Respond) -> Generator[str]:
    """The address of a server that gives each connection one answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def answer(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.settimeout(2 * HANG_SECONDS)
                respond(_request(connection), connection)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        # Closing alone does not wake a thread that waits in accept().
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join(HANG_SECONDS)


@contextmanager
def nobody() -> Generator[str]:
    """An address that refuses every connection, and that no other program can take meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


def events(*datas: bytes) -> bytes:
    """A whole answer of server-sent events."""
    return head("text/event-stream") + b"".join(b"data: " + data + b"\r\n\r\n" for data in datas)


def head(content_type: str, status: str = "200 OK") -> bytes:
    """The beginning of an answer that lasts until the connection is closed."""
    return f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nConnection: close\r\n\r\n".encode()


def _request(connection: socket.socket) -> Request:
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    top, _, body = received.partition(b"\r\n\r\n")
    lines = top.decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ")
    length = next((int(line[15:]) for line in lines if line.lower().startswith("content-length:")), 0)
    while len(body) < length:
        body += _more(connection)
    return Request(method, path, body)


def _more(connection: socket.socket) -> bytes:
    received = connection.recv(1 << 16)
    if not received:
        raise ConnectionError("the client left")
    return received
