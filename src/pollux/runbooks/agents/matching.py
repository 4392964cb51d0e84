"""What an agent was allowed under one name and does under another: one deed is asked about once, and counted as asked.

An agent that asks for leave to edit may then have us write the file: the same deed, if the file and its text are those
that were shown. Another one asks under one id and tells of the call under another.
"""

import os
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from pollux.acp.client import PermissionRequest
from pollux.acp.updates import Diff, ToolCall
from pollux.core.errors import ToolError
from pollux.engine.untrusted import read_file
from pollux.tools.files.change import MAX_GLANCE_LINES, change_once, glance
from pollux.tools.files.text import decoded

MOST_READ: Final = 1 << 20
"""Bytes of a file that is compared."""
MOST_EDITS: Final = 100
"""Allowed and not made yet. Of older ones the writing is asked about by itself."""
MOST_SHOWN: Final = 1_500
"""Characters of a title and changes that a question shows whole, with what stands around them."""


class Matching:
    """Of one agent, in its directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._edits: deque[tuple[str, str | None, str]] = deque(maxlen=MOST_EDITS)
        """Allowed and not made yet: the file, the text to replace (None: all of it), and the new one."""
        self._written: Counter[str] = Counter()
        self._permitted: dict[str, PermissionRequest] = {}
        self._told: set[str] = set()
        self.standing_in: dict[str, str] = {}
        """By the id of a call, the id under which leave for it was asked."""

    def allowed(self, request: PermissionRequest, *, is_shown: bool = True) -> None:
        """Leave was given; `is_shown` says that it was a person who gave it for what stands in the request."""
        self._permitted[request.tool_call_id] = request
        changes = edits_of(request) if is_shown else ()
        self._edits += [(self._place(change.path), change.old, change.new) for change in changes]

    def takes_edit(self, path: str, content: str) -> bool:
        """Whether this file with this text is what leave was given for. Once."""
        place = self._place(path)
        for edit in self._edits:
            if edit[0] == place and _comes_to(edit, content):
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
        places = set(self._places(call))
        if not places or not all(self._written[place] for place in places):
            return False
        self._written.subtract(places)
        return True

    def _places(self, call: ToolCall) -> Iterable[str]:
        changed = [each.path for each in call.content if isinstance(each, Diff)]
        return {self._place(path) for path in (*call.locations, *changed)}

    def _place(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._directory, path))


def edits_of(request: PermissionRequest) -> Sequence[Diff]:
    """The changes that a question about this request shows whole."""
    changes = [change for change in request.content if isinstance(change, Diff)]
    return changes if request.kind == "edit" and _is_shown_whole(request) else ()


def changes_of(request: PermissionRequest) -> str:
    """What the question shows of them."""
    changes = (each for each in request.content if isinstance(each, Diff))
    return "\n".join(f"{each.path}\n{glance(each.old or '', each.new)}" for each in changes)


def _comes_to(edit: tuple[str, str | None, str], content: str) -> bool:
    """Whether the file would hold this after the edit. What the agent says was there is its own word."""
    place, old, new = edit
    try:
        found = read_file(Path(place), most=MOST_READ)
        if not old:
            # Nobody was shown what this would replace.
            return (found == b"" or not os.path.lexists(place)) and content == new
        return found is not None and len(found) <= MOST_READ and content == change_once(decoded(found), old, new)
    except (OSError, ToolError):
        return False


def _is_shown_whole(request: PermissionRequest) -> bool:
    """Whether the person saw all of it. Of more, the beginnings are shown: its writing is asked about by itself."""
    texts = [text for each in request.content if isinstance(each, Diff) for text in (each.old or "", each.new)]
    is_short = len(request.title) + len(changes_of(request)) <= MOST_SHOWN
    return is_short and all(text.count("\n") < MAX_GLANCE_LINES for text in texts)
