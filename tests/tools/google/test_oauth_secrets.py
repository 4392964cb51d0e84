"""No secret of a connection is ever told: not in logs, reprs, errors or answers. The double's are all canaries."""

import logging
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from tests.tools.google.oauth_double import CLIENT_SECRET, REDIRECT, failing, saying
from tests.tools.google.oauth_lab import ADA, BOB, KEY, Lab, lab, query_of

from pollux.core.errors import PolluxError
from pollux.core.redact import Secret, redact
from pollux.tools.google.consent import Consents
from pollux.tools.google.endpoint import Granted
from pollux.tools.google.scopes import CALENDAR, GMAIL


@pytest.fixture
async def it() -> AsyncGenerator[Lab]:
    async with lab() as made:
        yield made


def secrets_of(it: Lab) -> list[Secret]:
    """Whatever went over the wire that only Google and we may know."""
    sent = [
        form.get(name, "") for form in it.double.asked for name in ("code", "code_verifier", "refresh_token", "token")
    ]
    made = [f"canary-{what}-{number}" for what in ("code", "access", "refresh") for number in range(it.double.made + 1)]
    return [Secret(value) for value in {CLIENT_SECRET, *sent, *made} if value]


def errors_in(problem: BaseException | None) -> Iterator[BaseException]:
    """The error and all it came from, also what is suppressed when it is printed."""
    while problem is not None:
        yield problem
        problem = problem.__cause__ or problem.__context__


async def raised(asking: Awaitable[Any]) -> str:
    """All that an error says, if one comes."""
    try:
        return repr(await asking)
    except PolluxError as problem:
        chain = list(errors_in(problem))
        return "\n".join([*traceback.format_exception(problem), *map(repr, chain), *(repr(vars(one)) for one in chain)])


async def begun_again(it: Lab) -> tuple[str, str]:
    return it.double.agree((await it.oauth.begin(ADA, GMAIL, REDIRECT)).url)


Step = Callable[[Lab], Awaitable[str]]


async def connecting(it: Lab) -> str:
    return await raised(it.connect())


async def a_code_used_twice(it: Lab) -> str:
    state, code = await begun_again(it)
    await it.another().finish(state, code, user=ADA)
    return await raised(it.another().finish(state, code, user=ADA)) + await raised(
        it.oauth.finish(state, code, user=BOB)
    )


async def a_wrong_client(it: Lab) -> str:
    it.double.spoil = [saying(401, "invalid_client")]
    return await raised(it.connect())


async def an_error_of_its_own(it: Lab) -> str:
    it.double.spoil = [saying(400, "canary-code-1")]
    return await raised(it.connect())


async def a_failure(it: Lab) -> str:
    it.double.spoil = [failing(500)]
    return await raised(it.connect())


async def renewing(it: Lab) -> str:
    await it.connect()
    it.time += 3600
    return await raised(it.oauth.token(ADA, GMAIL))


async def renewing_in_vain(it: Lab) -> str:
    await it.connect()
    it.time += 3600
    it.double.spoil = [failing(500)] * 3
    return await raised(it.oauth.token(ADA, GMAIL))


async def renewing_refused(it: Lab) -> str:
    await it.connect()
    it.time += 3600
    it.double.spoil = [saying(400, "invalid_scope")]
    return await raised(it.oauth.token(ADA, GMAIL))


async def revoked_meanwhile(it: Lab) -> str:
    await it.connect()
    it.double.refresh_tokens.clear()
    return await raised(it.oauth.renewed(ADA, GMAIL, (await it.held()).access_token))


async def looking(it: Lab) -> str:
    await it.connect()
    held = await it.held()
    begun = await it.oauth.begin(ADA, CALENDAR, REDIRECT)
    shown = (await it.oauth.status(ADA), held, begun, it.oauth, vars(it.oauth), it.oauth.refusal(GMAIL))
    return f"{shown!r} {held}"


async def disconnecting(it: Lab) -> str:
    await it.connect()
    it.double.spoil = [saying(400, "invalid_request")]
    told = await raised(it.oauth.revoke(ADA))
    await it.connect()
    return told + await raised(it.oauth.revoke(ADA))


STEPS: list[Step] = [
    connecting,
    a_code_used_twice,
    a_wrong_client,
    an_error_of_its_own,
    a_failure,
    renewing,
    renewing_in_vain,
    renewing_refused,
    revoked_meanwhile,
    looking,
    disconnecting,
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
async def test_nothing_secret_is_told(it: Lab, step: Step, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG):
        for name in ("google", "google.auth", "google.oauth2", "pollux", "aiohttp", "asyncio"):
            caplog.set_level(logging.DEBUG, logger=name)
        told = await step(it)
    told += caplog.text + "".join(repr(vars(record)) for record in caplog.records)
    secrets = secrets_of(it)
    assert len(secrets) > 3 and it.double.asked
    assert redact(told, secrets) == told


async def test_the_cookie_and_the_verifier_show_in_no_repr(it: Lab):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    consent = Consents(KEY, now=lambda: it.time).taken(query_of(begun)["state"], user=ADA, binding=None)
    shown = f"{begun!r} {consent!r} {vars(it.oauth)!r}"
    assert begun.binding not in shown and consent.verifier.reveal() not in shown
    assert repr(Granted(Secret("a"), 1.0, None, None, "ada@example.com")) == "Granted([redacted])"


async def test_the_store_sees_only_what_is_sealed(it: Lab):
    await it.connect()
    blob = it.secrets.blobs[ADA, "google"].decode("latin-1")
    assert redact(blob, [*secrets_of(it), Secret("ada@example.com"), Secret("gmail.send")]) == blob
