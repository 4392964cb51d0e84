"""What an agent was allowed under one name and does under another: one deed is asked about once, and counted as asked.

An agent that asks for leave to edit may then have us write the file: the same deed, if the file and its text are those
that were shown. Another one asks under one id and tells of the call under another.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from pollux.acp.client import PermissionRequest
from pollux.acp.updates import Diff, ToolCall
from pollux.tools.files.change import MAX_GLANCE_LINES

MOST_READ: Final = 1 << 20
"""Characters of a text that is kept for comparison, and how many texts are."""
MOST_TEXTS: Final = 16
MOST_SHOWN: Final = 1_000
"""Characters of changes that a question shows whole, with the marks of lines and what stands around them."""


class Matching:
    """Of one agent, in its directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._edits: list[tuple[str, str | None, str]] = []
        """Allowed and not made yet: the file, the text to replace (None: all of it), and the new one."""
        self._texts: dict[str, str] = {}
        self._written: Counter[str] = Counter()
        self._permitted: dict[str, PermissionRequest] = {}
        self._told: set[str] = set()
        self.standing_in: dict[str, str] = {}
        """By the id of a call, the id under which leave for it was asked."""

    def read(self, path: str, text: str) -> None:
        """The agent was given this file, all of it."""
        if len(text) <= MOST_READ:
            self._texts.pop(self._place(path), None)
            self._texts[self._place(path)] = text
            if len(self._texts) > MOST_TEXTS:
                del self._texts[next(iter(self._texts))]

    def allowed(self, request: PermissionRequest, *, is_shown: bool = True) -> None:
        """Leave was given; `is_shown` says that it was a person who gave it for what stands in the request."""
        self._permitted[request.tool_call_id] = request
        changes = edits_of(request) if is_shown else ()
        self._edits += [(self._place(change.path), change.old, change.new) for change in changes]

    def takes_edit(self, path: str, content: str) -> bool:
        """Whether this file with this text is what leave was given for. Once."""
        place = self._place(path)
        for edit in self._edits:
            if edit[0] == place and self._comes_to(edit, content):
                self._edits.remove(edit)
                return True
        return False

    def wrote(self, path: str) -> None:
        """We wrote it for the agent, with leave."""
        self._written[self._place(path)] += 1

    def heard(self, call_id: str) -> None:
        """The agent told of a call under this id."""
        self._told.add(call_id)

    def asked_as(self, call: ToolCall) -> str:
        """Under which other id leave was asked for the same. Empty where it was not."""
        for id_, request in self._permitted.items():
            is_same = request.title == call.title or (call.locations and request.locations == call.locations)
            if id_ not in self._told and request.kind == call.kind and is_same:
                del self._permitted[id_]
                self.standing_in[call.id] = id_
                return id_
        return ""

    def was_ours(self, call: ToolCall) -> bool:
        """Whether it is the edit of a file that we wrote for the agent. Once for each time that we did."""
        if call.kind != "edit":
            return False
        for place in self._places(call):
            if self._written[place] > 0:
                self._written[place] -= 1
                return True
        return False

    def _comes_to(self, edit: tuple[str, str | None, str], content: str) -> bool:
        place, old, new = edit
        if not old:
            return content == new
        # What the agent says was there is its own word: lines that do not change were not shown.
        text = self._texts.get(place)
        return text is not None and old in text and content == text.replace(old, new, 1)

    def _places(self, call: ToolCall) -> Iterable[str]:
        changed = [each.path for each in call.content if isinstance(each, Diff)]
        return {self._place(path) for path in (*call.locations, *changed)}

    def _place(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._directory, path))


def edits_of(request: PermissionRequest) -> Sequence[Diff]:
    """The changes that a question about this request shows whole."""
    changes = [change for change in request.content if isinstance(change, Diff)]
    return changes if request.kind == "edit" and _is_shown_whole(changes) else ()


def _is_shown_whole(changes: Sequence[Diff]) -> bool:
    """Whether the person saw all of it. Of more, the beginnings are shown: its writing is asked about by itself."""
    texts = [text for change in changes for text in (change.old or "", change.new)]
    is_short = sum(map(len, texts)) + sum(len(change.path) for change in changes) <= MOST_SHOWN
    return is_short and all(len(text.splitlines()) <= MAX_GLANCE_LINES for text in texts)
