"""The types of blocks: each makes calls of tools of its blocks, and knows what their results mean to what follows."""

from pollux.runbooks.blocks.block_type import BlockType, Call, Reading
from pollux.runbooks.blocks.pause import PAUSE_ASKS
from pollux.runbooks.blocks.standard import standard_blocks, tools_of

__all__ = ["PAUSE_ASKS", "BlockType", "Call", "Reading", "standard_blocks", "tools_of"]
