"""`agent`: a prompt goes to an agent, ours or a foreign one, and its last words are the block's output."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from pollux.config import without_key
from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import Tool
from pollux.runbooks.agents import foreign, internal
from pollux.runbooks.blocks.block_type import Args, Call, Reading, members
from pollux.runbooks.documents import AcpSource, Block, agent_of
from pollux.runbooks.scene import Scene
from pollux.runbooks.settings import AgentEntry, entry_of, resolve

SNAKE: Final = {
    "durationSeconds": "duration_seconds",
    "finishReason": "finish_reason",
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "tokenUsage": "token_usage",
    "toolCallsExecuted": "tool_calls_executed",
}


class Agent:
    """The type of `agent` blocks.

    `model` is what a block without one of its own asks; empty where nobody named one. `root` is what our own agents'
    tools reach, `outfits` what the configuration gives them.
    """

    names = ("agent",)

    def __init__(
        self,
        tools: tuple[Tool, ...],
        registry: Mapping[str, AgentEntry],
        model: str,
        root: Path,
        outfits: internal.Outfits = internal.NO_OUTFITS,
    ) -> None:
        self.tools = tools
        self._root = root
        self._registry = registry
        self._model = model
        self._outfits = outfits

    def call(self, block: Block, scene: Scene) -> Call:
        config = agent_of(block)
        reading = Reading(block, scene)
        directory = self._directory(reading, config.working_directory)
        placed_by = reading.sources | scene.directory_sources
        args: Args = {
            "name": block.name,
            "prompt": reading.rendered(config.prompt),
            "system": reading.rendered(config.system_prompt) if config.system_prompt else "",
            "directory": directory,
            "capabilities": config.capabilities.as_json(),
            "timeout": config.timeout_seconds,
        }
        if isinstance(config.source, AcpSource):
            args["argv"] = [*resolve(config.source.command, config.source.args, self._registry)]
            entry = entry_of(config.source.command, self._registry)
            args["env"] = {**(entry.env if entry else {}), **config.source.env}
            args["mcp_servers"] = _mcp_servers(reading)
            call = reading.call(foreign.NAME, **args)
            return replace(call, placed_by=placed_by, accepted=scene.programs, places=scene.places)
        try:
            args["profile"] = config.source.profile or scene.profile
            chosen = self._outfits.chosen(args["profile"])
            # Where a document says that prompts go, no key of the person's goes.
            args["model"] = without_key(config.source.model_name()) or scene.model or chosen.model or self._model
        except ValidationError as problem:
            raise reading.problem(str(problem)) from None
        if not args["model"]:
            raise reading.problem("No model configured. Give the block a model, or name one in pollux.toml")
        inner = os.path.relpath(str(args["directory"]), self._root)
        if inner.split(os.sep)[0] == "..":
            named = "workingDirectory" if config.working_directory else "the directory of the block"
            raise reading.problem(
                f"{named} must lie beneath {self._root}, where our own agents work, found {args['directory']}. Name a"
                " folder there, counted from the document's own, or ask an `acp` agent"
            )
        args["directory"] = inner
        return reading.call(internal.NAME, **args)

    def output(self, result: JSON) -> dict[str, JSON]:
        found = members(result)
        error = found.get("error") or found.get("problem") or _unfinished(found)
        usage = members(found.get("usage"))
        tokens: JSON = (
            {"inputTokens": usage.get("input"), "outputTokens": usage.get("output")}
            if usage.get("input") is not None or usage.get("output") is not None
            else None
        )
        told: dict[str, JSON] = {
            "text": "" if found.get("error") else found.get("text", ""),
            "success": bool(found) and not error,
            "error": error or None,
            "durationSeconds": found.get("seconds", 0.0),
            "inputTokens": usage.get("input"),
            "outputTokens": usage.get("output"),
            "tokenUsage": tokens,
            "finishReason": found.get("finish_reason"),
            "incomplete": found.get("incomplete", False),
            "cut": found.get("cut", False),
            "toolCallsExecuted": [
                {"name": each["tool"], "approved": each["approved"], "resultSummary": each["about"] or each["status"]}
                for each in found.get("actions", ())
            ],
        }
        return {**told, **{snake: told[camel] for camel, snake in SNAKE.items()}}

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        return scene.with_output(block.id, self.output(result))

    def succeeded(self, result: JSON) -> bool:
        return bool(self.output(result)["success"])

    def _directory(self, reading: Reading, written: str | None) -> str:
        if not written:
            return reading.scene.directory
        path = Path(reading.scene.directory, Path(reading.rendered(written)).expanduser())
        return str(path)


def _mcp_servers(reading: Reading) -> list[JSON]:
    """What the agent is to be given besides: passed through as it is."""
    found = reading.block.props.get("mcpServers")
    if found is None:
        return []
    servers = cast("list[JSON]", found) if isinstance(found, list) else [None]
    if not all(isinstance(each, dict) for each in servers):
        raise reading.problem("mcpServers must be a list of servers, each with a name and a command or a url")
    return servers


def _unfinished(found: dict[str, JSON]) -> str:
    """A foreign agent ends in more ways than one, and only one of them is an answer."""
    stop = found.get("stop", "end_turn")
    return "" if stop == "end_turn" else f"the agent stopped before its end: {stop}"
