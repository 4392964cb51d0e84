"""The vendors' Python clients against `pollux emulator gemini`, one long conversation each: tools, streams, faults."""

# The vendor's signatures name types that are only there with optional packages.
# pyright: reportUnknownMemberType=false

import json
from typing import Any

import openai
import pytest
from google.genai import Client, errors, types
from google.genai.chats import Chat
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from tests.interop.peers import Served

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")]

FLASH = "gemini-3.8-flash"
NOTES = {"notes.txt": "the word is marzipan", "list.txt": "almonds, sugar"}
PNG = b"\x89PNG" + bytes(96)


def read_file(path: str) -> str:
    """Read a file."""
    return NOTES[path]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_a_long_conversation_with_google_genai(served: Served):
    with Client(api_key="test-key", http_options=types.HttpOptions(base_url=served.url, timeout=20_000)) as client:
        chat = client.chats.create(model=FLASH, config=types.GenerateContentConfig(tools=[read_file, add]))
        assert streamed(chat, "read the file notes.txt") == "read_file returned the word is marzipan"
        assert chat.send_message("add 2 and 3").text == "add returned 5"
        both = streamed(chat, 'call read_file {"path": "notes.txt"} call read_file {"path": "list.txt"}')
        assert "marzipan" in both and "almonds" in both
        rounds = streamed(chat, 'call add {"a": 1, "b": 2} then call read_file {"path": "list.txt"}')
        assert rounds == "add returned 3\nread_file returned almonds, sugar"
        told = chat.send_message([types.Part.from_bytes(data=PNG, mime_type="image/png"), "what is this?"]).text
        assert told and "image/png (100 bytes)" in told
        assert streamed(chat, "count to 4") == "1\n2\n3\n4"
        history = [content.model_dump(exclude_none=True) for content in chat.get_history()]
        with pytest.raises(errors.APIError) as caught:
            client.models.generate_content(model=f"{FLASH}--429-retry2", contents="hello")
        assert caught.value.code == 429
        # A refusal leaves no trace: the whole conversation, signatures and all, is taken again.
        assert chat.send_message("say done").text == "done"
    assert len(history) == len(served.requests[-1]["body"]["contents"]) - 1
    signed = [part for content in history for part in content["parts"] if "thought_signature" in part]
    assert len([part for part in signed if "function_call" in part]) == 5


def test_a_long_conversation_with_openai(served: Served):
    tools = [declared("read_file", path="string"), declared("add", a="integer", b="integer")]
    with openai.OpenAI(api_key="test-key", base_url=f"{served.url}/v1", max_retries=0, timeout=20) as client:
        story = Story(client, tools)
        assert story.ask("read the file notes.txt") == "read_file returned the word is marzipan"
        assert story.ask("add 2 and 3", stream=True) == "add returned 5"
        both = story.ask('call read_file {"path": "notes.txt"} call read_file {"path": "list.txt"}', stream=True)
        assert "marzipan" in both and "almonds" in both
        rounds = story.ask('call add {"a": 1, "b": 2} then call read_file {"path": "list.txt"}')
        assert rounds == "add returned 3\nread_file returned almonds, sugar"
        with pytest.raises(openai.RateLimitError):
            client.chat.completions.create(model="gpt-5--429-retry2", messages=story.messages)
        assert story.ask("say done") == "done"
        assert story.ask("count to 4", stream=True) == "1\n2\n3\n4"
    assert [message["role"] for message in story.messages].count("tool") == 6


def streamed(chat: Chat, prompt: str) -> str:
    """The text of a streamed answer, after whatever calls it took."""
    return "".join(chunk.text or "" for chunk in chat.send_message_stream(prompt))


def declared(name: str, **types_: str) -> ChatCompletionToolParam:
    """A tool as OpenAI's clients declare it."""
    properties: dict[str, object] = {key: {"type": kind} for key, kind in types_.items()}
    parameters: dict[str, object] = {"type": "object", "properties": properties, "required": list(properties)}
    description = f"{name.replace('_', ' ')} for me"
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


class Story:
    """A conversation that runs the calls it is asked for."""

    def __init__(self, client: openai.OpenAI, tools: list[ChatCompletionToolParam]) -> None:
        self._client = client
        self._tools = tools
        self.messages: list[ChatCompletionMessageParam] = []

    def ask(self, prompt: str, *, stream: bool = False) -> str:
        """The final answer."""
        self.messages.append({"role": "user", "content": prompt})
        while True:
            message = self._streamed() if stream else self._whole()
            self.messages.append(message)
            calls: list[dict[str, Any]] = message.get("tool_calls") or []
            if not calls:
                return message["content"]
            for call in calls:
                args = json.loads(call["function"]["arguments"])
                result = {"read_file": read_file, "add": add}[call["function"]["name"]](**args)
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})

    def _whole(self) -> Any:
        answer = self._client.chat.completions.create(model="gpt-5", messages=self.messages, tools=self._tools)
        return answer.choices[0].message.model_dump(exclude_none=True)

    def _streamed(self) -> Any:
        with self._client.chat.completions.stream(model="gpt-5", messages=self.messages, tools=self._tools) as stream:
            for _ in stream:
                pass
            message: dict[str, Any] = stream.get_final_completion().choices[0].message.model_dump(exclude_none=True)
        message.pop("parsed", None)
        calls: list[dict[str, Any]] = message.get("tool_calls") or []
        for call in calls:
            call.pop("index", None)
            call["function"].pop("parsed_arguments", None)
        return message
