"""How many tokens an agent says it took. Each agent says it in another place, and some in none."""

from pollux.acp.updates import ContextUsed, count_of, object_of
from pollux.core.frozen import frozen
from pollux.core.messages import JSON


@frozen(kw_only=True)
class AgentUsage:
    """Tokens of one answer, as far as the agent tells: some tell only how full their context is."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    thought_tokens: int | None = None
    context_used: int | None = None
    context_size: int | None = None


def usage_of(result: dict[str, JSON], context: ContextUsed | None) -> AgentUsage | None:
    """From the answer to `session/prompt`, and the last that was told of the context. None if nothing was told."""
    usage = object_of(result.get("usage"))
    quota = object_of(object_of(object_of(result.get("_meta")).get("quota")).get("token_count"))
    told = AgentUsage(
        input_tokens=_first(usage.get("inputTokens"), quota.get("input_tokens")),
        output_tokens=_first(usage.get("outputTokens"), quota.get("output_tokens")),
        cached_tokens=count_of(usage.get("cachedReadTokens")),
        thought_tokens=count_of(usage.get("thoughtTokens")),
        context_used=None if context is None else context.used,
        context_size=None if context is None else context.size,
    )
    return None if told == AgentUsage() else told


def _first(*values: JSON) -> int | None:
    return next((count for value in values if (count := count_of(value)) is not None), None)
