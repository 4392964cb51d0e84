"""What a door asks the engine for."""

from pollux.core.frozen import frozen
from pollux.core.ids import RunId, ThreadId, UserId
from pollux.core.messages import Message
from pollux.core.page import Page
from pollux.core.policy import Document, Rule
from pollux.core.profile import Limits
from pollux.core.run import Parent


@frozen
class Start:
    """A prompt and everything that may be said about how to answer it."""

    prompt: str | Message
    user: UserId
    thread_id: ThreadId | None = None
    create: bool = False
    """Open a thread under that id where there is none."""
    profile: str = "default"
    door: str = "sdk"
    origin: str = ""
    model: str | None = None
    interactive: bool = True
    limits: Limits | None = None
    supersede: bool = False
    live: bool = False
    parent: Parent | None = None
    run_id: RunId | None = None
    rules: tuple[Rule, ...] = ()
    """Besides the profile's, for this run and whoever goes on with it."""
    document: Document | None = None
    """The runbook that the run follows, and whether it is trusted."""
    request: str = ""
    """A digest of what the door was asked for; with a `run_id` made from the same, a question is answered once."""
    instructions: str = ""
    """In place of the profile's, for this run and whoever goes on with it."""
    history: tuple[Message, ...] = ()
    """What was said before, elsewhere: a new thread begins with it, in the same transaction as the run."""
    title: str = ""
    """What a new thread is called, and in which directory it is begun."""
    project: str = ""
    page: Page | None = None
    """The page in which the agent works; what it tells the model comes in place of all instructions."""
    restored: bool = False
    """It goes on with work that was under way before the store was restored, and may have been done since."""
    keep_seconds: float | None = None
    """How long after the run's end its thread is kept. None: until somebody erases it."""
