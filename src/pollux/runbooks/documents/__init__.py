"""Runbook documents: read, checked and written back as they were. Atuin's `.atrb` YAML, and the same in JSON."""

from pollux.runbooks.documents.agent import (
    AcpSource,
    AgentBlock,
    AgentCapabilities,
    InternalSource,
    ModelSelection,
    agent_of,
)
from pollux.runbooks.documents.blocks import MOST_BLOCKS
from pollux.runbooks.documents.editing import new_block, new_runbook, with_block, write
from pollux.runbooks.documents.model import Block, Form, Notice, Runbook, kind_of, place_of
from pollux.runbooks.documents.reading import MAX_BYTES, decoded, form_of, read

__all__ = [
    "MAX_BYTES",
    "MOST_BLOCKS",
    "AcpSource",
    "AgentBlock",
    "AgentCapabilities",
    "Block",
    "Form",
    "InternalSource",
    "ModelSelection",
    "Notice",
    "Runbook",
    "agent_of",
    "decoded",
    "form_of",
    "kind_of",
    "new_block",
    "new_runbook",
    "place_of",
    "read",
    "with_block",
    "write",
]
