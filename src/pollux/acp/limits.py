"""What an agent may take: time, memory and attention."""

from pollux.core.frozen import frozen

MIB = 2**20


@frozen(kw_only=True)
class Limits:
    """Bounds of one conversation. An agent that is within them costs some tens of MiB at most, whatever it does."""

    initialize_seconds: float = 30.0
    session_seconds: float = 120.0
    """For `session/new` and `session/load`, where agents start MCP servers."""
    replay_quiet_seconds: float = 0.5
    """A loaded session is replayed before and after it is answered. So much silence means that it is over."""
    replay_seconds: float = 10.0
    cancel_seconds: float = 0.5
    """For the agent's last word after `session/cancel`."""
    close_seconds: float = 1.0
    """For it to end by itself when its input ends, after an answer. Less when there is none. Codex never does."""
    line_bytes: int = 8 * MIB
    received_bytes: int = 512 * MIB
    """Of messages altogether. A conversation of an hour has a few MiB."""
    text_bytes: int = 4 * MIB
    """Of the answer's text."""
    burst: int = 50_000
    """Messages within `burst_seconds`, junk included."""
    burst_seconds: float = 10.0
    stderr_bytes: int = 64 * 1024
    """Kept of what it writes there: half from the beginning, half from the end."""
    requests: int = 64
    """Of its requests at a time. One more is refused."""
    terminals: int = 16
    tool_calls: int = 10_000
    unread_bytes: int = 32 * MIB
    """Of our answers that it has not read."""
