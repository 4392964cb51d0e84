"""What a tool or an instructions function is given of the session it works in."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pollux.core.frozen import frozen
from pollux.core.messages import Message
from pollux.core.tools import ToolContext

if TYPE_CHECKING:
    from pollux.sdk.agent import Agent
    from pollux.tools.files.fs import AgentFs
    from pollux.tools.shell.agent_shell import AgentShell


@frozen(kw_only=True)
class SessionContext(ToolContext):
    """The session around a call: its words so far, files beneath its directory, commands under its policy."""

    session_id: str
    cwd: Path
    transcript: Sequence[Message]
    timestamp: str
    """When the call was made, as ISO 8601 in UTC."""
    fs: "AgentFs"
    shell: "AgentShell"
    agent: "Agent"


Widen = Callable[[ToolContext, bool], Awaitable[SessionContext]]
"""Makes a session's context of a call's; the flag says whether the call is a side effect that was let through."""
