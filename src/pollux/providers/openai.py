"""OpenAI-compatible chat completions: OpenAI, Ollama, vLLM, hubs, anything at a base URL. No retry lives here."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import msgspec

from pollux.core.errors import ModelError
from pollux.core.messages import JSON
from pollux.core.redact import Secret
from pollux.engine.model import ModelEvent, ModelInfo, ModelRequest
from pollux.providers import openai_errors
from pollux.providers.encoding import ToolCache, names_sent
from pollux.providers.exchange import Prepared, exchange
from pollux.providers.http import Http, Response
from pollux.providers.light import LightHttp
from pollux.providers.openai_reply import OpenAIFold
from pollux.providers.openai_request import NAME, TOOL_NAME, encode_request, encode_tools
from pollux.providers.suggest import LISTING_SECONDS, with_nearest
from pollux.providers.unreadable import UNREADABLE

BASE_URL = "https://api.openai.com/v1"

_MAX_REFUSAL = 1024 * 1024
_OLLAMA_PORT = 11434


class _Model(msgspec.Struct):
    id: str


class _Page(msgspec.Struct):
    data: tuple[_Model, ...] = ()


class OpenAIProvider:
    """Speaks chat completions at `base_url`. A key is not needed where the server asks for none."""

    def __init__(self, api_key: Secret | str | None = None, base_url: str = BASE_URL, http: Http | None = None) -> None:
        key = Secret(api_key) if isinstance(api_key, str) else api_key
        self._secrets = (key,) if key else ()
        self._root = base_url.rstrip("/")
        self._http = http or LightHttp()
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key.reveal()}"
        # OpenAI's newer models refuse the old name, and most other servers know no other.
        is_openai = (urlsplit(base_url).hostname or "").endswith("openai.com")
        self._limit_name = "max_completion_tokens" if is_openai else "max_tokens"
        self._tools = ToolCache(encode_tools, lambda specs: names_sent((spec.name for spec in specs), TOOL_NAME))

    @property
    def name(self) -> str:
        return NAME

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The answer as it arrives, ending in exactly one Done. Raises ModelError."""
        return exchange(self._http, self._headers, request, self._prepare, self._refused)

    async def count_tokens(self, request: ModelRequest) -> int:
        """An estimate, four bytes to a token: the interface has no way to ask."""
        tools, _ = self._tools(request.tools)
        return len(encode_request(request, tools, limit_name=self._limit_name)) // 4

    async def models(self) -> tuple[ModelInfo, ...]:
        """Every model on offer. Raises ModelError."""
        url = f"{self._root}/models"
        async with self._http.get(url, self._headers, idle=LISTING_SECONDS, total=LISTING_SECONDS) as response:
            if response.status != 200:
                raise await self._refusal(response, None)
            body = await response.read_all()
        try:
            page = msgspec.json.decode(body, type=_Page)
        except UNREADABLE:
            raise ModelError("the list of models cannot be read", kind="protocol") from None
        return tuple(ModelInfo(model.id) for model in page.data)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def _prepare(self, request: ModelRequest) -> Prepared:
        tools, names = self._tools(request.tools)
        return Prepared(
            url=f"{self._root}/chat/completions",
            body=encode_request(request, tools, limit_name=self._limit_name),
            fold=OpenAIFold(names, lambda error: self._reported(error, request)),
        )

    def _reported(self, error: JSON, request: ModelRequest) -> ModelError:
        return openai_errors.reported(error, secrets=self._secrets, request=request)

    async def _refused(self, response: Response, request: ModelRequest) -> ModelError:
        error = await self._refusal(response, request)
        return await with_nearest(error, request.model, self.models) if error.kind == "not_found" else error

    async def _refusal(self, response: Response, request: ModelRequest | None) -> ModelError:
        return openai_errors.refused(
            response.status,
            await response.read_all(_MAX_REFUSAL),
            secrets=self._secrets,
            request=request,
            retry_after=response.headers.get("Retry-After"),
        )


def ollama_url(host: str) -> str:
    """The base URL for an OLLAMA_HOST, which may lack scheme and port, and may name every interface."""
    parts = urlsplit(host if "//" in host else f"http://{host or '127.0.0.1'}")
    name = "127.0.0.1" if parts.hostname in (None, "0.0.0.0", "::") else parts.hostname
    name = f"[{name}]" if ":" in name else name
    port = parts.port or (_OLLAMA_PORT if parts.scheme == "http" else 443)
    return f"{parts.scheme}://{name}:{port}{parts.path.rstrip('/')}/v1"
