"""Read the files settings come from: TOML, `.env` and the small YAML file. Bounded, and plain about what is wrong."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.engine.untrusted import load_toml, load_yaml, read_file

LARGEST_FILE: Final = 1 << 20
LARGEST_YAML: Final = 64 << 10
"""Bytes of `config/.gemini.yaml`, which holds three values. Its parser is slow."""


class ConfigError(ValidationError):
    """Configuration that cannot be used; the text names the place, what was expected and what to do."""

    code = "config"


def read_bytes(path: Path) -> bytes | None:
    """The file's content, or None when there is no such regular file.

    Raises ConfigError for a file that is too large or may not be read.
    """
    try:
        # Not every `.env` is a file: virtual environments are directories of that name.
        content = read_file(path, most=LARGEST_FILE)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}). Check its permissions") from error
    if content is not None and len(content) > LARGEST_FILE:
        raise ConfigError(f"{path} is larger than {LARGEST_FILE} bytes; a configuration file is expected here")
    return content


def parse_toml(content: bytes, *, path: Path) -> dict[str, Any]:
    """The document as a table. Raises ConfigError with the line when it is not TOML."""
    text = _text(content, path=path)
    try:
        return load_toml(text)
    except ValueError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}. Correct it, or move the file away") from error


def parse_env(content: bytes, *, path: Path) -> dict[str, str]:
    """The assignments of a `.env` file. Other lines are passed over: the file serves other programs too."""
    found: dict[str, str] = {}
    for line in _text(content, path=path).splitlines():
        if match := re.fullmatch(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", line.strip()):
            found[match[1]] = _unquote(match[2].strip())
    return found


def parse_gemini_yaml(content: bytes, *, path: Path) -> dict[str, Any]:
    """The keys and values of `config/.gemini.yaml`."""
    import yaml  # Only here: most runs have no such file, and the import costs more than the rest of this module.

    if len(content) > LARGEST_YAML:
        raise ConfigError(f"{path} is larger than {LARGEST_YAML} bytes. Expected lines such as `apiKey: '…'`")
    text = _text(content, path=path)
    try:
        document = load_yaml(text, loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML. Expected lines such as `apiKey: '…'`") from error
    except ValueError as error:
        raise ConfigError(f"{path} cannot be used: {error}. Expected lines such as `apiKey: '…'`") from error
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise ConfigError(f"{path} must hold keys and values such as `apiKey: '…'`, found {kind_of(document)}")
    return dict(cast(Mapping[str, Any], document))


def kind_of(value: object) -> str:
    """What a value is, in the words of a person who writes configuration. Never the value itself."""
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a table"
        case None:
            return "nothing"
        case _:
            return "a date or time"


def _text(content: bytes, *, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text (byte {error.start}). Save it as UTF-8") from error


def _unquote(value: str) -> str:
    if value[:1] in ("'", '"'):
        end = value.find(value[0], 1)
        if end > 0:
            return value[1:end]
    # A comment needs a space before it: keys and addresses may hold a '#'.
    return re.split(r"\s#", value, maxsplit=1)[0].rstrip()
