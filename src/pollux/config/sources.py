"""Where values may come from: flags, environment, `.env` and files. A source maps a setting's name to what it found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Literal, cast

from pollux.config.convert import convert, is_missing
from pollux.config.files import ConfigError, parse_env, parse_gemini_yaml, parse_toml, read_bytes
from pollux.config.models import ADDRESSED, KEYLESS, model_ref
from pollux.config.table import BY_NAME, SETTINGS
from pollux.core.frozen import frozen

PROJECT_FILE: Final = "pollux.toml"
SECTIONS: Final = frozenset({"tools", "actions", "profiles", "rules", "limits", "page", "runbooks"})
"""What a configuration file may hold besides settings; `project` reads these."""
ENVIRONMENT_ONLY: Final = frozenset(
    "HTTPS_PROXY HTTP_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR SSLKEYLOGFILE REQUESTS_CA_BUNDLE "
    "CURL_CA_BUNDLE".split()
)
"""Through what, and trusting whom, connections go. No file of a folder is asked, and `doctor` says so."""


@frozen
class ConfigFile:
    """A configuration file as it was read: what is parsed, hashed and judged later are these very bytes."""

    path: Path
    content: bytes = field(repr=False)
    table: Mapping[str, Any] = field(repr=False)


@frozen
class Found:
    """A raw value, where it stands, and the folder its relative paths start from."""

    raw: object
    where: str
    base: Path


Source = Mapping[str, Found]


def first(name: str, sources: Sequence[Source]) -> Found | None:
    """What the first source that has it says; blank values and placeholders are passed over."""
    kind = BY_NAME[name].kind
    for source in sources:
        found = source.get(name)
        if found is not None and not is_missing(found.raw, kind=kind):
            return found
    return None


def from_flags(flags: Mapping[str, object], cwd: Path) -> dict[str, Found]:
    """The flags that are settings. `--api-key` is found for every provider, until `aim_key` has chosen."""
    found: dict[str, Found] = {}
    for setting in SETTINGS:
        if setting.flag and (value := flags.get(setting.flag.removeprefix("--").replace("-", "_"))) is not None:
            found[setting.name] = Found(str(value), setting.flag, cwd)
    return found


def aim_key(flagged: Mapping[str, Found], model: Found | None) -> dict[str, Found]:
    """The flags, with `--api-key` kept for the provider of the model in use only; Gemini where none is named."""
    try:
        name = model.raw.strip() if model and isinstance(model.raw, str) else ""
        provider = model_ref(name).provider if model else "gemini"
    except ConfigError:
        return dict(flagged)  # Whoever converts the model says what is wrong with it, and where it stands.
    keys = {setting.name for setting in SETTINGS if setting.flag == "--api-key"} - {f"{provider}_api_key"}
    return {name: found for name, found in flagged.items() if name not in keys}


def from_environ(environ: Mapping[str, str], cwd: Path) -> dict[str, Found]:
    """The variables that are settings; of two names for one setting, the first that holds something."""
    found: dict[str, Found] = {}
    for setting in SETTINGS:
        for name in setting.env:
            if not is_missing(environ.get(name), kind=setting.kind):
                found[setting.name] = Found(environ[name], name, cwd)
                break
    return found


def from_dotenv(path: Path, ignored: list[str]) -> dict[str, Found]:
    """What a `.env` file may set; the rest is named in `ignored`."""
    content = read_bytes(path)
    if content is None:
        return {}
    written = parse_env(content, path=path)
    for name in [name for name in written if name.upper() in ENVIRONMENT_ONLY]:
        ignored.append(f"{name} in {path} is left out: what a connection goes through is set in the environment")
    found = from_environ(written, path.parent)
    for name in [name for name in found if not BY_NAME[name].dotenv]:
        ignored.append(f"{found[name].where} in {path} is left out: set it in the environment instead")
        del found[name]
    return {name: Found(item.raw, f"{item.where} in {path}", item.base) for name, item in found.items()}


def without_stray_urls(sources: Sequence[Source], ignored: list[str]) -> dict[str, Found]:
    """The `.env` source without the base URLs whose key does not stand in the same file.

    On this machine too: whoever may listen on a port here could otherwise have the person's key sent there.
    """
    dotenv = dict(sources[2])
    for name in [name for name in dotenv if name.endswith("_base_url")]:
        key = first(name.replace("_base_url", "_api_key"), sources)
        if key not in dotenv.values():
            why = "there is no key" if key is None else f"the key is {key.where}, which comes from elsewhere"
            ignored.append(f"{dotenv[name].where} is left out: {why}. Put both into one place")
            del dotenv[name]
    return dotenv


def from_table(file: ConfigFile | None) -> dict[str, Found]:
    """The settings of the person's own file. Raises ConfigError for a key that is none."""
    if file is None:
        return {}
    known = [key for setting in SETTINGS for key in setting.file]
    written = dict(_leaves(file.table, known))
    for key in written:
        if key not in known:
            raise _unknown_key(key, known, file.path)
    found: dict[str, Found] = {}
    for setting in SETTINGS:
        for key in (key for key in setting.file if key in written):
            found.setdefault(setting.name, Found(written[key], f"{key} in {file.path}", file.path.parent))
    return found


def _leaves(table: Mapping[str, Any], known: Sequence[str]) -> Iterator[tuple[str, object]]:
    groups = {key.partition(".")[0] for key in known if "." in key}
    for key, value in table.items():
        if key in groups and isinstance(value, dict):
            yield from ((f"{key}.{inner}", item) for inner, item in cast(dict[str, object], value).items())
        elif key not in SECTIONS:
            yield key, value


def _unknown_key(key: str, known: Sequence[str], path: Path) -> ConfigError:
    from difflib import get_close_matches

    close = get_close_matches(key, [*known, *sorted(SECTIONS)], n=1)
    hint = f"Did you mean '{close[0]}'?" if close else "docs/reference/settings.md lists what may stand here"
    return ConfigError(f"{path} holds '{key}', which is no setting. {hint}")


def from_project(file: ConfigFile | None, ignored: list[str]) -> dict[str, Found]:
    """The two settings a workspace's `pollux.toml` may give."""
    if file is None:
        return {}
    found = {
        name: Found(file.table[name], f"{name} in {file.path}", file.path.parent)
        for name in ("model", "system_prompt")
        if name in file.table
    }
    return _without_address(found, ignored)


def from_yaml(path: Path, ignored: list[str]) -> dict[str, Found]:
    """The settings of `config/.gemini.yaml`."""
    content = read_bytes(path)
    if content is None:
        return {}
    table = parse_gemini_yaml(content, path=path)
    # The second spelling is that of the other configuration files, and of the errors that name it.
    names = {
        "api_key": "gemini_api_key",
        "apiKey": "gemini_api_key",
        "model": "model",
        "system_prompt": "system_prompt",
        "systemPrompt": "system_prompt",
    }
    found = {name: Found(table[key], f"{key} in {path}", path.parent) for key, name in names.items() if key in table}
    return _without_address(found, ignored)


def _without_address(found: dict[str, Found], ignored: list[str]) -> dict[str, Found]:
    model = found.get("model")
    if model and isinstance(model.raw, str) and model.raw.strip().startswith((ADDRESSED, KEYLESS)):
        ignored.append(f"{model.where} is left out: a workspace may not say where prompts are sent. Use --model")
        del found["model"]
    return found


# Places


def home_of(environ: Mapping[str, str]) -> Path | None:
    """The person's home, if the environment has one."""
    home = environ.get("HOME", "")
    return Path(home) if home.startswith("/") else None


def _xdg(
    environ: Mapping[str, str], name: Literal["XDG_DATA_HOME", "XDG_CONFIG_HOME"], own_home: Path | None
) -> Path | None:
    # The XDG rules say that a relative path is to be ignored.
    if (place := environ.get(name, "")).startswith("/"):
        return Path(place)
    if own_home is None:
        return None
    return own_home / (".local/share" if name == "XDG_DATA_HOME" else ".config")


def default_home(environ: Mapping[str, str], own_home: Path | None) -> Path:
    """Where POLLUX_HOME is when nobody says. Raises ConfigError where no place can be known."""
    place = _xdg(environ, "XDG_DATA_HOME", own_home)
    if place is None:
        raise ConfigError("no place for the store: HOME is not set. Set POLLUX_HOME to a folder")
    return place / "pollux"


def config_path(
    sources: Sequence[Source], *, environ: Mapping[str, str], own_home: Path | None
) -> tuple[Path | None, bool]:
    """The configuration file's place, and whether somebody named it."""
    named = first("config", sources)
    if named is not None:
        path = convert(named.raw, kind="path", where=named.where, base=named.base, own_home=own_home)
        return cast(Path, path), True
    place = _xdg(environ, "XDG_CONFIG_HOME", own_home)
    return (place / "pollux" / "config.toml" if place else None), False


def read_config(path: Path | None, *, is_named: bool) -> ConfigFile | None:
    """The configuration file. Raises ConfigError when it was named and is not there."""
    file = _read_toml(path) if path else None
    if file is None and is_named:
        raise ConfigError(f"{path} does not exist. Create it, or leave --config and POLLUX_CONFIG unset")
    return file


def find_project(cwd: Path) -> ConfigFile | None:
    """The nearest `pollux.toml`, upward from the working directory."""
    for folder in (cwd, *cwd.parents):
        try:
            is_there = (folder / PROJECT_FILE).is_file()
        except OSError as problem:
            raise ConfigError(f"{folder / PROJECT_FILE} cannot be looked at ({problem.strerror})") from None
        if is_there:
            return _read_toml(folder / PROJECT_FILE)
    return None


def where_it_stands(path: Path) -> Path:
    """The one name of a file by which it is trusted.

    The folder is resolved, the file itself is not: a link to an accepted file elsewhere must not bring its rights here.
    """
    return path.parent.resolve() / path.name


def _read_toml(path: Path) -> ConfigFile | None:
    path = where_it_stands(path)
    content = read_bytes(path)
    return None if content is None else ConfigFile(path, content, parse_toml(content, path=path))
