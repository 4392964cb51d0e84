"""Read every setting of the table from flags, environment and files. The first place that has it wins."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, cast

from pollux.config import sources as places
from pollux.config.convert import convert
from pollux.config.files import ConfigError
from pollux.config.models import model_ref
from pollux.config.sources import ConfigFile, Source
from pollux.config.table import ANSWERS, BY_NAME, SETTINGS, explain_missing
from pollux.core.frozen import frozen
from pollux.core.redact import Secret


@frozen(kw_only=True)
class Settings:
    """Everything the program was told from outside. Secrets are typed; a missing setting without default is None."""

    home: Path
    config: Path | None
    store: Path | Secret
    pg_listen_url: Secret | None
    audit_heads_file: Path | None
    audit_heads_url: str | None
    audit_heads_seconds: int
    concurrency: int
    sandbox: Literal["auto", "required", "off"]
    model: str | None
    system_prompt: str | None
    gemini_api_key: Secret | None
    gemini_base_url: str
    gemini_concurrency: int | None
    anthropic_api_key: Secret | None
    anthropic_base_url: str
    anthropic_concurrency: int | None
    openai_api_key: Secret | None
    openai_base_url: str
    openai_concurrency: int | None
    ollama_host: str
    ollama_concurrency: int | None
    answer_bytes: int
    answer_seconds: int
    idle_seconds: int
    tries: int
    retry_seconds: int
    host: str
    port: int
    gemini_emulator_port: int
    workspace_emulator_port: int
    allowed_hosts: tuple[str, ...]
    public_url: str | None
    trusted_proxies: tuple[str, ...]
    requests_per_minute: int
    burst: int
    tokens_per_day: int | None
    visitor_tokens_per_day: int
    tokens: tuple[tuple[str, Secret], ...]
    token: Secret | None
    oidc_issuer: str | None
    oidc_audience: str | None
    oidc_jwks: str | None
    oidc_keys_seconds: int
    oidc_unknown_key_seconds: int
    seal_key: Secret | None
    old_seal_keys: Secret | None
    google_client_id: str | None
    google_client_secret: Secret | None
    gmail_base_url: str | None
    calendar_base_url: str | None
    google_oauth_base_url: str | None
    workspace: Path
    """The folder of the nearest `pollux.toml`, or the working directory."""
    config_file: ConfigFile | None
    project_file: ConfigFile | None
    keyed: tuple[Path, ...]
    """The files of the folder that a key or its address is taken from."""
    with_secrets: tuple[Path, ...]
    """The files among all of these that hold a key or another secret."""
    ignored: tuple[str, ...]
    """Sentences about values that were found but do not count, for `doctor`."""

    @property
    def answers(self) -> dict[str, Any]:
        """The limits of one answer, where neither a profile nor an author says otherwise."""
        return {name: getattr(self, name) for name in ANSWERS}

    def secrets(self) -> tuple[Secret, ...]:
        """Every secret held here, for the log sink that masks them."""
        values = (getattr(self, field_.name) for field_ in fields(self))
        return tuple(value for value in values if isinstance(value, Secret)) + tuple(token for _, token in self.tokens)


def read_settings(
    environ: Mapping[str, str],
    *,
    cwd: Path,
    flags: Mapping[str, object] | None = None,
    require_private: bool = True,
) -> Settings:
    """The settings as flags, environment and files give them; depends on nothing but its arguments and those files.

    `flags` are named as argparse names them (`api_key`); None means not given, and names that are no setting's are
    passed over. Raises ConfigError for what cannot be used; a missing key is None. A file that gives rights or a key is
    refused where others can change it; without `require_private`, the caller looks at that.
    """
    cwd = cwd.absolute()
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    own_home = places.home_of(environ)
    flagged, environment = places.from_flags(given, cwd), places.from_environ(environ, cwd)

    config, is_named = places.config_path([flagged, environment], environ=environ, own_home=own_home)
    config_file = places.read_config(config, is_named=is_named)
    project_file = places.find_project(cwd)
    workspace = project_file.path.parent if project_file else cwd
    if project_file and config_file and project_file.path == config_file.path:
        project_file = None  # Named by the person, so it is their own file and not merely found.

    ignored: list[str] = []
    dotenv = places.from_dotenv(cwd / ".env", ignored)
    own = places.from_table(config_file)
    gemini_yaml = places.from_yaml(workspace / "config" / ".gemini.yaml", ignored)
    in_workspace = [places.from_project(project_file, ignored), gemini_yaml]
    files = [own, *in_workspace] if is_named else [*in_workspace, own]

    sources = [flagged, environment, dotenv, *files]
    # `--api-key` says nothing of a provider; it is meant for the model in use.
    sources[0] = places.aim_key(flagged, places.first("model", sources))
    sources[2] = places.without_stray_urls(sources, ignored)

    used = [found for setting in SETTINGS if setting.dotenv and (found := places.first(setting.name, sources))]
    in_folder = ((cwd / ".env", sources[2]), (workspace / "config" / ".gemini.yaml", gemini_yaml))
    keyed = tuple(path for path, source in in_folder if any(found in used for found in source.values()))
    in_files = [*([(config_file.path, own)] if config_file else []), *(each for each in in_folder if each[0] in keyed)]
    if require_private:
        _refuse_exposed([*keyed, *([config_file.path] if config_file else [])])

    values = {setting.name: _value(setting.name, sources, own_home=own_home) for setting in SETTINGS}
    values["config"] = config
    values["home"] = values["home"] or places.default_home(environ, own_home)
    values["store"] = values["store"] or cast(Path, values["home"]) / "pollux.db"
    _check_oidc(values)
    return Settings(
        **cast(dict[str, Any], values),
        workspace=workspace,
        config_file=config_file,
        project_file=project_file,
        keyed=keyed,
        with_secrets=tuple(path for path, source in in_files if any(map(_is_secret, source))),
        ignored=tuple(ignored),
    )


def _value(name: str, sources: Sequence[Source], *, own_home: Path | None) -> object:
    setting = BY_NAME[name]
    found = places.first(name, sources)
    if found is not None:
        return convert(found.raw, kind=setting.kind, where=found.where, base=found.base, own_home=own_home)
    if setting.kind in ("tokens", "hosts"):
        return ()
    # Defaults that name a place or the model are filled in by whoever knows it.
    if setting.default is None or setting.kind in ("path", "store", "model"):
        return None
    return convert(setting.default, kind=setting.kind, where="the default", base=Path(), own_home=None)


def _is_secret(name: str) -> bool:
    return BY_NAME[name].kind in ("key", "secret", "tokens")


def _refuse_exposed(paths: Sequence[Path]) -> None:
    """Raises ConfigError where others can change one of these files."""
    from pollux.engine.exposure import grave

    if problem := grave(paths):
        raise ConfigError(problem)


def _check_oidc(values: Mapping[str, object]) -> None:
    # Without an audience, a token made for any other application of the issuer would open this one.
    names = ("oidc_issuer", "oidc_audience")
    absent = [BY_NAME[name].env[0] for name in names if not values[name]]
    if absent and any(values[name] for name in (*names, "oidc_jwks")):
        raise ConfigError(f"{' and '.join(absent)} must be set too: a JWT is checked against issuer and audience")


def missing_key(model: str, settings: Settings, *, by_flag: bool = False) -> str:
    """Why the model cannot be asked, for want of a key; empty where it can. Raises ConfigError for no model's name.

    `by_flag` says whether the command takes --api-key.
    """
    ref = model_ref(model)
    name = {"gemini": "gemini_api_key", "anthropic": "anthropic_api_key", "openai": "openai_api_key"}.get(ref.provider)
    if name is None or ref.base_url is not None or getattr(settings, name) is not None:
        return ""
    return explain_missing(name, by_flag=by_flag)
