"""What the door for runbooks is made of, and whom it is open to."""

from collections.abc import Awaitable, Callable
from dataclasses import field

from pollux.asgi.auth import Identity
from pollux.asgi.budget import Budget
from pollux.asgi.credentials import USER
from pollux.asgi.endpoint import Call
from pollux.asgi.listening import is_loopback
from pollux.config import Settings
from pollux.core.errors import NotFound
from pollux.core.frozen import frozen
from pollux.core.ids import RunId, ThreadId, UserId
from pollux.core.profile import DEFAULT_MODEL
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.engine.start import Start
from pollux.runbooks.http.models import Models
from pollux.runbooks.place import agents_of, kept_by, served_by
from pollux.runbooks.rules import PROFILE
from pollux.runbooks.runtime import Runbooks
from pollux.runbooks.settings import AgentSettings
from pollux.runbooks.shelf import Shelf
from pollux.tools.files.root import Root

Once = Callable[[Engine, Callable[[], Awaitable[Start]], Call], Awaitable[Run]]


@frozen
class RunbookRuntime:
    """One server's engine, the folder whose documents it runs, and who may."""

    engine: Engine
    runbooks: Runbooks
    shelf: Shelf
    root: Root
    """The same folder, for writing: nothing outside of it can be reached."""
    users: frozenset[str]
    agents: AgentSettings
    models: Models
    model: str | None = None
    editable: bool = False
    budget: Budget | None = None
    once: Once | None = None
    """Begins the run that a request's Idempotency-Key stands for, unless somebody has."""
    paths: dict[ThreadId, str] = field(default_factory=dict[ThreadId, str])
    """Which document a thread is about, of some. It never changes, and to look it up takes a run's whole journal."""

    def is_open_to(self, identity: Identity) -> bool:
        """Whether they may run commands here. A page's visitor never may, whoever that is elsewhere."""
        return identity.visit is None and identity.user in self.users

    async def run(self, run_id: str, user: UserId) -> Run:
        """A run of a document. Raises NotFound for any other, and for somebody else's."""
        run = await self.engine.queries.run(RunId(run_id), user)
        if run.profile != PROFILE:
            raise NotFound(f"there is no run {run_id!r}")
        return run


def runtime_of(
    settings: Settings,
    engine: Engine,
    runbooks: Runbooks,
    *,
    budget: Budget | None = None,
    once: Once | None = None,
) -> RunbookRuntime:
    """The door's own part, for the folder that the settings name."""
    served = served_by(settings)
    model = settings.model or DEFAULT_MODEL
    assert served is not None, "there are no runbooks without a folder"
    return RunbookRuntime(
        engine,
        runbooks,
        Shelf(served.folder.resolve()),
        Root(served.folder, protected=kept_by(settings)),
        frozenset(served.users) if served.users is not None else owners(settings),
        agents_of(settings),
        Models(runbooks.host.opened, model),
        model,
        served.editable,
        budget,
        once,
    )


def owners(settings: Settings) -> frozenset[str]:
    """Who may where nobody was named: the machine's own user, if there can be no other."""
    is_alone = is_loopback(settings.host) and not settings.tokens and settings.oidc_issuer is None
    return frozenset({USER}) if is_alone else frozenset()
