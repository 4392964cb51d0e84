"""Every setting, one row each. Reading and the reference page both come from this table, so they cannot disagree."""

from typing import Final, Literal

from pollux.config.files import ConfigError
from pollux.core.frozen import frozen

Kind = Literal[
    "text",
    "path",
    "store",
    "place",
    "url",
    "issuer",
    "origin",
    "host",
    "port",
    "model",
    "key",
    "secret",
    "tokens",
    "count",
    "slots",
    "hosts",
    "sandbox",
]


@frozen
class Setting:
    """One setting: where it may come from, what it holds and what it means.

    `file` lists the dotted keys in the configuration file; `dotenv` says whether a `.env` file may set it. The default
    is written as a person would write it, with `$NAME` for places; None means there is none.
    """

    name: str
    env: tuple[str, ...]
    flag: str | None
    kind: Kind
    default: str | None
    meaning: str
    file: tuple[str, ...] = ()
    dotenv: bool = False


# A `.env` lies in the working directory, so it may bring keys and the addresses they belong to, and no more:
# what could widen rights or move the store must come from the person who starts the program.
SETTINGS: Final[tuple[Setting, ...]] = (
    # Places
    Setting("home", ("POLLUX_HOME",), None, "path", "$XDG_DATA_HOME/pollux",
            "Where the store, the token and the keys lie. Created with mode 0700 when first needed."),
    Setting("config", ("POLLUX_CONFIG",), "--config", "path", "$XDG_CONFIG_HOME/pollux/config.toml",
            "The configuration file. Named explicitly, it must exist."),
    Setting("store", ("POLLUX_STORE",), "--store", "store", "$POLLUX_HOME/pollux.db",
            "A path for SQLite, or `postgresql://…` for many hosts.", file=("store",)),
    Setting("pg_listen_url", ("POLLUX_PG_LISTEN_URL",), None, "secret", None,
            "A direct PostgreSQL address for LISTEN, where `POLLUX_STORE` goes through a pooler.",
            file=("pg_listen_url",)),
    Setting("audit_heads_file", ("POLLUX_AUDIT_HEADS_FILE",), None, "path", None,
            "A file, best on another machine, to which servers and workers append the audit's signed heads. A store "
            "that is behind it was restored.", file=("audit.heads_file",)),
    Setting("audit_heads_url", ("POLLUX_AUDIT_HEADS_URL",), None, "url", None,
            "Where they post each signed head, as JSON.", file=("audit.heads_url",)),
    Setting("audit_heads_seconds", (), None, "count", "60",
            "How often they do so, in seconds.", file=("audit.heads_seconds",)),
    Setting("concurrency", ("POLLUX_CONCURRENCY",), "--concurrency", "slots", "50",
            "How many runs `pollux worker` drives at once; and `pollux serve` on PostgreSQL, while no worker is alive. "
            "With 0, a server never does.", file=("worker.concurrency",)),
    Setting("sandbox", ("POLLUX_SANDBOX",), "--sandbox", "sandbox", "auto",
            "Whether commands of agents run under bubblewrap: `auto` where it works, `required` or not at all, `off`.",
            file=("shell.sandbox",)),
    # Models
    Setting("model", (), "--model", "model", "the default model",
            "The model that answers: `gemini-…`, `claude-…`, `gpt-…` or `o<digit>…`, `ollama/<model>`, "
            "`openai:<base url>/<model>`.", file=("model",)),
    Setting("system_prompt", (), None, "text", None,
            "Instructions put before those of the profile.", file=("system_prompt",)),
    Setting("gemini_api_key", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "--api-key", "key", None,
            "The key for `gemini-…` models.", file=("gemini.api_key", "api_key"), dotenv=True),
    Setting("gemini_base_url", ("GOOGLE_GEMINI_BASE_URL",), None, "url", "https://generativelanguage.googleapis.com",
            "Where `gemini-…` models are asked.", file=("gemini.base_url",), dotenv=True),
    Setting("gemini_concurrency", (), None, "count", None,
            "How many `gemini-…` answers one process waits for at a time; the others queue.",
            file=("gemini.concurrency",)),
    Setting("anthropic_api_key", ("ANTHROPIC_API_KEY",), "--api-key", "key", None,
            "The key for `claude-…` models.", file=("anthropic.api_key",), dotenv=True),
    Setting("anthropic_base_url", ("ANTHROPIC_BASE_URL",), None, "url", "https://api.anthropic.com",
            "Where `claude-…` models are asked.", file=("anthropic.base_url",), dotenv=True),
    Setting("anthropic_concurrency", (), None, "count", None,
            "The same for `claude-…` models.", file=("anthropic.concurrency",)),
    Setting("openai_api_key", ("OPENAI_API_KEY",), "--api-key", "key", None,
            "The key for `gpt-…`, `o<digit>…` and `openai:…` models. Servers on your own machine often need none.",
            file=("openai.api_key",), dotenv=True),
    Setting("openai_base_url", ("OPENAI_BASE_URL",), None, "url", "https://api.openai.com/v1",
            "Where `gpt-…` and `o<digit>…` models are asked.", file=("openai.base_url",), dotenv=True),
    Setting("openai_concurrency", (), None, "count", None,
            "The same for `gpt-…` and `o<digit>…` models, and for each base URL of `openai:…` models.",
            file=("openai.concurrency",)),
    Setting("ollama_host", ("OLLAMA_HOST",), None, "host", "http://127.0.0.1:11434",
            "Where `ollama/…` models are asked. A bare host or `host:port` is taken as http.", file=("ollama.host",)),
    Setting("ollama_concurrency", (), None, "count", None,
            "The same for `ollama/…` models.", file=("ollama.concurrency",)),
    # Answers of models. A profile's `limits` go before these, and `[limits]` bounds both.
    Setting("answer_bytes", (), None, "count", "4194304",
            "How much text one answer of a model may hold, thoughts included. The rest of a longer one is not read.",
            file=("models.answer_bytes",)),
    Setting("answer_seconds", (), None, "count", "600",
            "How long one answer may take, from the call to its end.", file=("models.answer_seconds",)),
    Setting("idle_seconds", (), None, "count", "60",
            "How long nothing of an answer may arrive before the call has failed.", file=("models.idle_seconds",)),
    Setting("tries", (), None, "count", "4",
            "How often a model is called for one answer, where calls fail in passing before its first word. With 1, "
            "never again.", file=("models.tries",)),
    Setting("retry_seconds", (), None, "count", "30",
            "How long after the first of these calls the last may begin.", file=("models.retry_seconds",)),
    # Servers
    Setting("host", (), "--host", "text", "127.0.0.1",
            "The address `pollux serve` binds. A public one needs `POLLUX_TOKENS` or `POLLUX_OIDC_*`.",
            file=("serve.host",)),
    Setting("port", (), "--port", "port", "8642",
            "The port of `pollux serve`; 0 takes any free one.", file=("serve.port",)),
    Setting("gemini_emulator_port", (), None, "port", "8643",
            "The port of the Gemini emulator.", file=("emulator.gemini_port",)),
    Setting("workspace_emulator_port", (), None, "port", "8644",
            "The port of the workspace emulator.", file=("emulator.workspace_port",)),
    Setting("allowed_hosts", ("POLLUX_ALLOWED_HOSTS",), None, "hosts", None,
            "The host names that `pollux serve` may be reached by: `agent.example.com,10.0.0.5`. When not set: the "
            "names of loopback, or any on a public address.", file=("serve.allowed_hosts",)),
    Setting("public_url", ("POLLUX_PUBLIC_URL",), None, "url", None,
            "The address that browsers know `pollux serve` by, behind a proxy. With https, cookies are kept to it.",
            file=("serve.public_url",)),
    Setting("trusted_proxies", ("POLLUX_TRUSTED_PROXIES",), None, "hosts", None,
            "Addresses of proxies whose X-Forwarded-For is believed: `127.0.0.1,10.0.0.5`. Without them, all who come "
            "through a proxy and have no token share what one address may ask.", file=("serve.trusted_proxies",)),
    Setting("requests_per_minute", (), None, "count", "1200",
            "How many requests one user may make in a minute.", file=("serve.requests_per_minute",)),
    Setting("burst", (), None, "count", "200",
            "How many of them may come at once.", file=("serve.burst",)),
    Setting("tokens_per_day", (), None, "count", None,
            "How many tokens the runs of one user may spend in 24 hours, begun over HTTP.",
            file=("serve.tokens_per_day",)),
    Setting("visitor_tokens_per_day", (), None, "count", "1000000",
            "How many tokens all visitors of pages whom nobody knows may spend in 24 hours, together.",
            file=("serve.visitor_tokens_per_day",)),
    # Who may call
    Setting("tokens", ("POLLUX_TOKENS",), None, "tokens", None,
            "Users and their bearer tokens: `alice:TOKEN,bob:TOKEN`. A user may have several.", file=("tokens",)),
    Setting("token", ("POLLUX_TOKEN",), None, "key", None,
            "The token that commands with `--server` send; `$POLLUX_HOME/token` when not set."),
    Setting("oidc_issuer", ("POLLUX_OIDC_ISSUER",), None, "issuer", None,
            "Whose JWTs are accepted. Needs the audience too.", file=("oidc.issuer",)),
    Setting("oidc_audience", ("POLLUX_OIDC_AUDIENCE",), None, "text", None,
            "The audience a JWT must name.", file=("oidc.audience",)),
    Setting("oidc_jwks", ("POLLUX_OIDC_JWKS",), None, "place", None,
            "The issuer's keys, as an address or a file; the issuer's own discovery document when not set.",
            file=("oidc.jwks",)),
    Setting("oidc_keys_seconds", ("POLLUX_OIDC_KEYS_SECONDS",), None, "count", "600",
            "How long the issuer's keys are kept, in seconds: so long at most a token counts whose key was removed.",
            file=("oidc.keys_seconds",)),
    Setting("oidc_unknown_key_seconds", ("POLLUX_OIDC_UNKNOWN_KEY_SECONDS",), None, "count", "60",
            "How often at most they are read again for a token that names an unknown key, in seconds: so long at most "
            "a new key is refused.", file=("oidc.unknown_key_seconds",)),
    Setting("seal_key", ("POLLUX_SEAL_KEY",), None, "secret", None,
            "Seals the history a page keeps, and browsers' sessions; `$POLLUX_HOME/seal.key` when not set.",
            file=("seal_key",)),
    Setting("old_seal_keys", ("POLLUX_OLD_SEAL_KEYS",), None, "secret", None,
            "Former values of `POLLUX_SEAL_KEY`, separated by commas: what they sealed still opens. "
            "`pollux keys reseal` makes them unnecessary.", file=("old_seal_keys",)),
    # Google
    Setting("google_client_id", ("POLLUX_GOOGLE_CLIENT_ID",), None, "text", None,
            "The OAuth client that connects Google accounts.", file=("google.client_id",)),
    Setting("google_client_secret", ("POLLUX_GOOGLE_CLIENT_SECRET",), None, "secret", None,
            "That client's secret.", file=("google.client_secret",)),
    Setting("gmail_base_url", ("POLLUX_GMAIL_BASE_URL",), None, "origin", None,
            "Replaces scheme and host of Gmail's address; the paths stay Google's.", file=("google.gmail_base_url",)),
    Setting("calendar_base_url", ("POLLUX_CALENDAR_BASE_URL",), None, "origin", None,
            "Replaces scheme and host of Calendar's address; the paths stay Google's.",
            file=("google.calendar_base_url",)),
    Setting("google_oauth_base_url", ("POLLUX_GOOGLE_OAUTH_BASE_URL",), None, "origin", None,
            "Replaces scheme and host of Google's OAuth addresses; the paths stay Google's.",
            file=("google.oauth_base_url",)),
)  # fmt: skip

ANSWERS: Final = ("answer_bytes", "answer_seconds", "idle_seconds", "tries", "retry_seconds")
"""The settings that are limits of one answer. A profile's limits have the same names."""
FILES: Final = tuple(
    setting.name for setting in SETTINGS if setting.kind in ("path", "place") and setting.name != "home"
)
"""The settings that name a file, or may: no tool writes one. The folder and the store are hidden besides."""
BY_NAME: Final = {setting.name: setting for setting in SETTINGS}


def explain_missing(name: str, *, by_flag: bool = True) -> str:
    """The sentence for a setting that is needed and was found nowhere: what to set, and where else it may stand.

    `by_flag` says whether the command takes the setting's flag.
    """
    setting = BY_NAME.get(name)
    if setting is None:
        raise ConfigError(f"there is no setting '{name}'. The settings are: {', '.join(BY_NAME)}")
    ways: list[str] = []
    if setting.file:
        ways.append(f"put `{setting.file[-1]}` in the config file")
    if setting.flag and by_flag:
        ways.append(f"pass {setting.flag} on the command line")
    if not setting.env:
        return f"{name} is not set. " + " or ".join(ways).capitalize()
    return f"{setting.env[0]} is not set. " + ", or ".join(["Set it", *ways])
