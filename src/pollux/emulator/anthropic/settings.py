"""Which settings go together with which model, refused in Anthropic's words where they do not."""

from typing import Any, Literal

from pollux.emulator.anthropic.catalogue import Facts
from pollux.emulator.anthropic.errors import bad_request
from pollux.emulator.jsons import is_list, is_number, is_object
from pollux.emulator.schemas import problem

BINDING = "thinking-binding-controls-2026-08-01"
NEW_VERSION = "2026-10-21"

_FIELDS = frozenset(
    "model messages max_tokens system tools tool_choice stream temperature top_p top_k stop_sequences thinking"
    " output_config metadata service_tier cache_control container inference_geo diagnostics speed".split()
)
_SAMPLING = ("temperature", "top_p", "top_k")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_BOUNDS = tuple(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems uniqueItems"
    " minProperties maxProperties patternProperties".split()
)


def check(
    body: dict[str, Any], facts: Facts, *, model: str, version: str, betas: frozenset[str], counting: bool
) -> None:
    """Raises Refusal for a setting that the model or the version does not take."""
    for name in body:
        if name not in _FIELDS or (version >= NEW_VERSION and name in _SAMPLING):
            raise bad_request(f"{name}: Extra inputs are not permitted")
    if not counting:
        _check_limit(body, facts, model=model)
    _check_thinking(body, facts, betas=betas)
    for name in _SAMPLING:
        if not facts.sampling and body.get(name) not in (None, 1):
            raise bad_request(f"`{name}` is deprecated for this model.")
    _check_choice(body, facts)
    _check_output(body.get("output_config"))


def thoughts(body: dict[str, Any], facts: Facts) -> Literal["off", "hidden", "shown"]:
    """Whether the model thinks, and whether it is seen."""
    thinking = body.get("thinking")
    kind = thinking.get("type") if is_object(thinking) else None
    if kind in ("disabled", "between_tools") or (kind is None and not facts.thinks):
        return "off"
    # Models from the time of budgets show their thoughts unless they are told not to.
    default = "summarized" if "enabled" in facts.thinking else "omitted"
    display = (thinking.get("display") if is_object(thinking) else None) or default
    return "shown" if display == "summarized" else "hidden"


def drops_moved(body: dict[str, Any]) -> bool:
    """Whether thoughts that no longer count are left out instead of refused."""
    thinking = body.get("thinking")
    binding = thinking.get("block_binding") if is_object(thinking) else None
    return is_object(binding) and binding.get("prefix_mismatch_behavior") == "drop_block"


def _check_limit(body: dict[str, Any], facts: Facts, *, model: str) -> None:
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise bad_request("max_tokens: Field required")
    if limit < 1:
        raise bad_request("max_tokens: Input should be greater than or equal to 1")
    if limit > facts.output_tokens:
        raise bad_request(
            f"max_tokens: {limit} > {facts.output_tokens}, which is the maximum allowed number of output tokens for"
            f" {model}"
        )


def _check_thinking(body: dict[str, Any], facts: Facts, *, betas: frozenset[str]) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if is_object(thinking) else None
    if not is_object(thinking) or kind not in ("adaptive", "enabled", "disabled", "between_tools"):
        raise bad_request("thinking.type: Input should be 'adaptive', 'enabled', 'disabled' or 'between_tools'")
    if kind not in facts.thinking:
        raise bad_request(
            f'"thinking.type.{kind}" is not supported for this model. Use "thinking.type.{min(facts.thinking)}".'
        )
    if "block_binding" in thinking and BINDING not in betas:
        raise bad_request(f"thinking.{kind}.block_binding: Extra inputs are not permitted")
    if kind == "enabled":
        _check_budget(body, thinking.get("budget_tokens"))
    if kind in ("adaptive", "enabled") and _is_forced(body):
        raise bad_request("Thinking may not be enabled when tool_choice forces tool use.")


def _check_budget(body: dict[str, Any], budget: object) -> None:
    if not is_number(budget) or budget < 1024:
        raise bad_request("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if budget >= body.get("max_tokens", budget + 1):
        raise bad_request("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if body.get("temperature") not in (None, 1):
        raise bad_request("`temperature` may only be set to 1 when thinking is enabled.")


def _is_forced(body: dict[str, Any]) -> bool:
    choice = body.get("tool_choice")
    return is_object(choice) and choice.get("type") in ("any", "tool")


def _check_choice(body: dict[str, Any], facts: Facts) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not is_object(choice) or choice.get("type") not in ("auto", "any", "tool", "none"):
        raise bad_request("tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'")
    if not body.get("tools"):
        raise bad_request("tool_choice may only be specified while providing tools")
    if _is_forced(body) and not facts.forced:
        raise bad_request(f"tool_choice.type.{choice['type']} is not supported for this model.")


def _check_output(config: object) -> None:
    if config is None:
        return
    if not is_object(config) or not set(config) <= {"format", "effort"}:
        raise bad_request("output_config: Extra inputs are not permitted")
    if config.get("effort") not in (None, *_EFFORTS):
        raise bad_request("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
    wanted = config.get("format")
    if wanted is None:
        return
    if not is_object(wanted) or wanted.get("type") != "json_schema":
        raise bad_request("output_config.format.type: Input should be 'json_schema'")
    if trouble := problem(wanted.get("schema")):
        raise bad_request(f"output_config.format.schema: {trouble}")
    _check_schema(wanted["schema"])


def _check_schema(schema: object) -> None:
    """The part of the language that answers can be held to."""
    if is_list(schema):
        for below in schema:
            _check_schema(below)
    if not is_object(schema):
        return
    kind = schema.get("type")
    if kind == "object" and schema.get("additionalProperties") is not False:
        raise bad_request(
            "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
        )
    if found := [name for name in _BOUNDS if name in schema]:
        raise bad_request(
            f"output_config.format.schema: For '{kind}' type, properties {', '.join(found)} are not supported"
        )
    if "oneOf" in schema:
        raise bad_request("output_config.format.schema: Schema type 'oneOf' is not supported")
    for key in ("items", "anyOf", "allOf"):
        _check_schema(schema.get(key))
    for key in ("properties", "$defs", "definitions"):
        named = schema.get(key)
        _check_schema(list(named.values()) if is_object(named) else None)
