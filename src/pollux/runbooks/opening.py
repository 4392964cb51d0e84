"""What a runbook's run begins with: the document as it was then, and what was said about running it.

It is the run's prompt, so it is in the journal: whoever goes on with the run reads the same document, whatever has
become of the file.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from typing import Literal

import msgspec

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import Message
from pollux.core.messages import user as user_message

MARK = "pollux-runbook"


@frozen
class Opening:
    """One go at a document. A later one in the same thread goes on after what the earlier ones have done."""

    source: str
    form: Literal["atrb", "json"]
    directory: str
    """Where it runs: absolute."""
    workspace: str = ""
    path: str = ""
    """Where the document was found, for those who look for it."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a runbook around it has set."""
    variable_sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Of variables that a runbook around it made from outputs: its blocks that gave them, as `labels_of` tells them."""
    env_sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    around: tuple[str, ...] = ()
    """The documents in which it is a part, by their digests: none of them is run again inside itself."""
    exports: bool = False
    """Whether the runbook around it takes over what its `env` blocks have set."""
    retried: tuple[str, ...] = ()
    """Blocks that failed or were interrupted before, and shall run again."""
    skipped: tuple[str, ...] = ()
    """Blocks that failed or were interrupted before, and shall be passed over."""
    model: str = ""
    """For agent blocks that name none. Empty: what the settings say."""

    def message(self) -> Message:
        """As the prompt of a run."""
        return user_message(json.dumps({"type": MARK, **asdict(self)}, ensure_ascii=False, separators=(",", ":")))


def opening_of(message: Message) -> Opening | None:
    """The opening that this message is; None for any other."""
    if message.role != "user" or not message.text.startswith(f'{{"type":"{MARK}"'):
        return None
    return msgspec.json.decode(message.text, type=Opening)


def last_opening(messages: Iterable[Message]) -> Opening:
    """The one that holds now. Raises ValidationError where these are no runbook's messages."""
    found = [opening for message in messages if (opening := opening_of(message))]
    if not found:
        raise ValidationError("expected a run of a runbook, found a conversation")
    return found[-1]
