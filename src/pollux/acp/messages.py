"""What we say to an agent, made with the SDK's models: what does not fit the protocol does not leave.

The SDK takes most of a second to import, so it is loaded in a thread while the agent itself starts.
"""

import asyncio
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pollux._version import __version__
from pollux.acp.client import Capabilities, TerminalExit, TerminalOutput
from pollux.core.errors import PolluxError, ValidationError
from pollux.core.messages import JSON

if TYPE_CHECKING:
    from pydantic import BaseModel

PROTOCOL_VERSION: Final = 1


def check_installed() -> None:
    """Raises PolluxError where the extra is missing."""
    if importlib.util.find_spec("acp") is None:
        raise PolluxError("ACP agents need a package that is missing: pip install 'pollux[acp]'")


async def load_models() -> None:
    """Import the SDK without keeping anybody waiting."""
    if "acp.schema" not in sys.modules:
        await asyncio.to_thread(importlib.import_module, "acp.schema")


def initialize(capabilities: Capabilities) -> dict[str, JSON]:
    from acp import schema

    files = schema.FileSystemCapabilities(
        read_text_file=capabilities.read_files, write_text_file=capabilities.write_files
    )
    return _written(
        schema.InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(fs=files, terminal=capabilities.terminal),
            client_info=schema.Implementation(name="pollux", title="Pollux", version=__version__),
        )
    )


def new_session(cwd: str, mcp_servers: Sequence[Mapping[str, JSON]]) -> dict[str, JSON]:
    """Raises ValidationError for an MCP server that is none."""
    return _session({"cwd": cwd, "mcpServers": [dict(server) for server in mcp_servers]})


def load_session(session_id: str, cwd: str, mcp_servers: Sequence[Mapping[str, JSON]]) -> dict[str, JSON]:
    """Raises ValidationError for an MCP server that is none."""
    servers = [dict(server) for server in mcp_servers]
    return _session({"sessionId": session_id, "cwd": cwd, "mcpServers": servers})


def prompt(session_id: str, text: str) -> dict[str, JSON]:
    from acp import schema

    block = schema.TextContentBlock(type="text", text=text)
    return _written(schema.PromptRequest(session_id=session_id, prompt=[block]))


def cancel(session_id: str) -> dict[str, JSON]:
    from acp import schema

    return _written(schema.CancelNotification(session_id=session_id))


def permission(option_id: str | None) -> dict[str, JSON]:
    """The answer to a permission request. None stands for cancelled."""
    from acp import schema

    if option_id is None:
        outcome = schema.DeniedOutcome(outcome="cancelled")
    else:
        outcome = schema.AllowedOutcome(outcome="selected", option_id=option_id)
    return _written(schema.RequestPermissionResponse(outcome=outcome))


def file_read(content: str) -> dict[str, JSON]:
    from acp import schema

    return _written(schema.ReadTextFileResponse(content=content))


def file_written() -> dict[str, JSON]:
    from acp import schema

    return _written(schema.WriteTextFileResponse())


def terminal_created(terminal_id: str) -> dict[str, JSON]:
    from acp import schema

    return _written(schema.CreateTerminalResponse(terminal_id=terminal_id))


def terminal_output(output: TerminalOutput) -> dict[str, JSON]:
    from acp import schema

    ended = None if output.exit is None else schema.TerminalExitStatus.model_validate(_ended(output.exit))
    return _written(schema.TerminalOutputResponse(output=output.text, truncated=output.is_truncated, exit_status=ended))


def terminal_exit(ended: TerminalExit) -> dict[str, JSON]:
    from acp import schema

    return _written(schema.WaitForTerminalExitResponse.model_validate(_ended(ended)))


def _ended(ended: TerminalExit) -> dict[str, JSON]:
    return {"exitCode": ended.code, "signal": ended.signal}


def _session(params: dict[str, JSON]) -> dict[str, JSON]:
    import pydantic

    from acp import schema

    model = schema.LoadSessionRequest if "sessionId" in params else schema.NewSessionRequest
    try:
        written = _written(model.model_validate(params))
    except pydantic.ValidationError:
        written = {}
    # The models drop a server that does not fit without a word.
    if written.get("mcpServers") != params["mcpServers"]:
        raise ValidationError(
            "an MCP server is {name, command, args, env: [{name, value}]} or {type: http | sse, name, url, headers:"
            " [{name, value}]} and has all of these, found something else"
        )
    return written


def _written(model: "BaseModel") -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
