"""The workspace emulator as a running server: take in, choose a fault, answer, send.

Law: every effect is one step between two waits, its line in the ledger first. What a fault breaks, it breaks before
that step or after it, never within.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

from pollux.emulator import transport
from pollux.emulator.answer import Answer
from pollux.emulator.faults import HEADER, Fault, UnknownFault
from pollux.emulator.guard import application
from pollux.emulator.recorder import RecordedRequest
from pollux.emulator.workspace import api, consent, faults, incoming, oauth, scopes, spoil
from pollux.emulator.workspace.accounts import Accounts
from pollux.emulator.workspace.desk import Desk
from pollux.emulator.workspace.faults import FaultBook, read_rules
from pollux.emulator.workspace.grants import TOKEN_SECONDS, Grants
from pollux.emulator.workspace.incoming import Incoming
from pollux.emulator.workspace.ledger import Entry, Ledger
from pollux.emulator.workspace.made import Made
from pollux.emulator.workspace.refusal import OAuthRefusal

_LARGEST = 8 * 1024 * 1024
# A server left running must not grow without end.
_KEPT = 10_000
_KEPT_BYTES = 64 * 1024 * 1024
_OAUTH = {("GET", consent.PATH), ("POST", consent.PATH), ("POST", "/token"), ("POST", "/revoke")}


class Workspace:
    """A running workspace emulator: where it is, what it saw, what it did."""

    def __init__(
        self,
        *,
        seed: int = 0,
        ledger: Path | None = None,
        scenario: object = None,
        token_seconds: int = TOKEN_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.url = ""
        self.requests: list[RecordedRequest] = []
        self.faults = FaultBook(read_rules(scenario))
        self.closing = asyncio.Event()
        made = Made(seed)
        self.accounts = Accounts(made)
        self.grants = Grants(clock, token_seconds)
        self._ledger = Ledger(ledger)
        self._clock = clock
        self._world = api.World(accounts=self.accounts, grants=self.grants, ledger=self._ledger, made=made)
        self._desk = Desk(self.accounts, self._ledger, self.faults, self.requests)

    @property
    def ledger(self) -> list[Entry]:
        """Every effect so far, oldest first."""
        return self._ledger.entries

    def tokens(self, scopes: Iterable[str], *, account: str = consent.ACCOUNT, client: str = "demo") -> dict[str, Any]:
        """What the token endpoint would answer had this account (in small letters) allowed these scopes."""
        self.accounts.mailbox(account)
        return self.grants.issue(client, account, frozenset(scopes))

    def allow(self, url: str, *, account: str = consent.ACCOUNT, scopes: Iterable[str] | None = None) -> str:
        """Be the person who is sent to `url` and allows what it asks for, or these scopes of it; where it leads to."""
        asked = consent.read(_single(urlsplit(url).query))
        chosen = frozenset(asked.scopes if scopes is None else scopes)
        return self._leave(asked, account, chosen).headers["Location"]

    def fault(
        self,
        text: str,
        *,
        method: str = "",
        path: str = "",
        contains: str = "",
        times: int | None = None,
        after: int = 0,
    ) -> None:
        """Spoil requests from now on: `fault("lost", method="drafts.send", times=1)`. Raises UnknownFault."""
        match = {"method": method, "path": path, "contains": contains}
        self.faults.rules += read_rules([{"match": match, "fault": text, "times": times, "after": after}])

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request of any kind."""
        try:
            asked = await incoming.read(request)
        except web.HTTPRequestEntityTooLarge:
            return await self._send(request, api.refuse(api.too_large(), method="gmail."), None)
        if (own := self._desk.answer(asked, self.url)) is not None:
            return await self._send(request, own, None)
        self._remember(incoming.kept(request, asked))
        found = scopes.find(asked.verb, asked.path)
        try:
            fault = self._fault(asked, found[0].id if found else "")
        except UnknownFault as error:
            return await self._send(request, api.in_json({"error": str(error)}, status=400), None)
        if fault is not None and fault.kind == "lost-before":
            return await self._send(request, Answer(200, (), ""), fault)
        return await self._send(request, self._answer(asked, found, fault), fault)

    def _answer(
        self, asked: Incoming, found: tuple[scopes.Method, dict[str, str]] | None, fault: Fault | None
    ) -> Answer:
        said = spoil.said(fault, found[0] if found else None) if fault is not None else None
        if said is not None and fault is not None and not spoil.has_effect(fault):
            return said
        is_oauth = (asked.verb, asked.path) in _OAUTH
        real = self._oauth(asked) if is_oauth else api.answer(asked, found, self._world, now=self._clock())
        return said or real

    def _oauth(self, asked: Incoming) -> Answer:
        form = {key: values[-1] for key, values in (dict(asked.query) | asked.form).items()}
        try:
            match asked.path:
                case "/token":
                    authorization = asked.headers.get("Authorization", "")
                    return api.in_json(oauth.token(form, authorization, self.grants))
                case "/revoke":
                    return api.in_json(oauth.revoke(form, self.grants))
                case _:
                    return self._consent(asked)
        except OAuthRefusal as refused:
            return api.in_json(refused.body, status=refused.status)
        except consent.BadRequest as error:
            return consent.refuse(error)

    def _consent(self, asked: Incoming) -> Answer:
        wanted = consent.read({key: values[-1] for key, values in asked.query.items()})
        if asked.verb == "GET":
            return consent.show(wanted, asked.query_string)
        # Another site's page may send its visitor here, but it may not press the button for them.
        if asked.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise consent.BadRequest("access_denied", "The answer must come from this page.", status=403)
        account, allowed = consent.decided(wanted, asked.form)
        return self._leave(wanted, account, allowed)

    def _leave(self, wanted: consent.Asked, account: str, allowed: frozenset[str]) -> Answer:
        if allowed:
            self.accounts.mailbox(account)
        return consent.leave(wanted, self.grants, account=account, scopes=allowed)

    def _fault(self, asked: Incoming, id: str) -> Fault | None:
        text = asked.text if any(rule.contains for rule in self.faults.rules) else ""
        header = asked.headers.get(HEADER)
        return self.faults.choose(header=header, verb=asked.verb, id=id, path=asked.path, text=text)

    async def _send(self, request: web.Request, answer: Answer, fault: Fault | None) -> web.StreamResponse:
        broken = spoil.broken(answer, fault)
        if fault is not None and fault.kind == "slow":
            await _wait(self.closing, faults.seconds(fault))
        return await transport.send(request, answer, fault=broken, closing=self.closing)

    def _remember(self, recorded: RecordedRequest) -> None:
        self.requests.append(recorded)
        if len(self.requests) > _KEPT or sum(len(one.content) for one in self.requests) > _KEPT_BYTES:
            del self.requests[: (len(self.requests) + 1) // 2]


@asynccontextmanager
async def run_workspace(
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    seed: int = 0,
    ledger: Path | None = None,
    scenario: object = None,
    token_seconds: int = TOKEN_SECONDS,
    clock: Callable[[], float] = time.time,
) -> AsyncGenerator[Workspace]:
    """Run the emulator in this process for as long as the block lasts. `scenario` is a list of rules for faults."""
    workspace = Workspace(seed=seed, ledger=ledger, scenario=scenario, token_seconds=token_seconds, clock=clock)
    guarded = application(workspace.handle, host=host, largest=_LARGEST)
    runner = web.AppRunner(guarded, access_log=None, shutdown_timeout=1.0, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        workspace.url = f"http://{host}:{runner.addresses[0][1]}"
        yield workspace
    finally:
        workspace.closing.set()
        await runner.cleanup()


async def _wait(closing: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(closing.wait(), seconds)
    except TimeoutError:
        pass


def _single(query: str) -> dict[str, str]:
    return {key: values[-1] for key, values in parse_qs(query, keep_blank_values=True).items()}
