"""The composition root: the only module that picks adapters. Everything is made from settings, nothing is guessed."""

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, assert_never

from pollux.config import ConfigError, ProviderName, Settings, explain_missing, model_ref
from pollux.config.exposed import warn_of_readable
from pollux.core.errors import MissingCredential, ValidationError
from pollux.core.policy import Rule
from pollux.core.profile import Profile
from pollux.core.redact import Secret
from pollux.core.tools import Tool
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine
from pollux.engine.exposure import grave
from pollux.engine.model import ModelEvent, ModelInfo, ModelRequest, Provider, Providers
from pollux.engine.perform import Instruct, fixed_instructions
from pollux.engine.ports import Clock, Dispatcher, Store
from pollux.engine.system import SystemClock
from pollux.engine.untrusted import read_small
from pollux.providers import reach
from pollux.providers.bounded import Bounded
from pollux.telemetry import traced_provider, traced_tool, tracer

if TYPE_CHECKING:
    from pollux.providers.http import Http
    from pollux.stores.postgres.examination import Examination
    from pollux.stores.postgres.writing import Beside
    from pollux.tools.google.account import Google

KEY_BYTES = 32
LARGEST_KEY = 4096
"""Bytes of a file with a key or a token."""
SHORTEST_KEY = 16
"""Of a key that a person chose."""
# Not what a change of keys was writing when it was killed: that has letters, or twelve digits.
_FORMER = re.compile(r"seal\.key\.([1-9][0-9]{0,8})")
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


@asynccontextmanager
async def running_engine(
    settings: Settings,
    *,
    tools: Iterable[Tool] = (),
    profiles: Mapping[str, Profile] | None = None,
    rules: Sequence[Rule] = (),
    instruct: Instruct = fixed_instructions,
    store: Store | None = None,
    providers: "Opened | None" = None,
    dispatcher: Dispatcher | None = None,
) -> AsyncGenerator[Engine]:
    """An engine on the configured store with the configured providers, closed at the end."""
    providers = providers or Registry(settings)
    engine = make_engine(
        store or open_store(settings),
        providers,
        tools=tools,
        profiles=profiles,
        rules=rules,
        instruct=instruct,
        dispatcher=dispatcher,
    )
    try:
        async with engine:
            yield engine
    finally:
        await providers.close()


def make_engine(
    store: Store,
    providers: Providers,
    *,
    tools: Iterable[Tool] = (),
    profiles: Mapping[str, Profile] | None = None,
    rules: Sequence[Rule] = (),
    instruct: Instruct = fixed_instructions,
    clock: Clock | None = None,
    dispatcher: Dispatcher | None = None,
) -> Engine:
    """An engine, to be opened and closed by whoever made it. Without a dispatcher it drives its runs itself."""
    clock = clock or SystemClock()
    return Engine(
        store=store,
        providers=providers,
        tools=[traced_tool(tool, tracer()) for tool in tools],
        profiles=profiles,
        rules=rules,
        instruct=instruct,
        clock=clock,
        dispatcher=dispatcher or LocalDispatcher(clock),
    )


def shared_store(settings: Settings, *, stands_in: bool) -> tuple[Store, Dispatcher | None]:
    """The store that the settings name, and with PostgreSQL the queue in it that hands runs to workers.

    With a concurrency this process is one of them; one that `stands_in` is one only while there is no other.
    """
    if not isinstance(settings.store, Secret):
        return open_store(settings, warns=True), None
    _check_postgres()
    from pollux.dispatch.queue.dispatcher import ProcrastinateDispatcher

    direct = settings.pg_listen_url or settings.store
    try:
        queue = ProcrastinateDispatcher(
            direct, clock=SystemClock(), concurrency=settings.concurrency, stands_in=stands_in
        )
    except ValidationError as problem:
        raise ConfigError(
            f"{'POLLUX_PG_LISTEN_URL' if settings.pg_listen_url else 'POLLUX_STORE'}: {problem}"
        ) from None
    return _postgres(settings.store, settings, beside=queue.beside), queue


def open_store(settings: Settings, *, warns: bool = False) -> Store:
    """The store that the settings name. It is opened by the engine; one that `warns` says what an old SQLite risks."""
    if isinstance(settings.store, Secret):
        return _postgres(settings.store, settings)
    from pollux.stores.sqlite import SqliteStore

    make_home(settings.home)
    # Not `Path.is_dir`, which raises where the way there may not be looked at; opening it says why.
    if os.path.isdir(settings.store):
        raise ConfigError(f"{settings.store} is a folder. Give the path of a file for the store")
    if os.path.exists(settings.store) and not os.path.isfile(settings.store):
        raise ConfigError(f"{settings.store} is not a regular file. Give the path of one for the store")
    try:
        _make_folders(settings.store.parent)
    except OSError as error:
        raise ConfigError(f"{settings.store.parent} cannot be made ({error.strerror}). Give another store") from error
    heads, elsewhere = _heads_of(settings.store, settings.home), settings.audit_heads_file
    _refuse_exposed(settings.store, heads)
    warn_of_readable(settings)
    key = read_key(settings.home / "audit.key")
    return SqliteStore(settings.store, key=key, heads=heads, elsewhere=elsewhere, warns=warns)


async def examine_postgres(settings: Settings) -> "Examination":
    """How the PostgreSQL store, its server and its queue are. Makes nothing. Raises ConfigError and StoreError."""
    _check_postgres()
    from pollux.stores.postgres.examination import examine

    assert isinstance(settings.store, Secret)
    key_file = settings.home / "audit.key"
    try:
        key = read_key(key_file) if key_file.exists() else None
        return await examine(settings.store, settings.pg_listen_url, key=key)
    except ValidationError as problem:
        raise ConfigError(f"POLLUX_STORE or POLLUX_PG_LISTEN_URL: {problem}") from None


def _check_postgres() -> None:
    missing = [name for name in ("psycopg", "procrastinate") if not _is_installed(name)]
    if missing:
        raise ConfigError(f"a PostgreSQL store needs {' and '.join(missing)}: pip install 'pollux[postgres]'")


def _postgres(url: Secret, settings: Settings, *, beside: "Beside | None" = None) -> Store:
    _check_postgres()
    from pollux.stores.postgres.address import Address
    from pollux.stores.postgres.store import PostgresStore

    make_home(settings.home)
    try:
        named = str(Address(url))
    except ValidationError as problem:
        raise ConfigError(f"POLLUX_STORE: {problem}") from None
    heads = settings.home / f"audit-heads.{hashlib.sha256(named.encode()).hexdigest()[:16]}.jsonl"
    _refuse_exposed(heads)
    warn_of_readable(settings)
    key = read_key(settings.home / "audit.key")
    return PostgresStore(
        url,
        key=key,
        heads=heads,
        elsewhere=settings.audit_heads_file,
        listen_url=settings.pg_listen_url,
        beside=beside,
    )


def _heads_of(store: Path, home: Path) -> Path:
    """Where a store's audit heads go. By its path, which nobody can change from inside it; never two into one file."""
    own, path = home / "pollux.db", os.path.realpath(store)
    if path == os.path.realpath(own):
        return home / "audit-heads.jsonl"
    return home / f"audit-heads.{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}.jsonl"


def seal_keys(settings: Settings) -> tuple[bytes, ...]:
    """The key that seals, then those that sealed before and still open. Raises ConfigError."""
    old = settings.old_seal_keys.reveal().split(",") if settings.old_seal_keys else []
    keys = [key.strip().encode() for key in old if key.strip()]
    if settings.seal_key is not None:
        keys.insert(0, settings.seal_key.reveal().encode())
    if any(len(key) < SHORTEST_KEY for key in keys):
        # Whoever has one cookie can try keys against it for as long as they like.
        raise ConfigError(f"POLLUX_SEAL_KEY must hold at least {SHORTEST_KEY} bytes. `openssl rand -hex 32` makes one")
    if settings.seal_key is None:
        make_home(settings.home)
    # Whoever moves from the file to the environment, or back, has sealed with what lies there.
    files = [settings.home / "seal.key"] if settings.seal_key is None or (settings.home / "seal.key").exists() else []
    files += [settings.home / f"seal.key.{number}" for number in reversed(_former(settings.home))]
    own = [read_key(path) for path in files]
    return (*keys, *own) if settings.seal_key is not None else (*own, *keys)


def new_seal_key(settings: Settings) -> Path:
    """Put a new key in place, and the former one beside it: that path. Raises ConfigError."""
    if settings.seal_key is not None:
        raise ConfigError(
            "the key is in POLLUX_SEAL_KEY. Put a new one there and the former one into POLLUX_OLD_SEAL_KEYS, then run"
            " `pollux keys reseal`"
        )
    make_home(settings.home)
    present = settings.home / "seal.key"
    try:
        # Of two who change keys at once, the second must find what the first has put there: else that one is lost.
        with open(settings.home / "seal.key-lock", "wb", opener=_privately) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = settings.home / f"seal.key.{max(_former(settings.home), default=0) + 1}"
            # The former one first, under both names: whenever this stops, everything that was sealed can be opened.
            _put_first(kept, read_key(present))
            draft = settings.home / f"seal.key-{secrets.token_hex(6)}"
            _put_first(draft, secrets.token_bytes(KEY_BYTES))
            draft.replace(present)
    except OSError as error:
        raise ConfigError(f"{settings.home} cannot be written ({error.strerror}). Check POLLUX_HOME") from error
    return kept


def _former(home: Path) -> list[int]:
    """The numbers of the former keys, oldest first."""
    names = os.listdir(home) if home.is_dir() else []
    return sorted(int(found[1]) for name in names if (found := _FORMER.fullmatch(name)))


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK, 0o600)


@asynccontextmanager
async def google_of(settings: Settings, store: Store) -> "AsyncGenerator[Google | None]":
    """Google's tools and the client that connects accounts, where one is configured. Raises ConfigError."""
    client_id, client_secret = settings.google_client_id, settings.google_client_secret
    if client_id is None and client_secret is None:
        yield None
        return
    if client_id is None or client_secret is None:
        raise ConfigError("POLLUX_GOOGLE_CLIENT_ID and POLLUX_GOOGLE_CLIENT_SECRET are needed together")
    missing = [name for name in ("google.auth", "email_validator", "cryptography") if not _is_installed(name)]
    if missing:
        raise ConfigError(f"Google accounts need {', '.join(missing)}: pip install 'pollux[google]'")
    from pollux.tools.google import account, api, connection, oauth, seal, toolset

    keys = seal_keys(settings)
    connections = connection.Connections(store, seal.Sealer(keys, renew=lambda: seal_keys(settings)))
    gmail = settings.gmail_base_url or toolset.GMAIL_BASE
    calendar = settings.calendar_base_url or toolset.CALENDAR_BASE
    from pollux.providers.http import AiohttpHttp

    bases = (gmail, calendar, settings.google_oauth_base_url)
    # No proxy has any business with what is on this machine, here as with models.
    is_here = all(base is not None and reach.is_loopback(base) for base in bases)
    # Not the light client: that one asks a second time where a kept connection breaks, and what it repeats is a mail.
    http = AiohttpHttp(proxies_from_environment=not is_here and _names_proxy(os.environ))
    client: oauth.GoogleOAuth | None = None
    try:
        client = oauth.GoogleOAuth(
            client_id=client_id,
            client_secret=client_secret,
            connections=connections,
            http=http,
            base=settings.google_oauth_base_url,
            state_key=keys[0],
            connect_path=f"{settings.public_url or ''}/api/google/connect",
        )
        tools = toolset.google_tools(
            api.GoogleApi(http, client, gmail), api.GoogleApi(http, client, calendar), accounts=client
        )
        yield account.Google(client, connections, tools)
    finally:
        if client is not None:
            await client.close()
        await http.close()


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def memory_store() -> Store:
    """A store that forgets everything with the process."""
    from pollux.stores.memory import MemoryStore

    return MemoryStore()


def make_home(home: Path) -> None:
    """The place for state, for its owner alone. Raises ConfigError, also where others can change what is there."""
    try:
        _make_folders(home.parent)
        home.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{home} cannot be made ({error.strerror}). Check POLLUX_HOME") from error
    _refuse_exposed(home)


def _make_folders(path: Path) -> None:
    """The folder and those above it, never for everybody to write to, whatever the umask is. Raises OSError."""
    if not path.is_dir():
        _make_folders(path.parent)
        path.mkdir(mode=0o755, exist_ok=True)


def read_key(path: Path) -> bytes:
    """The key in this file, made on first use, readable by its owner alone."""
    key, _ = made_once(path, lambda: secrets.token_bytes(KEY_BYTES))
    if len(key) != KEY_BYTES:
        raise ConfigError(f"{path} should hold {KEY_BYTES} bytes, but holds {len(key)}. Restore it from a backup")
    return key


def made_once(path: Path, make: Callable[[], bytes]) -> tuple[bytes, bool]:
    """What is in this file, and whether it was made just now. It is for its owner's eyes alone. Raises ConfigError."""
    _refuse_exposed(path, is_secret=True)
    try:
        try:
            return read_small(path, most=LARGEST_KEY), False
        except FileNotFoundError:
            is_new = _put_first(path, make())
        return read_small(path, most=LARGEST_KEY), is_new
    except OSError as error:
        raise ConfigError(f"{path} cannot be made or read ({error.strerror}). Check POLLUX_HOME") from error


def _refuse_exposed(*paths: Path, is_secret: bool = False) -> None:
    if problem := grave(paths, is_secret=is_secret):
        raise ConfigError(problem)


def _put_first(path: Path, content: bytes) -> bool:
    """Write it there, whole, unless somebody was faster: then False. Raises OSError."""
    # Made complete under another name and linked into place: two first starts agree on one, and neither reads half of
    # it.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


class Opened(Providers, Protocol):
    """Providers that hold something open."""

    async def close(self) -> None: ...


class Registry:
    """Finds the provider for a model's name, and makes each one once."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
        self._settings = settings
        self._environ = environ
        self._made: dict[tuple[str, str, bool], Provider] = {}

    def __call__(self, model: str) -> Provider:
        """Raises ValidationError for a name of no known form, MissingCredential where a key is needed and missing."""
        try:
            ref = model_ref(model)
        except ConfigError as problem:
            raise ValidationError(str(problem), code="usage") from None
        provider = self._provider(ref.provider, ref.base_url, is_keyless=ref.is_keyless)
        return provider if ref.name == model else Renamed(provider, ref.name)

    async def close(self) -> None:
        for provider in self._made.values():
            await provider.close()

    def _provider(self, name: ProviderName, base_url: str | None, *, is_keyless: bool) -> Provider:
        key = (name, base_url or "", is_keyless)
        known = self._made.get(key)
        if known is None:
            known = self._make(name, base_url, is_keyless=is_keyless)
            most = getattr(self._settings, f"{name}_concurrency")
            known = self._made[key] = Bounded(known, most) if most is not None else known
        return known

    def _make(self, name: ProviderName, base_url: str | None, *, is_keyless: bool) -> Provider:
        settings = self._settings
        match name:
            case "gemini":
                from pollux.providers.gemini import GeminiProvider

                key, url = _needed(settings.gemini_api_key, "gemini_api_key"), settings.gemini_base_url
                return traced_provider(GeminiProvider(key, url, self._http(url)), tracer(), base_url=url)
            case "anthropic":
                from pollux.providers.anthropic import AnthropicProvider

                key, url = _needed(settings.anthropic_api_key, "anthropic_api_key"), settings.anthropic_base_url
                return traced_provider(AnthropicProvider(key, url, self._http(url)), tracer(), base_url=url)
            case "openai" | "ollama":
                from pollux.providers.openai import OpenAIProvider

                if name == "ollama":
                    key, url = None, settings.ollama_host.rstrip("/") + "/v1"
                elif base_url is not None:
                    key, url = None if is_keyless else settings.openai_api_key, base_url
                else:
                    key, url = _needed(settings.openai_api_key, "openai_api_key"), settings.openai_base_url
                return traced_provider(OpenAIProvider(key, url, self._http(url)), tracer(), base_url=url)
            case _:
                assert_never(name)

    def _http(self, base_url: str) -> "Http":
        return http_for(base_url, self._environ)


def http_for(base_url: str, environ: Mapping[str, str] = os.environ) -> "Http":
    """The light client, or the one that knows proxies where the environment names one."""
    reach.check(base_url)
    if not reach.is_loopback(base_url) and _names_proxy(environ):
        from pollux.providers.http import AiohttpHttp

        return AiohttpHttp(proxies_from_environment=True)
    from pollux.providers.light import LightHttp

    return LightHttp()


def _names_proxy(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for proxy in _PROXIES for name in (proxy, proxy.lower()))


class Fixed:
    """One provider for whatever model is named. Whoever brought it closes it."""

    def __init__(self, provider: Provider) -> None:
        self._provider = traced_provider(provider, tracer())

    def __call__(self, model: str) -> Provider:
        return self._provider

    async def close(self) -> None:
        """Nothing of ours is open."""


class Renamed:
    """A provider asked for a model by the name it knows, where ours carries more than that."""

    def __init__(self, provider: Provider, model: str) -> None:
        self._provider = provider
        self._model = model

    @property
    def name(self) -> str:
        return self._provider.name

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        return self._provider.stream(replace(request, model=self._model))

    async def count_tokens(self, request: ModelRequest) -> int:
        return await self._provider.count_tokens(replace(request, model=self._model))

    async def models(self) -> tuple[ModelInfo, ...]:
        return await self._provider.models()

    async def close(self) -> None:
        await self._provider.close()


def _needed(key: Secret | None, name: str) -> Secret:
    if key is None:
        raise MissingCredential(explain_missing(name, by_flag=False))
    return key
