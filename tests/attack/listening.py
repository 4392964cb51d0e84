"""A server on this machine that hears whatever is sent to it."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Listener(ThreadingHTTPServer):
    """Keeps the requests, and answers nothing of use."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        heard = self.heard

        class Heard(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                heard.append(f"{self.requestline}\n{self.headers}")
                self.send_response(403)
                self.end_headers()

            do_POST = do_CONNECT = do_GET

            def log_message(self, format: str, *args: object) -> None: ...

        super().__init__(("127.0.0.1", 0), Heard)
        self.url = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def listening() -> Generator[Listener]:
    """One that listens inside the block."""
    with Listener() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
