"""Something between a store and its server that loses what the server answers, from the COMMIT it is told to on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.waiting import HANG_SECONDS

SOCKET = ".s.PGSQL.5432"


class Proxy:
    """Passes everything on. Once armed, the next COMMIT still arrives; its answer does not."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self._loses = False
        self._serving: set[asyncio.Task[None]] = set()

    def arm(self) -> None:
        self._loses = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(self._task())
        from_server, to_server = await asyncio.open_unix_connection(str(self._server / SOCKET))
        is_lost = asyncio.Event()

        async def ask() -> None:
            while said := await reader.read(65536):
                if self._loses and b"COMMIT\0" in said:
                    self._loses = False
                    is_lost.set()
                to_server.write(said)
                await to_server.drain()

        async def answer() -> None:
            while said := await from_server.read(65536):
                if is_lost.is_set():
                    return
                writer.write(said)
                await writer.drain()

        tasks = [asyncio.create_task(ask()), asyncio.create_task(answer())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for end in (writer, to_server):
            end.close()
            with suppress(OSError):
                await end.wait_closed()
        self._serving.discard(self._task())

    async def wait_ended(self) -> None:
        """Once the store has closed its connections, they all end."""
        if self._serving:
            await asyncio.wait(self._serving, timeout=HANG_SECONDS)

    @staticmethod
    def _task() -> asyncio.Task[None]:
        task = asyncio.current_task()
        assert task
        return task


@asynccontextmanager
async def between(url: str, place: Path) -> AsyncGenerator[tuple[str, Proxy]]:
    """The address of a proxy before the server of this one."""
    front, _, server = url.partition("?host=")
    proxy = Proxy(Path(server))
    listening = await asyncio.start_unix_server(proxy.serve, str(place / SOCKET))
    try:
        yield f"{front}?host={place}", proxy
    finally:
        listening.close()
        await proxy.wait_ended()
