"""What a runbook's run begins with: the document as it was then, and what was said about running it.

It is the run's prompt, so it is in the journal: whoever resumes the run reads the same document, whatever has become of
the file. It is known by a mark beside its text that only our own code sets: a prompt with the same text is no opening.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field, replace
from typing import Literal

import msgspec

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON, Message, Native
from pollux.core.messages import user as user_message
from pollux.core.policy import Document
from pollux.core.run import Run

MARK = "pollux-runbook"
BEGINNING = f'{{"type":"{MARK}"'


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
    worked: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict[str, Mapping[str, JSON]])
    """Of these, what their results do not say: how long each was at work, and what its agent had asked for."""
    model: str = ""
    """For agent blocks that name none. Empty: what the settings say."""
    profile: str = ""
    """The same: one of the person's own profiles. Empty: none."""
    directory_sources: tuple[str, ...] = ()
    """Who says where it runs, if that is a runbook around it that nobody trusts."""
    is_trusted: bool = False
    """Whether a person had accepted it and every document around it. What it exports is its own only then."""
    programs: tuple[tuple[str, str], ...] | None = None
    """The programs of its agents as a person accepted them: each word, and which file that was. None: nobody did."""
    scripts: tuple[tuple[str, str], ...] | None = None
    """Those of its scripts. None: nobody did, or before these were pinned."""

    @property
    def folder(self) -> str:
        """The folder of the document, links resolved: what it was accepted in."""
        return folder_of(self.path, self.directory)

    @property
    def places(self) -> tuple[str, ...]:
        """The folders in which agents, scripts and whoever shares the project may write."""
        return open_places(self.folder, self.directory, self.workspace)

    def message(self) -> Message:
        """As the prompt of a run."""
        text = json.dumps({"type": MARK, **asdict(self)}, ensure_ascii=False, separators=(",", ":"))
        return replace(user_message(text), native=Native(MARK, "{}"))


def folder_of(path: str, directory: str) -> str:
    """Where a document lies. One without a file lies where it runs."""
    return os.path.realpath(os.path.dirname(path) if path else directory)


def open_places(*places: str) -> tuple[str, ...]:
    """Those of these folders that there are, each once."""
    return tuple(dict.fromkeys(place for place in places if place))


def document_fact(digest: str, folder: str, *, is_trusted: bool, around: Document | None = None) -> Document:
    """The document as decisions know it: its text, in its folder, within the block that runs it.

    A grant for it counts for no copy in another folder, and not where another document or block runs it as its part.
    """
    whole = f"{digest} {around.digest if around else ''} {folder}"
    return Document(hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest(), is_trusted)


def within_block(run: Run, action_id: str) -> Document | None:
    """The run's document, as what one of its blocks starts knows it: what is allowed there counts for no other."""
    action, document = run.action(action_id), run.document
    if action is None or document is None:
        return document
    return document_fact(f"block {document.digest}", action.call.id, is_trusted=document.is_trusted)


def opening_of(message: Message) -> Opening | None:
    """The opening that this message of a runbook's run is; None for any other."""
    if message.role != "user" or not message.text.startswith(BEGINNING):
        return None
    return msgspec.json.decode(message.text, type=Opening)


def of_runbooks(messages: Iterable[Message]) -> list[Message]:
    """The messages of runs of runbooks. What other runs have said in the same thread is no part of it."""
    kept: list[Message] = []
    is_ours = False
    for index, message in enumerate(messages):
        if message.role == "user":
            # The first of a thread may come from a version that set no mark: nobody else begins a runbook's thread.
            is_ours = _is_marked(message) or (index == 0 and message.text.startswith(BEGINNING))
        if is_ours:
            kept.append(message)
    return kept


def last_opening(messages: Iterable[Message]) -> Opening:
    """The one that holds now. Raises ValidationError where these are no runbook's messages."""
    found = [opening for message in of_runbooks(messages) if (opening := opening_of(message))]
    if not found:
        raise ValidationError("expected a run of a runbook, found a conversation")
    return found[-1]


def _is_marked(message: Message) -> bool:
    return message.native is not None and message.native.provider == MARK
