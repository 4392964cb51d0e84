"""An agent's definition, worked out once: its tools, its rules, its limits and the engine that they make.

Everything here is known when the agent is made, so whatever is wrong with it is said then. Keys and stores are looked
for when the engine is opened: they may come later, and may change.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pollux.bootstrap import Fixed, Registry, make_engine, open_store
from pollux.config import Rights, Settings, load_project, read_settings
from pollux.control import control_of
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.profile import DEFAULT_MODEL, Limits, Profile, bounded
from pollux.core.redact import Secret
from pollux.core.tools import Tool
from pollux.core.windows import window_of
from pollux.engine.engine import Engine
from pollux.engine.gate import Toolbox
from pollux.engine.model import Provider
from pollux.engine.perform import Instruct
from pollux.engine.ports import Clock, Store
from pollux.sdk import options
from pollux.sdk.collect import Workspace, bind, collect
from pollux.sdk.context import Widen
from pollux.sdk.policy import parts_of, policy_files, rules_of
from pollux.tools.shell.sandbox import Sandbox

if TYPE_CHECKING:
    from pollux.tools.skills import SkillDir

USER = UserId("local")
"""Whoever runs the script. The store is theirs; nobody else comes through this door."""


@frozen(kw_only=True)
class Given:
    """What the author said, as it was said."""

    tools: object
    skills: object
    model: object
    cwd: str | os.PathLike[str] | None
    compression_threshold: float | Literal[False]
    policy: object
    limits: Limits | Mapping[str, Any] | None
    store: object
    sandbox: Sandbox
    name: str
    door: str
    clock: Clock | None
    settings: Settings | None
    """Read already, by a door that has flags of its own."""
    obeyed: tuple[Path, ...] = ()
    """Files that instructions came from."""


@frozen(kw_only=True)
class Setup:
    """What one agent is."""

    name: str
    door: str
    clock: Clock | None
    workspace: Workspace
    model: str
    provider: Provider | None
    tools: tuple[Tool, ...]
    rules: tuple[Rule, ...]
    limits: Limits
    store: Store | Path | Secret | None
    skills_prompt: str
    preamble: str
    """What the configuration puts before every agent's instructions."""
    given_settings: Settings | None

    @property
    def cwd(self) -> Path:
        return self.workspace.root.path

    @property
    def profile(self) -> Profile:
        """Named after its tools: a run is gone on with by an agent that has them, not by any that shares the store."""
        return Profile(
            f"{self.door}:{self.name}:{_fingerprint(self.tools)}",
            model=self.model,
            tools=tuple(tool.spec.name for tool in self.tools),
            limits=self.limits,
        )

    @property
    def kept_rules(self) -> tuple[Rule, ...]:
        """What is kept with each run: a command says its rules once, a script says them again whenever it runs."""
        return self.rules if self.door == "cli" else ()

    def settings(self) -> Settings:
        """As environment and files have them now. Raises ConfigError."""
        return self.given_settings or settings_for(self.cwd, self.store)

    def store_path(self, settings: Settings) -> str:
        """Where sessions are kept, for those who list them."""
        if self.store is None or isinstance(self.store, Path | Secret):
            return str(settings.store)
        return f"({type(self.store).__name__})"

    def open_store(self, settings: Settings) -> Store:
        """The author's store, or the configured one."""
        return open_store(settings) if self.store is None or isinstance(self.store, Path | Secret) else self.store

    def rights(self, settings: Settings) -> Rights:
        """The rules in force, and what bounds the limits: the author's, and what the project's file narrows."""
        rights = load_project(settings).rights
        return replace(rights, rules=(*rights.rules, *self.rules))


def set_up(given: Given, widen: Widen) -> Setup:
    """Work the definition out. Raises ValidationError for what does not fit, ConfigError for broken files."""
    store = options.store(given.store)
    cwd = options.directory(given.cwd)
    settings = given.settings or settings_for(cwd, store)
    skills = options.skills(given.skills)
    policy = parts_of(given.policy)
    named = [*policy_files(policy), *(each.path.absolute() for each in skills), *given.obeyed]
    box = _stricter(options.one_of("sandbox", given.sandbox, get_args(Sandbox)), settings.sandbox)
    workspace = make_workspace(cwd, settings, box, named=named)
    skill_prompt, skill_tools = _skills(skills)
    model, provider = model_and_provider(given.model, settings)
    share = options.compression(given.compression_threshold)
    found = [*collect(given.tools, workspace), *skill_tools]
    return Setup(
        name=options.name(given.name),
        door=given.door,
        clock=given.clock,
        given_settings=given.settings,
        workspace=workspace,
        model=model,
        provider=provider,
        tools=tuple(Toolbox(bind(found, widen)).values()),
        rules=rules_of(policy),
        limits=replace(options.limits(given.limits, settings.answers), compress_at=_compress_at(share, model)),
        store=store,
        skills_prompt=skill_prompt,
        preamble=settings.system_prompt or "",
    )


def engine_for(setup: Setup, rights: Rights, instruct: Instruct, providers: Registry | Fixed, store: Store) -> Engine:
    """The agent's engine, not open yet."""
    profile = setup.profile
    profile = replace(profile, limits=bounded(profile.limits, rights.limits))
    return make_engine(
        store,
        providers,
        tools=setup.tools,
        profiles={profile.name: profile},
        rules=rights.rules,
        instruct=instruct,
        clock=setup.clock,
    )


def settings_for(cwd: Path, store: Store | Path | Secret | None) -> Settings:
    """The settings, with a store that the author names in place of the configured one."""
    named = store.reveal() if isinstance(store, Secret) else str(store)
    flags = {"store": named} if isinstance(store, Path | Secret) else {}
    return read_settings(os.environ, cwd=cwd, flags=flags)


def _stricter(asked: Sandbox, configured: Sandbox) -> Sandbox:
    """What the author says, unless the person's configuration requires a sandbox."""
    return configured if configured == "required" or asked == "auto" else asked


def make_workspace(cwd: Path, settings: Settings, sandbox: Sandbox, *, named: Iterable[Path] = ()) -> Workspace:
    """The directory and what runs in it. What decides what an agent may do is out of reach of both."""
    control = control_of(settings, cwd, named=named)
    return Workspace(control.root_at(cwd), control.runner_at(cwd, sandbox))


def model_and_provider(model: object, settings: Settings) -> tuple[str, Provider | None]:
    """The model's name, and the provider where the author brought one."""
    if model is None:
        return settings.model or DEFAULT_MODEL, None
    if isinstance(model, str):
        return model, None
    if callable(getattr(model, "stream", None)) and isinstance(getattr(model, "name", None), str):
        provider: Any = model
        return provider.name, provider
    raise ValidationError(f"model must be a model's name or a provider, found {type(model).__name__}")


def _skills(given: "tuple[SkillDir, ...]") -> tuple[str, list[Tool]]:
    """What the model is told of the skills, and the tools to use them by."""
    if not given:
        return "", []
    from pollux.tools.skills import load_skills, skill_tools, skills_prompt

    skills = load_skills(given)
    return skills_prompt(skills), list(skill_tools(skills))


def _compress_at(share: float | None, model: str) -> int | None:
    """The share of the model's window, in tokens."""
    return None if share is None else max(1, int(share * window_of(model)))


def with_output(profile: Profile, schema: Mapping[str, JSON]) -> Profile:
    """The profile for a prompt that wants its answer in this shape."""
    mark = hashlib.sha256(repr(sorted(schema.items(), key=str)).encode()).hexdigest()[:8]
    return replace(profile, name=f"{profile.name}:{mark}", output_schema=schema)


def _fingerprint(tools: Sequence[Tool]) -> str:
    hashes = sorted(tool.spec.schema_hash for tool in tools)
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:8]
