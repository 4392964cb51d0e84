"""What `--profile` and the `[tools]` tables of the configuration give to `pollux run` and `pollux chat`.

A profile gives its instructions, model, tools, rules and limits. Without one, the tools of the `[tools]` tables are
offered beside files and commands.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pollux.config import ConfigError, Settings, load_project
from pollux.core.frozen import frozen
from pollux.core.policy import Rule
from pollux.core.profile import Limits

if TYPE_CHECKING:
    from pollux.config import Rights
    from pollux.core.redact import Secret
    from pollux.core.tools import Tool

OWN = ("read_file", "list_directory", "glob", "search", "write_file", "replace", "shell")
"""The tools of the sets `files` and `shell`."""


@frozen
class Outfit:
    """What an agent of the command line is made with."""

    tools: tuple[Any, ...] = ("files", "shell")
    instructions: str = ""
    rules: tuple[Rule, ...] = ()
    limits: Limits = Limits()


def model_of(settings: Settings, profile: str | None) -> str | None:
    """The model that a profile names. Raises ConfigError where there is no such profile."""
    if profile is None:
        return None
    project = load_project(settings)
    written = project.rights.profiles.get(profile)
    if written is None:
        known = ", ".join(sorted(project.rights.profiles)) or "none"
        pending = any(each.part == f"profiles.{profile}" and each.is_pending for each in project.left_out)
        hint = f". {project.path} has it, but is not accepted: pollux trust ." if pending else ""
        raise ConfigError(f"--profile: there is no profile {profile!r}. Known: {known}{hint}", code="usage")
    model = written.table.get("model")
    return model if isinstance(model, str) else None


def outfit_of(settings: Settings, profile: str | None) -> Outfit:
    """What the agent is made with. Raises ConfigError, or ValidationError with code `config` for a broken tool."""
    rights = load_project(settings).rights
    if profile is None:
        # Those of packages are for profiles that name them.
        tables = replace(rights, profiles={})
        named = configured_tools(tables, settings.secrets()).values() if rights.tools else ()
        return Outfit(("files", "shell", *named), limits=Limits(**settings.answers))
    from pollux.config.profiles import profiles_of

    chosen = replace(rights, profiles={profile: rights.profiles[profile]})
    registered = configured_tools(chosen, settings.secrets())
    made = profiles_of(
        chosen,
        model=settings.model or "",
        defaults=Limits(**settings.answers),
        tools=(*OWN, *rights.tools),
        known=(*OWN, *registered),
    )[profile]
    own = frozenset(made.tools) & frozenset(OWN)
    tools = (_some(own), *(tool for name, tool in registered.items() if name in made.tools))
    # Written for the profile by its name; here they are the agent's own.
    rules = tuple(replace(rule, profile="*") for rule in made.rules)
    return Outfit(tools, made.instructions, rules, made.limits)


def require_known_tools(allowed: Iterable[str], rules: Iterable[Rule], tools: "Iterable[Tool]") -> None:
    """Raises ConfigError where a rule of `--allow` names no tool that is there."""
    names = sorted(tool.spec.name for tool in tools)
    for text, rule in zip(allowed, rules, strict=True):
        if not any(fnmatchcase(name, rule.tool) for name in names):
            near = get_close_matches(rule.tool, names, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            listed = ", ".join(names)
            raise ConfigError(f"--allow {text}: unknown tool {rule.tool!r}. {hint}The tools: {listed}", code="usage")


def configured_tools(rights: "Rights", secrets: "Iterable[Secret]", own: Collection[str] = OWN) -> "dict[str, Tool]":
    """The tools of the `[tools]` tables, and those of packages that one of these profiles names.

    Raises ValidationError with code `config` for a broken one, and for one that has the name of one of our `own`.
    """
    from pollux.config.profiles import tools_named
    from pollux.tools.masked import MaskedTool
    from pollux.tools.registered import registered_tools

    found = registered_tools(rights.tools, wanted=tools_named(rights), own=own)
    kept = tuple(secrets)
    return {name: MaskedTool(tool, kept) for name, tool in found.items()}


def _some(names: frozenset[str]) -> Any:
    """A set with these of our own tools."""
    from pollux.sdk.collect import ToolSet, Workspace, files, shell

    def make(workspace: Workspace) -> "list[Tool]":
        return [tool for each in (files, shell) for tool in each.make(workspace) if tool.spec.name in names]

    return ToolSet("profile", make)
