"""Tokens are renewed in time, by one request for everybody, and nothing is lost to whoever was faster."""

import asyncio
import gc
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from tests.tools.google.kept import KeptSecrets
from tests.tools.google.oauth_double import Form, failing, saying
from tests.tools.google.oauth_lab import ADA, BOB, KEY, Lab, lab
from tests.waiting import until

from pollux.core.errors import AuthError, Draining, PolluxError, ToolExecutionError
from pollux.core.ids import UserId
from pollux.core.redact import Secret
from pollux.tools.google.connection import Connections
from pollux.tools.google.scopes import CALENDAR, GMAIL
from pollux.tools.google.seal import Sealer


@pytest.fixture
async def it() -> AsyncGenerator[Lab]:
    async with lab() as made:
        yield made


async def expiring(it: Lab, user: UserId = ADA) -> Secret:
    """Connect, and let time go until the token has a minute left."""
    await it.connect(user)
    it.time += it.double.lifetime - 60
    return (await it.held(user)).access_token


async def test_a_token_is_renewed_a_minute_before_its_end_and_not_earlier(it: Lab):
    old = await expiring(it)
    it.time -= 1
    assert await it.oauth.token(ADA, GMAIL) == old
    it.time += 1
    new = await it.oauth.token(ADA, GMAIL)
    assert new != old and it.double.refreshes == 1
    assert await it.oauth.token(ADA, GMAIL) == new and it.double.refreshes == 1
    held = await it.held()
    assert (held.access_token, held.expires_at, held.email) == (new, it.time + it.double.lifetime, "ada@example.com")


async def test_google_auth_is_who_asks(it: Lab):
    await expiring(it)
    await it.oauth.token(ADA, GMAIL)
    assert " auth/" in it.double.agents[-1] and "cred-type/u" in it.double.agents[-1]
    assert "scope" not in it.double.asked[-1]


@pytest.mark.parametrize("refused", [False, True])
async def test_fifty_who_ask_at_once_make_one_request(it: Lab, refused: bool):
    old = await expiring(it)
    it.double.gate.clear()
    asking = [
        asyncio.create_task(it.oauth.renewed(ADA, GMAIL, old) if refused else it.oauth.token(ADA, GMAIL))
        for _ in range(50)
    ]
    await until(lambda: it.double.refreshes > 0)
    it.double.gate.set()
    assert len(set(await asyncio.gather(*asking))) == 1
    assert it.double.refreshes == 1


async def test_users_do_not_wait_for_each_other(it: Lab):
    await it.connect(BOB)
    await expiring(it)
    it.double.gate.clear()
    ada, bob = (asyncio.create_task(it.oauth.token(user, GMAIL)) for user in (ADA, BOB))
    await until(lambda: it.double.refreshes == 2)
    it.double.gate.set()
    assert await ada != await bob


@pytest.mark.parametrize("leaver", [0, 1])
async def test_who_is_cancelled_takes_nobody_along(it: Lab, leaver: int):
    await expiring(it)
    it.double.gate.clear()
    asking = [asyncio.create_task(it.oauth.token(ADA, GMAIL)) for _ in range(3)]
    await until(lambda: it.double.refreshes == 1)
    asking[leaver].cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking[leaver]
    it.double.gate.set()
    del asking[leaver]
    assert len(set(await asyncio.gather(*asking))) == 1 and it.double.refreshes == 1


async def test_what_all_have_stopped_waiting_for_is_kept_all_the_same(it: Lab):
    old = await expiring(it)
    it.double.gate.clear()
    asking = asyncio.create_task(it.oauth.token(ADA, GMAIL))
    await until(lambda: it.double.refreshes == 1)
    asking.cancel()
    await asyncio.wait({asking})
    it.double.gate.set()
    assert await it.oauth.token(ADA, GMAIL) == (await it.held()).access_token != old
    assert it.double.refreshes == 1


async def test_a_failure_that_all_have_stopped_waiting_for_is_no_alarm(it: Lab):
    alarms: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: alarms.append(context))
    await expiring(it)
    it.double.spoil = [failing(500)] * 3
    it.double.gate.clear()
    asking = asyncio.create_task(it.oauth.token(ADA, GMAIL))
    await until(lambda: it.double.refreshes == 1)
    asking.cancel()
    await asyncio.wait({asking})
    del asking  # It holds on to the flight.
    it.double.gate.set()
    await until(lambda: not any(task.get_name() == "google token" for task in asyncio.all_tasks()))
    await asyncio.sleep(0)  # It has ended; now whoever is called back for it.
    gc.collect()
    assert it.double.refreshes == 3 and not alarms


async def test_what_another_process_has_renewed_is_not_renewed_again(it: Lab):
    old = await expiring(it)
    new = await it.another().token(ADA, GMAIL)
    assert await it.oauth.token(ADA, GMAIL) == new
    assert await it.oauth.renewed(ADA, GMAIL, old) == new
    assert it.double.refreshes == 1


async def test_a_refused_token_is_renewed_once_although_it_seems_good(it: Lab):
    await it.connect()
    old = await it.oauth.token(ADA, GMAIL)
    new = await it.oauth.renewed(ADA, GMAIL, old)
    assert new != old and await it.oauth.renewed(ADA, GMAIL, old) == new
    assert it.double.refreshes == 1


async def test_who_joins_a_flight_that_brings_the_refused_token_gets_a_newer_one(it: Lab):
    class HeldBack(KeptSecrets):
        gate: asyncio.Event | None = None

        async def secret(self, user: UserId, name: str) -> bytes | None:
            if self.gate is not None:
                await self.gate.wait()
            return await super().secret(user, name)

    await expiring(it)
    secrets = HeldBack()
    secrets.blobs = it.secrets.blobs
    oauth = it.another(connections=Connections(secrets, Sealer([KEY])))
    secrets.gate = asyncio.Event()
    first = asyncio.create_task(oauth.renewed(ADA, GMAIL, Secret("something older")))
    await asyncio.sleep(0)
    refused = await it.another().token(ADA, GMAIL)
    second = asyncio.create_task(oauth.renewed(ADA, GMAIL, refused))
    await asyncio.sleep(0)
    secrets.gate.set()
    assert await first == refused != await second


async def test_access_taken_away_at_google_is_dropped_and_everybody_told_where_to_connect(it: Lab):
    await expiring(it)
    it.double.refresh_tokens.clear()
    asking = (it.oauth.token(ADA, GMAIL), it.oauth.token(ADA, CALENDAR))
    mail, calendar = await asyncio.gather(*asking, return_exceptions=True)
    assert isinstance(mail, AuthError) and mail.connect_url == "/api/google/connect?tools=gmail_send"
    assert isinstance(calendar, AuthError) and calendar.connect_url == "/api/google/connect?tools=calendar_event_create"
    assert not it.secrets.blobs and it.double.refreshes == 1


async def test_access_taken_away_is_noticed_at_the_last_try_too(it: Lab):
    await expiring(it)
    it.double.spoil = [failing(503), failing(503), saying(400, "invalid_grant")]
    with pytest.raises(AuthError, match="no Google account is connected"):
        await it.oauth.token(ADA, GMAIL)
    assert not it.secrets.blobs


async def test_access_that_needs_the_person_again_by_the_rules_of_their_company_is_dropped_too(it: Lab):
    await expiring(it)
    body = {"error": "invalid_grant", "error_subtype": "invalid_rapt"}
    it.double.spoil.append(lambda form: web.json_response(body, status=400))
    with pytest.raises(AuthError, match="no Google account is connected"):
        await it.oauth.token(ADA, GMAIL)


async def test_a_new_refresh_token_takes_the_place_of_the_old(it: Lab):
    await expiring(it)
    before = (await it.held()).refresh_token
    it.double.rotates = True
    await it.oauth.token(ADA, GMAIL)
    after = (await it.held()).refresh_token
    assert after != before and list(it.double.refresh_tokens) == [after.reveal()]


@pytest.mark.parametrize("is_fresh", [True, False])
async def test_a_refresh_token_that_another_process_replaced_meanwhile_is_not_the_end(it: Lab, is_fresh: bool):
    await expiring(it)
    it.double.rotates = True
    it.double.gate.clear()
    slow = asyncio.create_task(it.oauth.token(ADA, GMAIL))
    await until(lambda: it.double.refreshes == 1)
    held = await it.held()
    newer = Secret("canary-refresh-of-another-process")
    it.double.refresh_tokens = {newer.reveal(): sorted(GMAIL)}
    expires_at = it.time + (3000 if is_fresh else 10)
    await it.connections.put(
        ADA, replace(held, refresh_token=newer, access_token=Secret("theirs"), expires_at=expires_at)
    )
    it.double.gate.set()
    assert (await slow == Secret("theirs")) == is_fresh
    assert it.double.refreshes == (1 if is_fresh else 2)


def lost(form: Form) -> web.Response:
    """The connection ends without an answer."""
    raise asyncio.CancelledError


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 408, "lost"])
async def test_what_may_pass_is_tried_again(it: Lab, status: int | str):
    old = await expiring(it)
    spoilt: Any = failing(status) if isinstance(status, int) else lost
    it.double.spoil = [spoilt, spoilt]
    assert await it.oauth.token(ADA, GMAIL) != old
    assert (it.double.refreshes, it.pauses) == (3, [0.5, 1.0])


@pytest.mark.parametrize(
    "error", ["internal_failure", "server_error", "temporarily_unavailable", "rate_limit_exceeded"]
)
async def test_so_is_what_says_of_itself_that_it_will_pass(it: Lab, error: str):
    await expiring(it)
    it.double.spoil = [saying(403, error)]
    await it.oauth.token(ADA, GMAIL)
    assert (it.double.refreshes, it.pauses) == (2, [0.5])


async def test_after_three_tries_it_is_an_error_and_the_connection_stays(it: Lab):
    await expiring(it)
    before = await it.held()
    it.double.spoil = [failing(503)] * 3
    with pytest.raises(ToolExecutionError, match="could not be renewed: Google answered with HTTP status 503"):
        await it.oauth.token(ADA, GMAIL)
    assert it.double.refreshes == 3 and await it.held() == before
    await it.oauth.token(ADA, GMAIL)  # And the next one may succeed.


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", '{"access_token": 7}', '{"access_token": "a b"}', "<html>", '{"access_token":' * 2000]
)
async def test_an_answer_that_cannot_be_read_is_no_answer(it: Lab, body: str):
    await expiring(it)
    it.double.spoil = [lambda form: web.Response(text=body)] * 3
    with pytest.raises(ToolExecutionError, match="could not be renewed: Google's answer"):
        await it.oauth.token(ADA, GMAIL)


@pytest.mark.parametrize("body", ["", "[]", "null", '"canary"', "<html>canary", '{"error": {"code": 403}}'])
async def test_a_refusal_that_cannot_be_read_drops_nothing_and_repeats_nothing(it: Lab, body: str):
    await expiring(it)
    it.double.spoil = [lambda form: web.Response(status=403, text=body)]
    with pytest.raises(ToolExecutionError, match=r"\(HTTP status 403\)") as caught:
        await it.oauth.token(ADA, GMAIL)
    assert "canary" not in str(caught.value) and it.secrets.blobs and it.double.refreshes == 1


@pytest.mark.parametrize("error", ["invalid_client", "unauthorized_client", "invalid_request"])
async def test_a_refusal_of_this_installation_drops_nobodys_account(it: Lab, error: str):
    await expiring(it)
    it.double.spoil = [saying(401, error)]
    with pytest.raises(ToolExecutionError, match=f"{error}.*POLLUX_GOOGLE_CLIENT_SECRET"):
        await it.oauth.token(ADA, GMAIL)
    assert it.secrets.blobs and it.double.refreshes == 1


async def test_scopes_that_google_has_taken_back_are_noticed_when_the_token_is_renewed(it: Lab):
    await expiring(it)
    for scopes in it.double.refresh_tokens.values():
        scopes[:] = [scope for scope in scopes if scope not in CALENDAR]
    with pytest.raises(AuthError, match=r"calendar\.events"):
        await it.oauth.token(ADA, CALENDAR)
    await it.oauth.token(ADA, GMAIL)


async def test_who_connects_anew_while_a_token_is_renewed_keeps_the_new_account(it: Lab):
    await expiring(it)
    it.double.gate.clear()
    asking = asyncio.create_task(it.oauth.token(ADA, GMAIL))
    await until(lambda: it.double.refreshes == 1)
    held = await it.held()
    anew = replace(held, refresh_token=Secret("anew"), access_token=Secret("anew too"), expires_at=it.time + 3000)
    await it.connections.put(ADA, anew)
    it.double.gate.set()
    assert await asking == Secret("anew too") and await it.held() == anew


async def test_who_disconnects_while_a_token_is_renewed_stays_disconnected(it: Lab):
    await expiring(it)
    it.double.gate.clear()
    asking = asyncio.create_task(it.oauth.token(ADA, GMAIL))
    await until(lambda: it.double.refreshes == 1)
    assert (await it.oauth.revoke(ADA)).at_google
    it.double.refresh_tokens["canary-refresh-2"] = sorted(GMAIL)  # Google answers the earlier request all the same.
    it.double.gate.set()
    with pytest.raises(AuthError, match="no Google account is connected"):
        await asking
    assert not it.secrets.blobs


async def test_closing_ends_what_is_under_way_and_tells_who_waits(it: Lab):
    await expiring(it)
    it.double.gate.clear()
    asking = [asyncio.create_task(it.oauth.token(ADA, GMAIL)) for _ in range(2)]
    await until(lambda: it.double.refreshes == 1)
    await it.oauth.close()
    for each in asking:
        with pytest.raises(Draining):
            await each
    # Neither the flight nor its request is left behind.
    await until(
        lambda: not any("tools/google" in repr(task) and "test" not in repr(task) for task in asyncio.all_tasks())
    )
    await it.oauth.close()


async def test_without_the_extra_the_error_says_what_to_install(it: Lab, monkeypatch: pytest.MonkeyPatch):
    await expiring(it)
    monkeypatch.setitem(sys.modules, "google.oauth2.credentials", None)
    with pytest.raises(PolluxError, match=r"pip install 'pollux\[google\]'"):
        await it.oauth.token(ADA, GMAIL)
