"""Talk to the emulator in bytes: what is sent and what comes back, with nothing in between."""

import json
from dataclasses import dataclass
from typing import Any

import aiohttp

FLASH = "gemini-3.8-flash"
OLD = "gemini-2.5-flash"
ADD = {
    "name": "add",
    "description": "Add two numbers",
    "parametersJsonSchema": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
}
WEATHER = {
    "name": "get_weather",
    "description": "Current weather in a city",
    "parametersJsonSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@dataclass(frozen=True)
class Got:
    """An answer, read to its end."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def events(self) -> list[Any]:
        """The JSON of each `data:` line."""
        lines = self.raw.decode().replace("\r\n", "\n").split("\n")
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]

    @property
    def error(self) -> dict[str, Any]:
        return self.json["error"]


@dataclass(frozen=True)
class Wire:
    """One HTTP session with one emulator."""

    session: aiohttp.ClientSession
    url: str

    async def ask(self, body: Any, *, model: str = FLASH, **options: Any) -> Got:
        """generateContent."""
        return await self.send("POST", f"/v1beta/models/{model}:generateContent", body, **options)

    async def stream(self, body: Any, *, model: str = FLASH, alt: str = "?alt=sse", **options: Any) -> Got:
        """streamGenerateContent."""
        return await self.send("POST", f"/v1beta/models/{model}:streamGenerateContent{alt}", body, **options)

    async def send(
        self, method: str, path: str, body: Any = None, *, key: str | None = "test-key", fault: str | None = None
    ) -> Got:
        headers = {"x-goog-api-key": key} if key is not None else {}
        if fault is not None:
            headers["x-emulator-fault"] = fault
        raw = body if isinstance(body, bytes) else (json.dumps(body).encode() if body is not None else None)
        async with self.session.request(method, self.url + path, data=raw, headers=headers) as response:
            content = await response.read()
            return Got(response.status, {name.lower(): value for name, value in response.headers.items()}, content)


def user(text: str) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "parts": [{"text": text}]}


def prompt(text: str, *tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request with one message and these tools."""
    body: dict[str, Any] = {"contents": [user(text)], **more}
    return body | {"tools": [{"functionDeclarations": list(tools)}]} if tools else body


def respond(call: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    """The part that answers a call."""
    answer = {key: call[key] for key in ("id", "name") if key in call}
    return {"functionResponse": answer | {"response": response}}


def answered(body: dict[str, Any], content: dict[str, Any], *responses: dict[str, Any]) -> dict[str, Any]:
    """The request that follows: the model's turn as it came, and the responses."""
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    parts = [respond(call, response) for call, response in zip(calls, responses, strict=True)]
    return body | {"contents": [*body["contents"], content, {"role": "user", "parts": parts}]}
