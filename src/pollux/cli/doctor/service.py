"""Does the model's service answer, and does it know the model? Asked once, with a bound."""

import asyncio
import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from pollux.cli.doctor.checks import Check, key
from pollux.config import ModelRef, Settings
from pollux.core.errors import ModelError, PolluxError

SERVICE_SECONDS: Final = 10.0
DIAL_SECONDS: Final = 5.0
PROXIES: Final = ("https_proxy", "http_proxy", "all_proxy")


async def service(settings: Settings, model: str, ref: ModelRef) -> list[Check]:
    """Whether the model's service answers, and knows the model."""
    from pollux.bootstrap import Registry

    url = base_url(settings, ref)
    if key(settings, ref).status == "error":
        return [await _dialled(url, os.environ)]
    registry = Registry(settings)
    try:
        async with asyncio.timeout(SERVICE_SECONDS):
            known = [info.name for info in await registry(model).models()]
    except TimeoutError:
        return [_unreachable(url, f"gave no answer within {SERVICE_SECONDS:g} seconds")]
    except ModelError as problem:
        return [_refused(url, problem)]
    except PolluxError as problem:
        return [Check("endpoint", "error", str(problem))]
    finally:
        await registry.close()
    return [Check("endpoint", "ok", f"{url} answers"), _model(ref, known)]


def base_url(settings: Settings, ref: ModelRef) -> str:
    """Where the model is asked."""
    if ref.base_url is not None:
        return ref.base_url
    addresses = {
        "gemini": settings.gemini_base_url,
        "anthropic": settings.anthropic_base_url,
        "openai": settings.openai_base_url,
        "ollama": settings.ollama_host,
    }
    return addresses[ref.provider]


async def _dialled(url: str, environ: Mapping[str, str]) -> Check:
    """Without a key there is nothing to ask. But somebody may be there."""
    parts = urlsplit(url)
    if any(environ.get(name) or environ.get(name.upper()) for name in PROXIES):
        return Check("endpoint", "warning", f"{url} was not asked: there is no key", "Set the key and look again")
    try:
        async with asyncio.timeout(DIAL_SECONDS):
            _, writer = await asyncio.open_connection(
                parts.hostname, parts.port or (80 if parts.scheme == "http" else 443)
            )
    except TimeoutError:
        return _unreachable(url, f"took no connection within {DIAL_SECONDS:g} seconds")
    except OSError as problem:
        return _unreachable(url, f"cannot be reached ({problem.strerror or problem})")
    writer.close()
    return Check("endpoint", "ok", f"{url} can be reached; without a key it was not asked")


def _unreachable(url: str, why: str) -> Check:
    return Check("endpoint", "error", f"{url} {why}", "Check the network, the proxy and the base URL")


def _refused(url: str, problem: ModelError) -> Check:
    match problem.kind:
        case "connection" | "timeout":
            return _unreachable(url, f"cannot be reached ({problem})")
        case "auth":
            return Check("endpoint", "error", f"{url} answers, but refuses the key ({problem})", "Set another key")
        case "rate_limit" | "overloaded" | "server":
            return Check("endpoint", "warning", f"{url} answers, but not now ({problem})", "Look again later")
        case _:
            advice = "Check the base URL: it may be another service"
            return Check("endpoint", "error", f"{url} does not answer as expected ({problem})", advice)


def _model(ref: ModelRef, known: list[str]) -> Check:
    from difflib import get_close_matches

    # Ollama lists `llama3` as `llama3:latest`.
    if ref.name in known or f"{ref.name}:latest" in known:
        return Check("model", "ok", f"{ref.name} is on offer")
    near = get_close_matches(ref.name, known, n=3, cutoff=0.4)
    advice = f"Did you mean {' or '.join(near)}?" if near else "`pollux models` lists what is on offer"
    return Check("model", "warning", f"{ref.name} is not among the {len(known)} models on offer", advice)
