"""Names that a service accepts for our tools. One that does not fit gets a safe name; a map leads back, never a guess.

The safe name follows from the tool's name alone, so a stored conversation names its tools alike in every request.
"""

import hashlib
import re
from collections.abc import Iterable

from pollux.core.errors import ModelError


def sent_name(name: str, allowed: re.Pattern[str]) -> str:
    """The name under which a tool is known to the service."""
    if allowed.fullmatch(name):
        return name
    stem = re.sub(r"[^A-Za-z0-9_]", "_", name)[:40]
    # The digest keeps apart names that differ only in what was replaced or cut off.
    return f"t_{stem}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def names_sent(names: Iterable[str], allowed: re.Pattern[str]) -> dict[str, str]:
    """Each sent name with the tool it stands for. Raises ModelError when two tools would be sent under one name."""
    tools: dict[str, str] = {}
    for name in names:
        sent = sent_name(name, allowed)
        if tools.setdefault(sent, name) != name:
            raise ModelError(
                f"the tools {tools[sent]!r} and {name!r} would both be sent as {sent!r}", kind="bad_request"
            )
    return tools
