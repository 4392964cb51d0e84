"""Somebody with this machine's token, who talks to a server as any program would."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from pollux.core.errors import PolluxError
from pollux.emulator.workspace import Workspace

SECONDS = 30.0
"""How long any one answer may take."""


class Unexpected(PolluxError):
    """Something did not go as the demo says it does."""

    code = "demo"


class Caller:
    """One person over HTTP."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http = http
        self._url = url

    async def get(self, path: str) -> dict[str, Any]:
        """What is there. Raises Unexpected."""
        return await self._send("GET", path, None, 200)

    async def post(self, path: str, body: dict[str, Any], *, expect: int = 200) -> dict[str, Any]:
        """What comes of it. Raises Unexpected where the status is another one."""
        return await self._send("POST", path, body, expect)

    async def ask(self, prompt: str) -> dict[str, Any]:
        """A run: ended, or waiting for a person."""
        return await self.post("/api/agent/run", {"prompt": prompt})

    async def answer(self, approval: dict[str, Any], decision: str, *, query: str = "", **more: Any) -> dict[str, Any]:
        """A person's answer, about exactly the arguments that were shown."""
        body = {"approvalId": approval["id"], "argsHash": approval["argsHash"], "decision": decision}
        return await self.post(f"/api/agent/approvals/resolve{query}", body, **more)

    async def journal(self, run_id: str) -> list[str]:
        """What happened in a run that has ended, by the names of its events. Raises Unexpected."""
        try:
            async with self._http.get(f"{self._url}/api/agent/runs/{run_id}/events") as response:
                return [json.loads(line)["type"] for line in (await response.read()).splitlines()]
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError) as problem:
            raise Unexpected(f"the journal cannot be read ({type(problem).__name__})") from None

    async def connect(self, workspace: Workspace) -> str:
        """Connect a Google account, as a browser would: to the consent page, where all is allowed, and back."""
        begun = await self.get("/api/google/connect")
        back = urlsplit(workspace.allow(begun["url"]))
        return (await self.get(f"{back.path}?{back.query}"))["email"]

    async def _send(self, method: str, path: str, body: dict[str, Any] | None, expect: int) -> dict[str, Any]:
        try:
            async with self._http.request(method, self._url + path, json=body) as response:
                status: int = response.status
                told: dict[str, Any] = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as problem:
            raise Unexpected(f"{method} {_bare(path)}: no answer ({type(problem).__name__})") from None
        if status != expect:
            said = told["error"]["message"] if "error" in told else ""
            raise Unexpected(f"{method} {_bare(path)}: expected {expect}, found {status} {said}".rstrip())
        return told


@asynccontextmanager
async def calling(url: str, home: Path) -> AsyncGenerator[Caller]:
    """Whoever can read the token in this home."""
    headers = {"Authorization": f"Bearer {(home / 'token').read_text().strip()}", "Accept": "application/json"}
    patience = aiohttp.ClientTimeout(total=SECONDS)
    # Not by the environment: this is all on one machine, and no proxy has any business with it.
    async with aiohttp.ClientSession(headers=headers, timeout=patience, trust_env=False) as http:
        yield Caller(http, url)


def _bare(path: str) -> str:
    return path.partition("?")[0]
