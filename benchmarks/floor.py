"""The floor: the least work that is still an agent loop. Build, post, parse, call, repeat; aiohttp and msgspec."""

import sqlite3
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
from _common import Client, add, filler, main

INTEGER = {"type": "INTEGER"}
PARAMETERS = {"type": "OBJECT", "properties": {"a": INTEGER, "b": INTEGER}, "required": ["a", "b"]}
DECLARATION = {"name": "add", "description": "Add two integers.", "parameters": PARAMETERS}
TOOLS = [{"functionDeclarations": [DECLARATION]}]
HEADERS = {"x-goog-api-key": "x", "Content-Type": "application/json"}
SCHEMA = "create table if not exists ev(thread text, seq integer, body blob, primary key(thread, seq)) without rowid"

encode, decode = msgspec.json.encode, msgspec.json.decode


class Floor(Client):
    async def setup(self, job: dict[str, Any]) -> None:
        root = f"{job['base']}/v1beta/models/{job['model']}"
        self.once, self.streaming = f"{root}:generateContent", f"{root}:streamGenerateContent?alt=sse"
        self.session = aiohttp.ClientSession(headers=HEADERS, connector=aiohttp.TCPConnector(limit=0))
        self.db: sqlite3.Connection | None = None
        if job.get("persist"):
            self.db = sqlite3.connect(job["persist"]["path"], isolation_level=None)
            self.db.execute("pragma journal_mode=wal")
            self.db.execute("pragma synchronous=full")
            self.db.execute(SCHEMA)

    async def history(self, n: int) -> list[dict[str, Any]]:
        return [{"role": role, "parts": [{"text": text}]} for role, text in map(filler, range(n))]

    async def run(self, prompt: str, history: Any = None, thread: str | None = None) -> str:
        contents: list[Any] = list(history) if history else []
        if self.db is not None:
            rows = self.db.execute("select body from ev where thread=? order by seq", (thread,))
            contents = [decode(body) for (body,) in rows]
        saved = len(contents)
        contents.append({"role": "user", "parts": [{"text": prompt}]})
        saved = self._save(thread, contents, saved)
        while True:
            async with self.session.post(self.once, data=encode({"contents": contents, "tools": TOOLS})) as response:
                content = decode(await response.read())["candidates"][0]["content"]
            contents.append(content)
            saved = self._save(thread, contents, saved)
            calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            if not calls:
                return "".join(part.get("text", "") for part in content["parts"])
            results = [{"name": call["name"], "response": {"result": add(**call["args"])}} for call in calls]
            contents.append({"role": "user", "parts": [{"functionResponse": result} for result in results]})
            saved = self._save(thread, contents, saved)

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        body = encode({"contents": [{"role": "user", "parts": [{"text": prompt}]}], "tools": TOOLS})
        async with self.session.post(self.streaming, data=body) as response:
            rest = b""
            async for piece in response.content.iter_any():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line[:6] == b"data: ":
                        for part in decode(line[6:])["candidates"][0]["content"]["parts"]:
                            yield part["text"]

    def _save(self, thread: str | None, contents: list[Any], since: int) -> int:
        if self.db is not None:
            rows = [(thread, i, encode(contents[i])) for i in range(since, len(contents))]
            self.db.execute("begin")
            self.db.executemany("insert into ev values(?,?,?)", rows)
            self.db.execute("commit")
        return len(contents)

    async def close(self) -> None:
        await self.session.close()


if __name__ == "__main__":
    main(Floor)
