"""Gemini by generateContent: one HTTP call for one answer, streamed or whole. No retry lives here."""

from collections.abc import AsyncIterator
from functools import lru_cache
from typing import TypeVar
from urllib.parse import quote

import msgspec

from pollux.core.errors import ModelError
from pollux.core.messages import JSON
from pollux.core.redact import Secret
from pollux.engine.model import ModelEvent, ModelInfo, ModelRequest
from pollux.providers import gemini_errors
from pollux.providers.encoding import ToolCache, names_sent
from pollux.providers.exchange import Prepared, exchange
from pollux.providers.gemini_reply import GeminiFold
from pollux.providers.gemini_request import NAME, TOOL_NAME, encode_count, encode_request, encode_tools
from pollux.providers.http import Http, Response
from pollux.providers.light import LightHttp
from pollux.providers.suggest import LISTING_SECONDS, with_nearest
from pollux.providers.unreadable import UNREADABLE

BASE_URL = "https://generativelanguage.googleapis.com"

_MAX_PAGES = 20
_MAX_REFUSAL = 1024 * 1024
_T = TypeVar("_T")


class _Count(msgspec.Struct):
    total: int = msgspec.field(name="totalTokens")


class _Model(msgspec.Struct):
    name: str
    title: str = msgspec.field(name="displayName", default="")
    input_tokens: int | None = msgspec.field(name="inputTokenLimit", default=None)
    output_tokens: int | None = msgspec.field(name="outputTokenLimit", default=None)
    methods: tuple[str, ...] = msgspec.field(name="supportedGenerationMethods", default=("generateContent",))

    def info(self) -> ModelInfo:
        return ModelInfo(self.name.removeprefix("models/"), self.title, self.input_tokens, self.output_tokens)


class _Page(msgspec.Struct):
    models: tuple[_Model, ...] = ()
    token: str = msgspec.field(name="nextPageToken", default="")


class GeminiProvider:
    """Speaks to Gemini, or to whatever answers like it at `base_url`. The key travels in a header only."""

    def __init__(self, api_key: Secret | str, base_url: str = BASE_URL, http: Http | None = None) -> None:
        key = api_key if isinstance(api_key, Secret) else Secret(api_key)
        self._secrets = (key,)
        self._root = f"{base_url.rstrip('/')}/v1beta"
        self._http = http or LightHttp()
        self._headers = {"x-goog-api-key": key.reveal(), "Content-Type": "application/json"}
        self._tools = ToolCache(encode_tools, lambda specs: names_sent((spec.name for spec in specs), TOOL_NAME))

    @property
    def name(self) -> str:
        return NAME

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The answer as it arrives, ending in exactly one Done. Raises ModelError."""
        return exchange(self._http, self._headers, request, self._prepare, self._refused)

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many tokens the request would cost before it is answered. Raises ModelError."""
        tools, _ = self._tools(request.tools)
        body = encode_count(request, tools)
        url = f"{self._root}/{_path(request.model)}:countTokens"
        async with self._http.post(
            url, self._headers, body, idle=request.idle_seconds, total=request.total_seconds
        ) as response:
            if response.status != 200:
                raise await self._refused(response, request)
            return _read(await response.read_all(_MAX_REFUSAL), _Count).total

    async def models(self) -> tuple[ModelInfo, ...]:
        """Every model on offer that can generate content. Raises ModelError."""
        found: list[ModelInfo] = []
        token = ""
        for _ in range(_MAX_PAGES):
            url = f"{self._root}/models?pageSize=1000" + (f"&pageToken={quote(token, safe='')}" if token else "")
            async with self._http.get(url, self._headers, idle=LISTING_SECONDS, total=LISTING_SECONDS) as response:
                if response.status != 200:
                    raise await self._refused(response, None)
                page = _read(await response.read_all(), _Page)
            found.extend(model.info() for model in page.models if "generateContent" in model.methods)
            if not (token := page.token):
                break
        return tuple(found)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def _prepare(self, request: ModelRequest) -> Prepared:
        tools, names = self._tools(request.tools)
        verb = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
        return Prepared(
            url=f"{self._root}/{_path(request.model)}:{verb}",
            body=encode_request(request, tools),
            fold=GeminiFold(names, lambda error: self._reported(error, request)),
        )

    def _reported(self, error: JSON, request: ModelRequest) -> ModelError:
        return gemini_errors.reported(error, secrets=self._secrets, request=request)

    async def _refused(self, response: Response, request: ModelRequest | None) -> ModelError:
        body = await response.read_all(_MAX_REFUSAL)
        error = gemini_errors.refused(
            response.status,
            body,
            secrets=self._secrets,
            request=request,
            retry_after=response.headers.get("Retry-After"),
        )
        if error.kind == "not_found" and request is not None:
            return await with_nearest(error, request.model, self.models)
        return error


@lru_cache(maxsize=64)
def _path(model: str) -> str:
    # A tuned model brings its own collection; everything else lives under models/.
    return quote(model if "/" in model else f"models/{model}", safe="/.-_~")


def _read(body: bytes, shape: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=shape)
    except UNREADABLE:
        raise ModelError("Gemini answered with something that cannot be read", kind="protocol") from None
