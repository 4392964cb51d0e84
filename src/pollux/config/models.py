"""Which provider answers for a model name. One table, and no falling back from one to another."""

import re
from typing import Final, Literal
from urllib.parse import urlsplit

from pollux.config.files import ConfigError
from pollux.core.frozen import frozen

ProviderName = Literal["gemini", "anthropic", "openai", "ollama"]

ADDRESSED: Final = "openai:"
KEYLESS: Final = "openai-keyless:"
"""The same, asked without a key: what stands for an address that is not the person's own choice."""
FORMS: Final = "gemini-…, claude-…, gpt-… or o<digit>…, ollama/<model>, openai:<base url>/<model>"

_BY_PREFIX: Final[tuple[tuple[str, ProviderName], ...]] = (
    ("gemini-", "gemini"),
    ("claude-", "anthropic"),
    ("gpt-", "openai"),
    *((f"o{digit}", "openai") for digit in range(10)),
)


@frozen
class ModelRef:
    """A model name taken apart: who answers, the name to ask for, and the address when the name carries one."""

    provider: ProviderName
    name: str
    base_url: str | None = None
    is_keyless: bool = False
    """No key of the person's is sent there."""


def provider_of(model: str) -> ProviderName:
    """The provider that answers for this model name. Raises ConfigError listing the forms."""
    return model_ref(model).provider


def model_ref(model: str) -> ModelRef:
    """The model name taken apart. Raises ConfigError listing the forms when it has none of them."""
    if not model.isprintable() or " " in model:
        raise _unknown(model)
    if model.startswith((ADDRESSED, KEYLESS)):
        return _addressed(model)
    if model.startswith("ollama/") and model != "ollama/":
        return ModelRef("ollama", model.removeprefix("ollama/"))
    for prefix, provider in _BY_PREFIX:
        # A bare "gpt-" names nothing, but "o3" is a whole name.
        if model.startswith(prefix) and (model != prefix or prefix[-1].isdigit()):
            return ModelRef(provider, model)
    raise _unknown(model)


def model_named(name: str, model: str) -> str | None:
    """How the model of this name, of the service that `model` belongs to, is named here; None where it cannot be."""
    ref = model_ref(model)
    if ref.base_url is not None:
        return f"{KEYLESS if ref.is_keyless else ADDRESSED}{ref.base_url}/{name}"
    if ref.provider == "ollama":
        return f"ollama/{name}"
    try:
        return name if model_ref(name).provider == ref.provider else None
    except ConfigError:
        return None


def without_key(model: str) -> str:
    """The same model, so that no key is sent to an address in its name."""
    return KEYLESS + model.removeprefix(ADDRESSED) if model.startswith(ADDRESSED) else model


def _addressed(model: str) -> ModelRef:
    form, _, address = model.partition(":")
    # Hubs name models "owner/model": what follows the version segment is all name.
    version = re.search(r"/v[0-9]+[a-z0-9]*/", address)
    cut = version.end() - 1 if version else address.rfind("/")
    base_url, name = address[:cut], address[cut + 1 :]
    try:
        parts = urlsplit(base_url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and bool(name)
        has_password = "@" in parts.netloc
    except ValueError:
        fits = has_password = False
    if has_password:
        raise ConfigError("a model name must not hold a password. Set OPENAI_API_KEY instead", code="usage")
    if not fits:
        raise _unknown(model)
    return ModelRef("openai", name, base_url, is_keyless=f"{form}:" == KEYLESS)


def _unknown(model: str) -> ConfigError:
    shown = ascii(model if len(model) <= 80 else model[:79] + "…") if not model.isprintable() else f"'{model[:80]}'"
    return ConfigError(f"model {shown} has no known form. Use one of: {FORMS}", code="usage")
