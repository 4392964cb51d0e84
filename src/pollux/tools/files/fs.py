"""The files that an agent's own tools may use: text beneath one root, from async code."""

import os

from pollux.tools.files.root import Root
from pollux.tools.files.text import decoded, encoded
from pollux.tools.threads import in_thread


class AgentFs:
    """Read and write text files beneath the root. A file is replaced at once; nobody sees half of it."""

    def __init__(self, root: Root) -> None:
        self.root = root

    async def read_file(self, path: str | os.PathLike[str]) -> str | None:
        """The file's text, or None if there is no such file.

        Raises:
            PolicyError: the path leads outside the root (`outside_root`) or to what is `protected`.
            ToolError: it is no text, too large, no file, or cannot be read.
            ValidationError: the path is no path.
        """
        content = await in_thread(self.root.read, path)
        return None if content is None else decoded(content)

    async def write_file(self, path: str | os.PathLike[str], content: str) -> None:
        """Make or replace the file, with the folders that it needs. Raises as `read_file` does."""
        # Once begun it is waited for: who is cancelled meanwhile knows that nothing is written behind their back.
        await in_thread(self.root.write, path, encoded(content), stay=True)
