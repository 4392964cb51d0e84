"""The types of blocks that need nothing but this machine."""

from pollux.core.tools import Tool
from pollux.runbooks.blocks.block_type import BlockType
from pollux.runbooks.blocks.directory import Directory
from pollux.runbooks.blocks.dropdown import Dropdown
from pollux.runbooks.blocks.editor import Editor
from pollux.runbooks.blocks.env import Env
from pollux.runbooks.blocks.http import Http
from pollux.runbooks.blocks.local_var import LocalVar
from pollux.runbooks.blocks.pause import Pause
from pollux.runbooks.blocks.postgres import Postgres
from pollux.runbooks.blocks.script import Script
from pollux.runbooks.blocks.show import VarDisplay
from pollux.runbooks.blocks.sqlite import Sqlite
from pollux.runbooks.blocks.terminal import Terminal
from pollux.runbooks.blocks.var import Var


def standard_blocks(*, shell: str = "bash") -> tuple[BlockType, ...]:
    """All types of blocks that need nothing but this machine. `shell` runs `terminal` blocks that name none."""
    return (
        Script(),
        Terminal(shell=shell),
        Http(),
        Sqlite(),
        Postgres(),
        Env(),
        Var(),
        LocalVar(),
        Directory(),
        Dropdown(),
        Pause(),
        Editor(),
        VarDisplay(),
    )


def tools_of(types: tuple[BlockType, ...]) -> tuple[Tool, ...]:
    """The tools of several types, each once."""
    return tuple({tool.spec.name: tool for kind in types for tool in kind.tools}.values())
