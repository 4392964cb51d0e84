"""What a server and a worker have in common: an engine on the configured store, with its tools, its site's actions,
profiles and accounts.

With SQLite the process drives its own runs, and takes up what others left when they died. With PostgreSQL runs are
handed out by a queue, which sees to that by itself.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from pollux.bootstrap import Opened, Registry, google_of, http_for, running_engine, shared_store
from pollux.config import ConfigError, Rights, Settings, load_project
from pollux.config.profiles import DEFAULT, profiles_of, tools_named
from pollux.config.rights import WrittenProfile
from pollux.core.errors import PolluxError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.policy import Rule
from pollux.core.profile import DEFAULT_MODEL, Limits, Profile
from pollux.core.redact import Secret
from pollux.core.tools import Tool
from pollux.engine.engine import Engine
from pollux.engine.exposure import require_private
from pollux.engine.ports import Store
from pollux.tools.actions import (
    ActionRegistry,
    ActionTool,
    Handler,
    Plugin,
    action_tools,
    add_plugin,
    read_plugin,
    registered_handlers,
)
from pollux.tools.actions.controls import Control, controls_of
from pollux.tools.actions.folders import plugin_files
from pollux.tools.actions.registered import handler_for
from pollux.tools.demo_mail import demo_mail
from pollux.tools.masked import MaskedTool
from pollux.tools.registered import registered_tools
from pollux.witness import Take, Witness, to_file, to_url

if TYPE_CHECKING:
    from pollux.tools.google.account import Google

logger = logging.getLogger(__name__)

MODEL_CALLS = 3
PAGE: Final = "page"
"""The profile of visitors who name none."""
PAGE_LIMITS: Final = Limits(model_calls=8, approval_seconds=600, page_seconds=60)
"""Of a profile for pages, where it says nothing else."""
RECOVER_SECONDS = 5.0
BY_DOCUMENT: Final = "runbook"
"""The interface of runbooks."""
GRACE_SECONDS = 10.0
"""How long a process that stops lets go on what is under way."""


class Seat(Protocol):
    """Where tools that need the engine find it: it is made with them, so it comes after them."""

    def serve(self, engine: Engine) -> None: ...


class Documents(Protocol):
    """What runs documents beside prompts: tools and profiles of its own, that no prompt may use."""

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    @property
    def profiles(self) -> Mapping[str, Profile]: ...

    @property
    def host(self) -> Seat: ...

    def providers(self, others: Opened) -> Opened: ...


@frozen
class Service:
    """A running engine, what its site can do, and the accounts that its tools act for."""

    engine: Engine
    store: Store
    registry: ActionRegistry
    """Every action of the site: what its own pages may call."""
    actions: Mapping[str, ActionTool]
    """Those that are described, by the names that models know them by."""
    page_profiles: frozenset[str]
    """The profiles that a visitor may name."""
    serves_pages: bool = False
    """Whether visitors may talk to anything here."""
    page_origins: frozenset[str] = frozenset()
    """Pages elsewhere that may talk to them."""
    google: "Google | None" = None
    controls: tuple[Control, ...] = ()
    """What the site's contracts say of its pages' controls."""


@asynccontextmanager
async def running_service(
    settings: Settings,
    secrets: tuple[Secret, ...],
    *,
    stands_in: bool = False,
    documents: Documents | None = None,
) -> AsyncGenerator[Service]:
    """An engine that does its part of what is owed, closed at the end.

    `secrets` are kept out of what registered tools say. With PostgreSQL, one that `stands_in` takes on runs only while
    no worker is alive. With `documents` it runs those as well.
    """
    project = load_project(settings)
    apart = {tool.spec.name: tool for tool in documents.tools} if documents else {}
    async with AsyncExitStack() as stack:
        store, dispatcher = shared_store(settings, stands_in=stands_in)
        google = await stack.enter_async_context(google_of(settings, store))
        tools: dict[str, Tool] = {"demo_mail": demo_mail(settings.home / "outbox.jsonl")}
        tools |= {tool.spec.name: tool for tool in (google.tools if google else ())}
        registry = registry_of(project.rights)
        actions = action_tools(registry, taken=(*tools, *apart))
        # A package whose tool is called like an action does not take its place.
        own = (*tools, *actions, *apart)
        registered = registered_tools(project.rights.tools, wanted=tools_named(project.rights), own=own)
        profiles = _profiles(
            project.rights,
            settings,
            # An installed package offers nothing by being there: its tools are had by those who name them.
            tools=(*tools, *project.rights.tools),
            known=tuple(registered),
            actions=tuple(actions),
        )
        # Code of others: what it says goes to models and callers, and may hold what it was called with.
        tools |= {name: MaskedTool(tool, secrets) for name, tool in {**registered, **actions}.items()}
        told = {name: _told_first(profile, settings) for name, profile in profiles.items()}
        providers = Registry(settings)
        engine = await stack.enter_async_context(
            running_engine(
                settings,
                tools=(*tools.values(), *apart.values()),
                profiles=_with_documents(told, documents),
                rules=(*project.rights.rules, *kept_apart(documents.profiles if documents else ())),
                store=store,
                providers=documents.providers(providers) if documents else providers,
                dispatcher=dispatcher,
            )
        )
        if documents is not None:
            documents.host.serve(engine)
        if store.kind == "postgres" or settings.audit_heads_file or settings.audit_heads_url:
            witnessing = asyncio.create_task(_witness(settings, store, stack).serve())
            stack.push_async_callback(_stopped, witnessing)
        if dispatcher is None:
            await engine.recover()
            recovering = asyncio.create_task(_recover(engine))
            stack.push_async_callback(_stopped, recovering)
        page_profiles, origins = frozenset({PAGE, *project.rights.page_profiles}), project.rights.page_origins
        yield Service(
            engine,
            store,
            registry,
            actions,
            page_profiles,
            project.rights.serves_pages,
            frozenset(origins),
            google,
            controls_of(plugins_of(project.rights)),
        )


def plugins_of(rights: Rights) -> list[Plugin]:
    """The site's plugins. Raises ConfigError."""
    try:
        require_private(*plugin_files(rights.page_plugins))
        return [read_plugin(folder) for folder in rights.page_plugins]
    except ValidationError as problem:
        raise ConfigError(str(problem)) from problem


def registry_of(rights: Rights) -> ActionRegistry:
    """The site's actions: of its plugins, and those that a table names. Raises ConfigError."""
    registry, plugins = ActionRegistry(), plugins_of(rights)
    try:
        # A plugin without a module describes what tables and packages bring.
        wanted = {entry.name for plugin in plugins if plugin.python is None for entry in plugin.actions}
        brought = registered_handlers(rights.actions, wanted=wanted)
        for plugin in plugins:
            listed = None if plugin.python else _listed(plugin, brought)
            add_plugin(registry, plugin, listed)
            brought = [handler for handler in brought if handler not in (listed or ())]
        for handler in brought:
            registry.register(handler)
    except ValidationError as problem:
        raise ConfigError(str(problem)) from problem
    _tell_missing(plugins, registry)
    return registry


def _listed(plugin: Plugin, handlers: Iterable[Handler[..., Any]]) -> list[Handler[..., Any]]:
    known = list(handlers)
    found = (handler_for(entry.name, known) for entry in plugin.actions)
    return list(dict.fromkeys(handler for handler in found if handler is not None))


def _tell_missing(plugins: Iterable[Plugin], registry: ActionRegistry) -> None:
    every = [handler for name in registry.get_names() if (handler := registry.get(name)) is not None]
    for plugin in plugins:
        missing = [entry.name for entry in plugin.actions if handler_for(entry.name, every) is None]
        if missing:
            logger.warning("%s lists actions without a handler in Python: %s", plugin.manifest, ", ".join(missing))


def _profiles(
    rights: Rights, settings: Settings, *, tools: Collection[str], known: Collection[str], actions: Collection[str]
) -> dict[str, Profile]:
    """Every profile by name, `default` and `page` among them. Raises ConfigError."""
    written = {PAGE: WrittenProfile("", {}), **rights.profiles}
    for name, where in rights.page_profiles.items():
        if name not in {DEFAULT, *written}:
            names = ", ".join(sorted({DEFAULT, *written}))
            raise ConfigError(f"{where} names '{name}', but there is no such profile. Known: {names}")
    named = {PAGE, *rights.page_profiles}
    for_pages = {name: profile for name, profile in written.items() if name in named - {DEFAULT}}
    others = {name: profile for name, profile in written.items() if name not in for_pages}
    every = (*tools, *known, *actions)
    model, limits = settings.model or DEFAULT_MODEL, replace(PAGE_LIMITS, **settings.answers)
    found = profiles_of(replace(rights, profiles=for_pages), model=model, defaults=limits, tools=(), known=every)
    # The default profile is made by both, and is that of people.
    found |= profiles_of(
        replace(rights, profiles=others),
        model=model,
        defaults=Limits(model_calls=MODEL_CALLS, **settings.answers),
        tools=tools,
        known=every,
    )
    for name in named:
        if name not in written or "tools" not in written[name].table:
            found[name] = replace(found[name], tools=(*found[name].tools, *actions))
    return found


def _with_documents(profiles: Mapping[str, Profile], documents: Documents | None) -> dict[str, Profile]:
    """Those of documents beside the others. Raises ConfigError where one of the others is called so."""
    own: Mapping[str, Profile] = documents.profiles if documents else {}
    if taken := next((name for name in own if name in profiles), None):
        raise ConfigError(f"[profiles.{taken}] has the name of the profile that runs runbooks. Choose another one")
    return {**profiles, **own}


def kept_apart(profiles: Iterable[str]) -> list[Rule]:
    """Whoever may send a prompt can name any profile. By another door than that of documents, these may do nothing."""
    return [
        Rule(
            "deny",
            interface_not=(BY_DOCUMENT,),
            profile=name,
            tier="admin",
            priority=1_000_000,
            reason="this profile is for runbooks alone",
            name="runbooks alone",
            grantable=False,
        )
        for name in profiles
    ]


async def _recover(engine: Engine) -> None:
    """What other processes left when they died is taken up soon."""
    while True:
        await asyncio.sleep(RECOVER_SECONDS)
        if engine.is_draining:
            return
        try:
            await engine.recover()
        except PolluxError as problem:
            # One that was closed meanwhile has no store to look into.
            if not engine.is_draining:
                logger.warning("runs could not be looked for: %s", problem)


def _witness(settings: Settings, store: Store, stack: AsyncExitStack) -> Witness:
    """Gives the audit's heads to those whom the settings name."""
    places: list[Take] = []
    if settings.audit_heads_file:
        places.append(to_file(settings.audit_heads_file))
    if settings.audit_heads_url:
        http = http_for(settings.audit_heads_url)
        stack.push_async_callback(http.close)
        places.append(to_url(settings.audit_heads_url, http))
    return Witness(store, places, seconds=settings.audit_heads_seconds)


async def _stopped(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _told_first(profile: Profile, settings: Settings) -> Profile:
    """The configured instructions come before the profile's own."""
    told = [text for text in (settings.system_prompt, profile.instructions) if text]
    return replace(profile, instructions="\n\n".join(told))
