"""The world of Google's tools: a model and a workspace at the end of a road, and the workspace's ledger to judge by.

A home in which everybody has connected an account is made once, over HTTP. Every shop begins with a copy of it. The
access tokens in it have run out, so that each story renews one and keeps it.
"""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.crash.lab import Lab
from tests.http.crash import RUN, Customer, Route, Shop, Wish
from tests.http.crash_road import Road, open_road
from tests.http.google_site import BOTH, connect, environ_for, google_site
from tests.http.site import Person

from pollux.emulator import run_emulator
from pollux.emulator.jsons import canonical
from pollux.emulator.workspace import Workspace, run_workspace
from pollux.tools.google import event, message
from pollux.tools.google.calendar import event_id
from pollux.tools.google.draft import MARK, mark_of

NAMES = ("ada", *(f"customer{n}" for n in range(6)))
SHORT, LONG = 30, 3599
"""How many seconds an access token is good for: too few to be used at all, and enough."""
_DAY = (datetime.now(UTC) + timedelta(days=30)).date()


@dataclass(frozen=True)
class Deed:
    """What a tool is to do, and the line of the ledger that says it did."""

    tool: str
    args: Mapping[str, Any]
    method: str
    to: Sequence[str]
    subject: str
    written: Callable[[dict[str, Any], str], bytes]
    """What the service is handed for an action of these arguments and this id."""
    commits: int
    """Of a whole story: the five of any, one for the renewed token, and one for the note."""
    requests: int
    """Of a whole story: two to the model, one for the token, one to do it; and one before that for a draft."""

    @property
    def wish(self) -> Wish:
        return Wish(f"call {self.tool} {json.dumps(self.args)}", self.args)

    def line(self, action_id: str) -> Mapping[str, Any]:
        handed = self.written(dict(self.args), action_id)
        told = {"method": self.method, "to": list(self.to), "cc": [], "bcc": [], "subject": self.subject}
        return {**told, "sha256": hashlib.sha256(handed).hexdigest()}


MAIL = Deed(
    "gmail_send",
    {"to": ["bob@example.com"], "subject": "Report", "body": "Here is the report."},
    "gmail.users.drafts.send",
    ["bob@example.com"],
    "Report",
    lambda args, action_id: message.build(args, marks={MARK: mark_of(action_id)}),
    commits=7,
    requests=5,
)
EVENT = Deed(
    "calendar_event_create",
    {
        "title": "Review",
        "start": f"{_DAY}T14:00:00+09:00",
        "end": f"{_DAY}T15:00:00+09:00",
        "timeZone": "Asia/Tokyo",
        "attendees": ["bob@example.com", "carol@example.com"],
        "notify": "all",
    },
    "calendar.events.insert",
    ["bob@example.com", "carol@example.com"],
    "Review",
    lambda args, action_id: canonical(event.resource(args, id=event_id(action_id))),
    commits=7,
    requests=4,
)
DEEDS = {deed.tool: deed for deed in (MAIL, EVENT)}


@dataclass
class Google:
    """A model and a workspace, and the way there."""

    workspace: Workspace
    ledger: Path
    road: Road
    environ: Mapping[str, str]
    connected: Path
    """The home of a server with which everybody has connected their account."""
    tools: Sequence[str] = BOTH

    def shop(self, lab: Lab, *customers: Customer, calls: int = 3) -> Shop:
        """A new place for these customers, in a world in which nothing has happened yet."""
        shop = self.new_shop(lab, *customers)
        shutil.copytree(self.connected, shop.place.home, dirs_exist_ok=True)
        # As if it had been made there: a store knows when it is a copy, and nothing would run.
        with closing(sqlite3.connect(shop.place.home / "pollux.db", isolation_level=None)) as db:
            db.execute("DELETE FROM meta WHERE name = 'place'")
        shop.calls = calls
        return shop

    def new_shop(self, lab: Lab, *customers: Customer) -> Shop:
        """As `shop`, but nobody has connected an account yet."""
        self._begin_anew()
        return Shop(lab, lab.place(), self, list(customers), self.road)

    def lines(self) -> list[dict[str, Any]]:
        """What the ledger says was done."""
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def times(self, customer: Customer) -> int:
        line = deed_of(customer).line(customer.action_id)
        return sum(line.items() <= each.items() for each in self.lines())

    def oddities(self, customers: Sequence[Customer]) -> Iterator[str]:
        lines = self.lines()
        wanted = [deed_of(customer).line(customer.action_id) for customer in customers]
        if len(lines) > len(customers):
            yield f"{len(lines)} things were done for {len(customers)} wishes"
        for each in lines:
            if not any(line.items() <= each.items() for line in wanted):
                yield f"{each['method']} {each['id']}: it is not what was approved"
        for address, box in self.workspace.accounts.mailboxes.items():
            if box.drafts:
                yield f"{address} has {len(box.drafts)} drafts left over"

    def _begin_anew(self) -> None:
        self.workspace.accounts.mailboxes.clear()
        self.workspace.accounts.calendars.clear()
        self.workspace.requests.clear()
        self.workspace.ledger.clear()
        self.ledger.write_text("")


@dataclass(kw_only=True)
class Newcomer(Customer):
    """Somebody who connects their account first, as often as that needs."""

    workspace: Workspace
    is_connected: bool = False

    async def deal(self, person: Person) -> None:
        status = (await person.get("/api/google/status")).body
        if self.is_connected and not status["connected"]:
            self.blame("its account was connected, and is not any more")
        audit = (await person.get("/api/agent/audit")).body["items"]
        if status["connected"] != any(entry["kind"] == "connected" for entry in audit):
            self.blame("its account and the audit do not say the same")
        if not status["connected"]:
            got = await connect(person, self.workspace, account=f"{self.name}@example.com")
            assert got.status == 200, got
            self.is_connected = True
        await super().deal(person)


def deed_of(customer: Customer) -> Deed:
    return DEEDS[customer.wish.prompt.split()[1]]


def customer(deed: Deed, name: str = NAMES[0], route: Route = RUN) -> Customer:
    return Customer(deed.wish, name, route)


@asynccontextmanager
async def open_google(path: Path, *, names: Sequence[str] = NAMES[:1]) -> AsyncGenerator[Google]:
    """A world with nothing in it but these people's accounts, connected to a home."""
    path.mkdir()
    ledger = path / "ledger.jsonl"
    async with (
        run_emulator() as model,
        run_workspace(ledger=ledger, token_seconds=SHORT) as workspace,
        open_road() as road,
        road.to(model.url) as model_url,
        road.to(workspace.url) as workspace_url,
    ):
        environ = environ_for(path, workspace_url, model_url)
        await _connect_everybody(path, environ, workspace, names)
        workspace.grants.seconds = LONG
        yield Google(workspace, ledger, road, environ, path / "home")


async def _connect_everybody(
    path: Path, environ: Mapping[str, str], workspace: Workspace, names: Sequence[str]
) -> None:
    people = [customer(MAIL, name) for name in names]
    tokens = ",".join(f"{each.name}:{each.token}" for each in people)
    async with google_site(path, {**environ, "POLLUX_TOKENS": tokens}) as site:
        for each in people:
            person = Person(site.http, site.url, each.token)
            got = await connect(person, workspace, account=f"{each.name}@example.com")
            assert got.status == 200, got
