"""Which path is which: Gemini's in three versions and Vertex's long form, OpenAI's, Anthropic's, and our own."""

import re
from dataclasses import dataclass
from typing import Literal

from pollux.emulator.gemini.request import Target

_VERSION = r"(?P<version>v1|v1beta|v1beta1|v1alpha)"
_METHOD = r"(?P<method>generateContent|streamGenerateContent|countTokens)"
_CALL = re.compile(rf"/{_VERSION}/models/(?P<model>[^/:]+):{_METHOD}")
_VERTEX = re.compile(
    rf"/{_VERSION}/(?P<resource>(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models/(?P<model>[^/:]+)):{_METHOD}"
)
_MODELS = re.compile(rf"/{_VERSION}/models/?")
_MODEL = re.compile(rf"/{_VERSION}/models/(?P<model>[^/:]+)")
_VERTEX_MODELS = re.compile(rf"/{_VERSION}/publishers/google/models/?")
_OPENAI = r"(?:/v1|/openai/v1|/v1beta/openai)"
_CHAT = re.compile(_OPENAI + r"/chat/completions")
_OPENAI_MODELS = re.compile(_OPENAI + r"/models(?:/(?P<model>[^/]+))?/?")
_CLAUDE_MODELS = re.compile(r"/v1/models(?:/(?P<model>[^/:]+))?/?")

Kind = Literal[
    "call",
    "models",
    "model",
    "chat",
    "chat-models",
    "messages",
    "messages-count",
    "messages-models",
    "requests",
    "ledger",
    "none",
]


@dataclass(frozen=True)
class Route:
    """Where a request goes and which methods it may use."""

    kind: Kind
    allowed: tuple[str, ...] = ("GET",)
    target: Target | None = None
    model: str | None = None
    version: str = ""


def find(path: str, *, bearer: bool, anthropic: bool) -> Route:
    """The route of a path. `/v1/models` is in all dialects: a version header makes it Anthropic's, a bearer token
    OpenAI's.
    """
    if path == "/_emulator/requests":
        return Route("requests", ("GET", "DELETE"))
    if path == "/_emulator/ledger":
        return Route("ledger")
    if path == "/v1/messages":
        return Route("messages", ("POST",))
    if path == "/v1/messages/count_tokens":
        return Route("messages-count", ("POST",))
    if anthropic and (found := _CLAUDE_MODELS.fullmatch(path)):
        return Route("messages-models", model=found["model"])
    if _CHAT.fullmatch(path):
        return Route("chat", ("POST",))
    if (found := _OPENAI_MODELS.fullmatch(path)) and (bearer or not path.startswith("/v1/")):
        return Route("chat-models", model=found["model"])
    if found := _CALL.fullmatch(path):
        return Route("call", ("POST",), Target(found["version"], found["model"], found["method"]))
    if found := _VERTEX.fullmatch(path):
        return Route("call", ("POST",), Target(found["version"], found["model"], found["method"], found["resource"]))
    if found := _MODELS.fullmatch(path) or _VERTEX_MODELS.fullmatch(path):
        return Route("models", version=found["version"])
    if found := _MODEL.fullmatch(path):
        return Route("model", model=found["model"], version=found["version"])
    return Route("none")
