"""An account's whole life at the workspace emulator, which speaks OAuth as Google does: reached by base URL alone."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.tools.google.kept import KeptSecrets
from tests.tools.google.oauth_double import REDIRECT

from pollux.core.errors import AuthError, ToolExecutionError
from pollux.core.ids import UserId
from pollux.core.redact import Secret
from pollux.emulator.workspace import Workspace, run_workspace
from pollux.providers.http import AiohttpHttp
from pollux.tools.google.connection import Connections
from pollux.tools.google.oauth import Finished, GoogleOAuth, Revoked
from pollux.tools.google.scopes import CALENDAR, GMAIL
from pollux.tools.google.seal import Sealer

ADA = UserId("ada")
KEY = b"k" * 32


@dataclass
class Story:
    """The emulator and its client, which share a clock."""

    workspace: Workspace
    http: AiohttpHttp
    time: list[float]
    connections: Connections = field(default_factory=lambda: Connections(KeptSecrets(), Sealer([KEY])))
    oauth: GoogleOAuth = field(init=False)

    def __post_init__(self) -> None:
        self.oauth = GoogleOAuth(
            client_id="pollux-tests",
            client_secret=Secret("canary-client"),
            connections=self.connections,
            http=self.http,
            state_key=KEY,
            base=self.workspace.url,
            now=lambda: self.time[0],
            pause=lambda seconds: asyncio.sleep(0),
        )

    async def connect(self, wanted: frozenset[str], *, account: str = "ada@example.com") -> Finished:
        begun = await self.oauth.begin(ADA, wanted, REDIRECT)
        back = urlsplit(self.workspace.allow(begun.url, account=account))
        answer = {name: values[0] for name, values in parse_qs(back.query).items()}
        return await self.oauth.finish(answer["state"], answer["code"], binding=begun.binding)

    def is_good(self, token: Secret) -> bool:
        return self.workspace.grants.access(token.reveal()) is not None

    @property
    def asked(self) -> int:
        return sum(request.path == "/token" for request in self.workspace.requests)


@pytest.fixture
async def story() -> AsyncGenerator[Story]:
    time = [1_800_000_000.0]
    http = AiohttpHttp()
    async with run_workspace(clock=lambda: time[0]) as workspace:
        made = Story(workspace, http, time)
        yield made
        await made.oauth.close()
        await http.close()


async def test_connect_ask_for_more_renew_and_disconnect(story: Story):
    finished = await story.connect(GMAIL)
    assert (finished.email, finished.missing) == ("ada@example.com", frozenset())
    first = await story.oauth.token(ADA, GMAIL)
    assert story.is_good(first)

    with pytest.raises(AuthError, match=r"calendar\.events"):
        await story.oauth.token(ADA, CALENDAR)
    assert (await story.connect(CALENDAR)).scopes >= GMAIL | CALENDAR

    story.time[0] += 3600
    second = await story.oauth.token(ADA, GMAIL | CALENDAR)
    assert story.is_good(second) and not story.is_good(first) and story.asked == 3

    assert await story.oauth.revoke(ADA) == Revoked(True, True, "the Google account is disconnected")
    assert not story.is_good(second) and not (await story.oauth.status(ADA)).connected


async def test_a_token_that_ended_early_is_renewed_for_all_by_one_request(story: Story):
    await story.connect(GMAIL)
    old = await story.oauth.token(ADA, GMAIL)
    story.workspace.grants.expire()
    new = await asyncio.gather(*(story.oauth.renewed(ADA, GMAIL, old) for _ in range(50)))
    assert len(set(new)) == 1 and story.is_good(new[0]) and story.asked == 2


@pytest.mark.parametrize("fault", ["lost", "lost-before", "half", "html", "500", "502", "503", "429", "403-rate"])
async def test_two_failures_are_passed_over_and_a_third_is_told(story: Story, fault: str):
    await story.connect(GMAIL)
    story.time[0] += 3600
    story.workspace.fault(fault, path="/token", times=5)
    with pytest.raises(ToolExecutionError, match="could not be renewed"):
        await story.oauth.token(ADA, GMAIL)
    assert story.asked == 4
    assert story.is_good(await story.oauth.token(ADA, GMAIL)) and story.asked == 7


async def test_access_revoked_at_google_means_connecting_again(story: Story):
    await story.connect(GMAIL)
    old = await story.oauth.token(ADA, GMAIL)
    story.workspace.grants.revoke(old.reveal())
    with pytest.raises(AuthError) as caught:
        await story.oauth.renewed(ADA, GMAIL, old)
    assert caught.value.connect_url == "/api/google/connect?tools=gmail_send"
    await story.connect(GMAIL)
    assert story.is_good(await story.oauth.token(ADA, GMAIL))


async def test_an_account_that_agreed_before_is_asked_again_when_we_have_lost_its_token(story: Story):
    await story.connect(GMAIL)
    await story.connections.drop(ADA)
    assert (await story.connect(GMAIL)).email == "ada@example.com"
