"""What an `agent` block is told: whom to ask, what, and with which capabilities.

Read as the first specification reads it: a wrong `source` or `capabilities` is an error, a wrong `name` or `prompt`
falls back to its default, and what is not known is passed over.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, Literal

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.runbooks.documents.model import Block, as_list, as_object, place_of

ModelMaker = Literal["atuinHub", "claude", "openAI", "ollama"]
MAKERS: Final[tuple[ModelMaker, ...]] = ("atuinHub", "claude", "openAI", "ollama")

_CAPABILITIES: Final = {
    "readFiles": "read_files",
    "writeFiles": "write_files",
    "executeCommands": "execute_commands",
    "alwaysAllowTools": "always_allow_tools",
}
UNNAMED_AGENT: Final = "Agent"
"""What an agent block without a name is called."""
Wrong = Callable[[str], ValidationError]


@frozen(kw_only=True)
class AgentCapabilities:
    """What the agent may do. The last two are requests: a person confirms them before they count."""

    read_files: bool = False
    write_files: bool = False
    execute_commands: bool = False
    always_allow_tools: bool = False

    def as_json(self) -> dict[str, JSON]:
        """As documents have it."""
        return {key: getattr(self, name) for key, name in _CAPABILITIES.items()}


@frozen
class ModelSelection:
    """A model as Atuin names it, by its maker; or, without a maker, as Pollux names it."""

    model: str
    maker: ModelMaker | None = None
    uri: str | None = None


@frozen
class InternalSource:
    """Our own agent. Without a model, the workspace's, then the person's own. The profile is one of a person's own."""

    model: ModelSelection | None = None
    profile: str = ""

    def model_name(self) -> str:
        """The model as Pollux names it; empty for none. Raises ValidationError for one of Atuin's hub."""
        selection = self.model
        if selection is None:
            return ""
        match selection.maker:
            case None | "claude":
                return selection.model
            case "openAI":
                return f"openai:{selection.uri.rstrip('/')}/{selection.model}" if selection.uri else selection.model
            case "ollama" if selection.uri:
                # Ollama speaks OpenAI's protocol under /v1, and its own name has no place for an address.
                return f"openai:{selection.uri.rstrip('/').removesuffix('/v1')}/v1/{selection.model}"
            case "ollama":
                return f"ollama/{selection.model}"
            case "atuinHub":
                raise ValidationError(
                    f"the model '{selection.model[:80]}' belongs to Atuin Hub, which Pollux cannot ask. Choose another"
                    ' one, such as {"type": "claude", "data": {"model": "claude-…"}} or "gemini-…"'
                )


@frozen
class AcpSource:
    """A program that speaks the Agent Client Protocol."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])


@frozen
class AgentBlock:
    """An agent block, typed. `prompt`, `system_prompt` and `working_directory` are templates."""

    id: str
    name: str
    source: AcpSource | InternalSource
    prompt: str = ""
    system_prompt: str | None = None
    capabilities: AgentCapabilities = AgentCapabilities()
    timeout_seconds: int | None = None
    working_directory: str | None = None


def agent_of(block: Block) -> AgentBlock:
    """What this block is told. Raises ValidationError with the block and its line."""
    props = block.props
    if "source" not in props:
        kinds = 'either {"type": "internal"} or {"type": "acp", "command": "gemini"}'
        raise ValidationError(f"Missing source {place_of(block)}. Expected {kinds}")
    return AgentBlock(
        id=block.id,
        name=_text(props, "name", UNNAMED_AGENT),
        source=_source(props["source"], block),
        prompt=_text(props, "prompt", ""),
        system_prompt=_text_or_none(props, "systemPrompt"),
        capabilities=_capabilities(props, block),
        timeout_seconds=_seconds(props.get("timeoutSeconds")),
        working_directory=_text_or_none(props, "workingDirectory"),
    )


def agent_warnings(block: Block) -> list[str]:
    """What is written there and does not mean what it seems to."""
    found: list[str] = []
    capabilities = as_object(block.props.get("capabilities")) or {}
    found += [f"'{key[:80]}' is no capability, and is passed over" for key in capabilities if key not in _CAPABILITIES]
    if (source := as_object(block.props.get("source"))) and source.get("type") == "acp" and not source.get("command"):
        found.append("source: `command` is empty, so there is nothing to start")
    for key in ("name", "prompt", "systemPrompt", "workingDirectory"):
        if block.props.get(key) is not None and _text_or_none(block.props, key) is None:
            found.append(f"{key}: expected text, so it counts as not given")
    return found


def _text(props: Mapping[str, JSON], key: str, default: str) -> str:
    value = props.get(key)
    return value if isinstance(value, str) else default


def _text_or_none(props: Mapping[str, JSON], key: str) -> str | None:
    value = props.get(key)
    return value if isinstance(value, str) else None


def _seconds(value: JSON) -> int | None:
    """A whole number. Nothing is run of a document in which it is anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _source(value: JSON, block: Block) -> AcpSource | InternalSource:
    def wrong(text: str) -> ValidationError:
        return ValidationError(f"Invalid source: {text} {place_of(block)}")

    told = as_object(value)
    if told is None:
        raise wrong(f"expected an object, found {_kind(value)}")
    if "type" not in told:
        raise wrong("missing field `type`, expected `acp` or `internal`")
    if told["type"] == "internal":
        profile = told.get("profile")
        if not isinstance(profile, str | None):
            raise wrong(f"`profile`: expected text, found {_kind(profile)}")
        return InternalSource(_model(told.get("model"), wrong), profile or "")
    if told["type"] != "acp":
        found = f"`{told['type'][:80]}`" if isinstance(told["type"], str) else _kind(told["type"])
        raise wrong(f"unknown variant {found}, expected `acp` or `internal`")
    if "command" not in told:
        raise wrong("missing field `command`, the program to start or a name of the agents registry")
    command = told["command"]
    if not isinstance(command, str):
        raise wrong(f"`command`: expected text, found {_kind(command)}")
    return AcpSource(command, _args(told.get("args", []), wrong), _env(told.get("env", {}), wrong))


def _args(value: JSON, wrong: Wrong) -> tuple[str, ...]:
    items = as_list(value)
    if items is None:
        raise wrong(f"`args`: expected a list of texts, found {_kind(value)}")
    for item in items:
        if not isinstance(item, str):
            raise wrong(f"`args`: expected texts, found {_kind(item)} among them. Put it in quotes")
    return tuple(items)


def _env(value: JSON, wrong: Wrong) -> dict[str, str]:
    members = as_object(value)
    if members is None:
        raise wrong(f"`env`: expected an object of texts, found {_kind(value)}")
    for name, item in members.items():
        if not name or "=" in name:
            raise wrong(f"`env`: '{name[:80]}' cannot be the name of a variable")
        if not isinstance(item, str):
            raise wrong(f"`env`: expected text for '{name[:80]}', found {_kind(item)}. Put it in quotes")
    return dict(members)


def _model(value: JSON, wrong: Wrong) -> ModelSelection | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return ModelSelection(value)
    selection = as_object(value)
    if selection is None:
        raise wrong(f"`model`: expected an object or a model's name, found {_kind(value)}")
    maker = selection.get("type")
    if maker not in MAKERS:
        found = f"`{maker[:80]}`" if isinstance(maker, str) else _kind(maker)
        raise wrong(f"`model`: unknown variant {found}, expected one of {', '.join(MAKERS)}")
    told = as_object(selection.get("data"))
    if told is None:
        raise wrong(f"`model`: expected `data` with the model's name, found {_kind(selection.get('data'))}")
    model, uri = told.get("model"), told.get("uri")
    if not isinstance(model, str) or not model:
        raise wrong("`model`: missing field `model` of `data`, the model's name")
    if uri is not None and not isinstance(uri, str):
        raise wrong(f"`model`: `uri` of `data` must be text, found {_kind(uri)}")
    return ModelSelection(model, maker, None if maker == "claude" else uri)


def _capabilities(props: Mapping[str, JSON], block: Block) -> AgentCapabilities:
    if "capabilities" not in props:
        return AgentCapabilities()

    def wrong(text: str) -> ValidationError:
        return ValidationError(f"Invalid capabilities: {text} {place_of(block)}")

    value = as_object(props["capabilities"])
    if value is None:
        raise wrong(f"expected an object, found {_kind(props['capabilities'])}")
    told: dict[str, bool] = {}
    for key, name in _CAPABILITIES.items():
        flag = value.get(key, False)
        if not isinstance(flag, bool):
            raise wrong(f"`{key}` must be true or false, found {_kind(flag)}")
        told[name] = flag
    return AgentCapabilities(**told)


def _kind(value: JSON) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
