"""Claude by Anthropic's Messages API: one HTTP call for one answer, streamed or whole. No retry lives here."""

from collections.abc import AsyncIterator
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from pollux.core.errors import ModelError
from pollux.core.messages import JSON
from pollux.core.redact import Secret
from pollux.engine.model import ModelEvent, ModelInfo, ModelRequest
from pollux.providers import anthropic_errors
from pollux.providers.anthropic_models import claude
from pollux.providers.anthropic_reply import AnthropicFold
from pollux.providers.anthropic_request import NAME, TOOL_NAME, encode_count, encode_request, encode_tools
from pollux.providers.encoding import ToolCache, names_sent
from pollux.providers.exchange import Prepared, exchange
from pollux.providers.http import Http, Response
from pollux.providers.light import LightHttp
from pollux.providers.suggest import LISTING_SECONDS, with_nearest
from pollux.providers.unreadable import UNREADABLE

BASE_URL = "https://api.anthropic.com"

_VERSION: Final = "2023-06-01"
_BINDING: Final = "thinking-binding-controls-2026-08-01"
_MAX_PAGES: Final = 20
_MAX_REFUSAL: Final = 1024 * 1024
_T = TypeVar("_T")


class _Count(msgspec.Struct):
    input_tokens: int


class _Model(msgspec.Struct):
    id: str
    display_name: str = ""
    max_input_tokens: int | None = None
    max_tokens: int | None = None

    def info(self) -> ModelInfo:
        return ModelInfo(self.id, self.display_name, self.max_input_tokens, self.max_tokens)


class _Page(msgspec.Struct):
    data: tuple[_Model, ...] = ()
    has_more: bool = False
    last_id: str | None = None


class AnthropicProvider:
    """Speaks to Claude, or to whatever answers like it at `base_url`. The key travels in a header only."""

    def __init__(self, api_key: Secret | str, base_url: str = BASE_URL, http: Http | None = None) -> None:
        key = api_key if isinstance(api_key, Secret) else Secret(api_key)
        self._secrets = (key,)
        self._root = f"{base_url.rstrip('/').removesuffix('/v1')}/v1"
        self._http = http or LightHttp()
        self._headers = {
            "x-api-key": key.reveal(),
            "anthropic-version": _VERSION,
            "Content-Type": "application/json",
        }
        self._tools = ToolCache(encode_tools, lambda specs: names_sent((spec.name for spec in specs), TOOL_NAME))

    @property
    def name(self) -> str:
        return NAME

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The answer as it arrives, ending in exactly one Done. Raises ModelError."""
        return exchange(self._http, self._headers_for(request.model), request, self._prepare, self._refused)

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many tokens the request would cost before it is answered. Raises ModelError."""
        tools, _ = self._tools(request.tools)
        async with self._http.post(
            f"{self._root}/messages/count_tokens",
            self._headers_for(request.model),
            encode_count(request, tools),
            idle=request.idle_seconds,
            total=request.total_seconds,
        ) as response:
            if response.status != 200:
                raise await self._refused(response, request)
            return _read(await response.read_all(_MAX_REFUSAL), _Count).input_tokens

    async def models(self) -> tuple[ModelInfo, ...]:
        """Every model on offer. Raises ModelError."""
        found: list[ModelInfo] = []
        after = ""
        for _ in range(_MAX_PAGES):
            url = f"{self._root}/models?limit=1000" + (f"&after_id={quote(after, safe='')}" if after else "")
            async with self._http.get(url, self._headers, idle=LISTING_SECONDS, total=LISTING_SECONDS) as response:
                if response.status != 200:
                    raise await self._refused(response, None)
                page = _read(await response.read_all(), _Page)
            found.extend(model.info() for model in page.data)
            if not page.has_more or not (after := page.last_id or ""):
                break
        return tuple(found)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def _headers_for(self, model: str) -> dict[str, str]:
        known = claude(model)
        return self._headers | {"anthropic-beta": _BINDING} if known and known.binds_thoughts else self._headers

    def _prepare(self, request: ModelRequest) -> Prepared:
        tools, names = self._tools(request.tools)
        return Prepared(
            url=f"{self._root}/messages",
            body=encode_request(request, tools),
            fold=AnthropicFold(names, lambda error: self._reported(error, request)),
        )

    def _reported(self, error: JSON, request: ModelRequest) -> ModelError:
        return anthropic_errors.reported(error, secrets=self._secrets, request=request)

    async def _refused(self, response: Response, request: ModelRequest | None) -> ModelError:
        error = anthropic_errors.refused(
            response.status,
            await response.read_all(_MAX_REFUSAL),
            secrets=self._secrets,
            request=request,
            retry_after=response.headers.get("Retry-After"),
            request_id=response.headers.get("request-id"),
        )
        if error.kind == "not_found" and request is not None:
            return await with_nearest(error, request.model, self.models)
        return error


def _read(body: bytes, shape: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=shape)
    except UNREADABLE:
        raise ModelError("Anthropic answered with something that cannot be read", kind="protocol") from None
