"""The files that an agent's own tools may use: text beneath one root, from async code."""

import os
from collections.abc import Awaitable, Callable

from pollux.core.errors import PolicyError
from pollux.core.policy import Decision
from pollux.tools.files.names import shown
from pollux.tools.files.root import Root
from pollux.tools.files.text import decoded, encoded
from pollux.tools.threads import in_thread

JudgeWrite = Callable[[str, str], Awaitable[Decision]]
"""The policy's decision on writing this content to this path: anything but "allow" blocks it."""


class AgentFs:
    """Read and write text files beneath the root. A file is replaced at once; nobody sees half of it.

    Writing is judged by the rule that commands are judged by; without a judge, every write is allowed.
    """

    def __init__(self, root: Root, judge: JudgeWrite | None = None) -> None:
        self.root = root
        self._judge = judge

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
        """Make or replace the file, with the folders that it needs.

        Raises as `read_file` does, and PolicyError with code `policy_denied` where the policy does not allow it.
        """
        spelled = shown(await in_thread(self.root.writable_names, path))
        written = encoded(content)
        if self._judge is not None:
            decision = await self._judge(spelled, content)
            if decision.mode != "allow":
                raise PolicyError(f"writing {spelled} is blocked: {decision.reason}")
        # Once begun it is waited for: who is cancelled meanwhile knows that nothing is written behind their back.
        await in_thread(self.root.write, spelled, written, stay=True)
