"""An HTTP answer before it is sent: what every face produces and the transport writes."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Answer:
    """A status, headers and the frames of the body; each frame is its own write."""

    status: int
    frames: tuple[bytes, ...]
    content_type: str
    streamed: bool = False
    headers: dict[str, str] = field(default_factory=dict[str, str])
