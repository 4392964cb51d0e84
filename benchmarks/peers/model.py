"""A model server for the peers: Gemini's `generateContent` and OpenAI's chat completions, whole and streamed.

The last prompt names the scenario: `hello` is greeted, `mail` sends one mail, `rounds-K` calls `add` K times, one call
in each turn. Loopback only. Prints `LISTENING port`.
"""

import asyncio
import json
import re
from typing import Any

SCENARIO = re.compile(r"hello|mail|rounds-\d+")
MAIL = {"to": "bob@example.com", "body": "the report is ready"}

Json = dict[str, Any]
Call = tuple[str, Json]


def plan(prompt: str, done: int) -> tuple[str, Call | None]:
    """What is said, or what is called, after so many results."""
    name, _, count = prompt.partition("-")
    if name == "mail":
        return ("Sent.", None) if done else ("", ("send_email", MAIL))
    if name == "rounds" and done < int(count):
        return "", ("add", {"a": done, "b": 1})
    return (f"Did {count} rounds." if name == "rounds" else "Hello from the model."), None


def asked_gemini(body: Json) -> tuple[str, int]:
    """The last prompt, and how many results came after it."""
    prompt, done = "hello", 0
    for content in body["contents"]:
        for part in content.get("parts", []):
            if "functionResponse" in part:
                done += 1
            elif content.get("role") == "user" and SCENARIO.fullmatch(part.get("text", "")):
                prompt, done = part["text"], 0
    return prompt, done


def asked_openai(body: Json) -> tuple[str, int]:
    prompt, done = "hello", 0
    for message in body["messages"]:
        content = message.get("content")
        if message["role"] == "tool":
            done += 1
        elif message["role"] == "user" and isinstance(content, str) and SCENARIO.fullmatch(content):
            prompt, done = content, 0
    return prompt, done


def gemini(text: str, call: Call | None) -> Json:
    part: Json = {"text": text} if call is None else {"functionCall": {"name": call[0], "args": call[1]}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 17}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}


def openai(text: str, call: Call | None, *, done: int, streamed: bool) -> Json:
    message: Json = {"role": "assistant", "content": text or None}
    if call is not None:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message["tool_calls"] = [{"index": 0, "id": f"call_{done}", "type": "function", "function": function}]
    why = "tool_calls" if call else "stop"
    choice = {"index": 0, "delta" if streamed else "message": message, "finish_reason": why}
    kind = "chat.completion.chunk" if streamed else "chat.completion"
    usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
    return {"id": "c", "object": kind, "created": 1, "model": "fake", "choices": [choice], "usage": usage}


def reply(path: str, body: Json) -> tuple[Json, bool]:
    """The answer, and whether it is to be streamed."""
    if path.partition("?")[0].endswith("/chat/completions"):
        prompt, done = asked_openai(body)
        streamed = bool(body.get("stream"))
        return openai(*plan(prompt, done), done=done, streamed=streamed), streamed
    return gemini(*plan(*asked_gemini(body))), ":streamGenerateContent" in path


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Keep-alive HTTP/1.1, just enough of it."""
    try:
        while True:
            request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            size = re.search(r"content-length:\s*(\d+)", request, re.IGNORECASE)
            body = json.loads(await reader.readexactly(int(size[1]))) if size else {}
            answer, streamed = reply(request.split(" ", 2)[1], body)
            text = json.dumps(answer).encode()
            if streamed:
                text = b"data: " + text + b"\r\n\r\n" + (b"data: [DONE]\r\n\r\n" if "choices" in answer else b"")
            kind = b"text/event-stream" if streamed else b"application/json"
            head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (kind, len(text))
            writer.write(head + text)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**24)
    print("LISTENING", server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
