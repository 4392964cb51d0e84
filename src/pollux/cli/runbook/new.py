"""`pollux runbook new`: a document to begin with, that runs as it is."""

import os
import uuid
from pathlib import Path

from pollux.cli.kept import Teller
from pollux.config import ConfigError, Settings, load_project
from pollux.core.messages import JSON
from pollux.runbooks.documents import new_block, new_runbook, write
from pollux.runbooks.settings import agent_settings


def new(file: Path, settings: Settings, *, name: str | None) -> int:
    """Write it, unless something is there."""
    chosen = agent_settings(load_project(settings).rights)
    text: JSON = [{"type": "text", "text": name or file.stem, "styles": {}}]
    content: list[dict[str, JSON]] = [
        {"id": _id(), "type": "heading", "props": {"level": 1}, "content": text, "children": []},
        new_block("script", {"name": "look", "interpreter": "bash", "code": "uname -a\nuptime\n"}, id=_id()),
        chosen.new_agent(
            id=_id(),
            name="explain",
            source={"type": "internal", "model": None},
            prompt="Say in one sentence what machine this is:\n\n{{ doc.named['look'].output.stdout }}",
        ),
    ]
    form = "json" if file.suffix == ".json" else "atrb"
    runbook = new_runbook(id=_id(), name=name or file.stem, content=content, form=form)
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        raise ConfigError(f"{file} is there already. Choose another name", code="usage") from None
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(write(runbook))
    Teller(settings).lines([f"{file} was written. Next: pollux runbook run {file}"])
    return 0


def _id() -> str:
    return str(uuid.uuid4())
