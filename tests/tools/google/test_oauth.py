"""Connecting an account: begin, agree, finish, look, disconnect."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from tests.tools.google.oauth_double import REDIRECT, Form, failing, id_token, saying
from tests.tools.google.oauth_lab import ADA, BOB, KEY, Lab, lab, query_of

from pollux.core.errors import AuthError, PolluxError, ToolExecutionError, ValidationError
from pollux.core.ids import UserId
from pollux.core.redact import Secret
from pollux.tools.google.consent import Consents
from pollux.tools.google.endpoint import email_in
from pollux.tools.google.oauth import Revoked, Status
from pollux.tools.google.scopes import CALENDAR, GMAIL, IDENTITY


@pytest.fixture
async def it() -> AsyncGenerator[Lab]:
    async with lab() as made:
        yield made


async def test_an_account_is_connected_and_its_token_given_out(it: Lab):
    finished = await it.connect()
    assert (finished.user, finished.email, finished.missing) == (ADA, "ada@example.com", frozenset())
    assert finished.scopes >= GMAIL | CALENDAR
    assert (await it.oauth.token(ADA, GMAIL | IDENTITY)).reveal().startswith("canary-access-")
    assert it.double.refreshes == 0


async def test_without_a_base_the_addresses_are_googles(it: Lab):
    begun = await it.another(base=None).begin(ADA, GMAIL, REDIRECT)
    assert begun.url.startswith("https://accounts.google.com/o/oauth2/v2/auth?client_id=")


async def test_the_first_question_asks_for_consent_and_names_nobody(it: Lab):
    asked = query_of(await it.oauth.begin(ADA, GMAIL, REDIRECT))
    assert asked["prompt"] == "consent" and "login_hint" not in asked
    assert set(asked["scope"].split()) == GMAIL | IDENTITY


async def test_a_later_question_names_the_account_and_asks_for_consent_only_to_something_new(it: Lab):
    await it.connect(scopes=GMAIL)
    same = query_of(await it.oauth.begin(ADA, GMAIL, REDIRECT))
    assert "prompt" not in same and same["login_hint"] == "ada@example.com"
    assert query_of(await it.oauth.begin(ADA, CALENDAR, REDIRECT))["prompt"] == "consent"


async def test_two_questions_share_nothing_that_could_be_guessed(it: Lab):
    first, second = await it.oauth.begin(ADA, GMAIL, REDIRECT), await it.oauth.begin(ADA, GMAIL, REDIRECT)
    for name in ("state", "code_challenge"):
        assert query_of(first)[name] != query_of(second)[name]
    assert first.binding != second.binding


async def test_the_verifier_and_the_binding_are_not_in_the_address(it: Lab):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    state, code = it.double.agree(begun.url)
    await it.oauth.finish(state, code, binding=begun.binding)
    verifier = it.double.asked[0]["code_verifier"]
    assert len(verifier) >= 43 and verifier not in begun.url and begun.binding not in begun.url


async def test_the_browser_that_began_may_come_back_without_showing_who_it_is(it: Lab):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    assert (await it.oauth.finish(*it.double.agree(begun.url), binding=begun.binding)).user == ADA


@pytest.mark.parametrize("binding", [None, "", "x", "\ud800"])
async def test_a_stranger_who_was_sent_the_link_connects_nothing(it: Lab, binding: str | None):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    state, code = it.double.agree(begun.url)
    with pytest.raises(AuthError, match="this browser is not signed in, or did not begin"):
        await it.oauth.finish(state, code, binding=binding)
    assert not it.secrets.blobs and not it.double.asked
    await it.oauth.finish(state, code, user=ADA)  # It was not used up for whoever began.


async def test_another_user_is_refused_even_with_the_cookie_of_the_one_who_began(it: Lab):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    with pytest.raises(AuthError, match="another user began"):
        await it.oauth.finish(*it.double.agree(begun.url), user=BOB, binding=begun.binding)
    assert not it.secrets.blobs and not it.double.asked


async def test_the_binding_of_another_question_does_not_do(it: Lab):
    begun, other = await it.oauth.begin(ADA, GMAIL, REDIRECT), await it.oauth.begin(BOB, GMAIL, REDIRECT)
    with pytest.raises(AuthError):
        await it.oauth.finish(*it.double.agree(begun.url), binding=other.binding)


async def test_an_answer_is_taken_once(it: Lab):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    state, code = it.double.agree(begun.url)
    await it.oauth.finish(state, code, user=ADA)
    with pytest.raises(ValidationError, match="used already"):
        await it.oauth.finish(state, code, user=ADA)
    assert len(it.double.asked) == 1


async def test_another_process_can_finish_and_googles_code_is_what_makes_it_once(it: Lab):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    state, code = it.double.agree(begun.url)
    assert (await it.another().finish(state, code, user=ADA)).email == "ada@example.com"
    kept = await it.held()
    with pytest.raises(AuthError, match="used already or is too old") as caught:
        await it.another().finish(state, code, user=ADA)
    assert caught.value.connect_url == "/api/google/connect?tools=gmail_send"
    assert await it.held() == kept


async def test_a_code_of_another_question_is_refused_by_google(it: Lab):
    mine, other = await it.oauth.begin(ADA, GMAIL, REDIRECT), await it.oauth.begin(BOB, GMAIL, REDIRECT)
    _, code = it.double.agree(other.url)
    with pytest.raises(AuthError):
        await it.oauth.finish(query_of(mine)["state"], code, user=ADA)
    assert not it.secrets.blobs


async def test_after_ten_minutes_it_is_too_late(it: Lab):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    assert begun.expires_at == it.time + 600
    it.time += 600
    with pytest.raises(ValidationError, match="older than 10 minutes"):
        await it.oauth.finish(*it.double.agree(begun.url), user=ADA)


async def test_what_was_taken_is_remembered_only_as_long_as_it_could_come_again(it: Lab):
    consents = Consents(KEY, now=lambda: it.time)
    for _ in range(100):
        state, _ = consents.asked(ADA, GMAIL, REDIRECT)
        consents.taken(state, user=ADA, binding=None)
        it.time += 60
    assert len(vars(consents)["_taken"]) <= 11


async def test_a_state_of_another_key_is_none_of_ours(it: Lab):
    begun = await it.another(state_key=b"another key of 32 bytes ........").begin(ADA, GMAIL, REDIRECT)
    with pytest.raises(ValidationError, match="expected the `state` that connecting began with"):
        await it.oauth.finish(*it.double.agree(begun.url), user=ADA)


STATES = Consents(KEY, now=lambda: 0.0)
STATE, _ = STATES.asked(ADA, GMAIL, REDIRECT)


@given(st.text(max_size=60) | st.text(alphabet="ABab01-_=", max_size=300) | st.just("A" * 100_000))
def test_an_invented_state_is_refused_and_breaks_nothing(state: str):
    with pytest.raises(ValidationError):
        STATES.taken(state, user=ADA, binding=None)


@given(st.integers(0, len(STATE) - 1), st.characters(codec="utf-8"), st.booleans())
def test_a_state_that_was_changed_anywhere_is_refused(place: int, char: str, cut: bool):
    changed = STATE[:place] + ("" if cut else char) + STATE[place + 1 :]
    if changed != STATE:
        with pytest.raises(ValidationError):
            STATES.taken(changed, user=ADA, binding=None)


@pytest.mark.parametrize("ending", ["=", "==", "\n", " ", "A"])
def test_a_state_has_one_spelling(ending: str):
    with pytest.raises(ValidationError):
        STATES.taken(STATE + ending, user=ADA, binding=None)


async def test_denied_consent_says_so_and_where_to_try_again(it: Lab):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    with pytest.raises(AuthError, match=r"was not connected: .*gmail\.send") as caught:
        await it.oauth.finish(query_of(begun)["state"], None, user=ADA, error="access_denied")
    assert caught.value.connect_url == "/api/google/connect?tools=gmail_send"


@pytest.mark.parametrize(("error", "told"), [("org_internal", "org_internal"), ("<b>canary", "no known reason")])
async def test_another_error_on_the_way_back_is_told_by_known_words_only(it: Lab, error: str, told: str):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    with pytest.raises(ToolExecutionError, match=told) as caught:
        await it.oauth.finish(query_of(begun)["state"], None, user=ADA, error=error)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("code", [None, "", "x" * 3000, "a\nb", "\ud800", "ü"])
async def test_an_answer_without_a_usable_code_is_refused(it: Lab, code: str | None):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    with pytest.raises(ValidationError, match="`code`"):
        await it.oauth.finish(query_of(begun)["state"], code, user=ADA)
    assert not it.double.asked


async def test_what_was_granted_is_kept_and_the_rest_is_named(it: Lab):
    finished = await it.connect(only=CALENDAR)
    assert finished.missing == GMAIL
    await it.oauth.token(ADA, CALENDAR)
    with pytest.raises(AuthError, match=r"does not grant gmail\.compose, gmail\.metadata, gmail\.send") as caught:
        await it.oauth.token(ADA, GMAIL)
    assert caught.value.connect_url == "/api/google/connect?tools=gmail_send"


async def test_who_grants_nothing_of_it_keeps_what_there_was(it: Lab):
    await it.connect(scopes=GMAIL)
    before = await it.held()
    with pytest.raises(AuthError, match=r"calendar\.events was not agreed to"):
        await it.connect(scopes=CALENDAR, only=frozenset())
    assert await it.held() == before


async def test_an_answer_without_a_refresh_token_keeps_the_one_from_before(it: Lab):
    await it.connect()
    before = await it.held()
    await it.connect(silent=True)
    after = await it.held()
    assert after.refresh_token == before.refresh_token and after.access_token != before.access_token


@pytest.mark.parametrize(
    ("first", "then"), [("ada@example.com", None), ("ada@example.com", "eve@example.com"), (None, None)]
)
async def test_but_not_the_one_of_what_may_be_another_account(it: Lab, first: str | None, then: str | None):
    await it.connect(email=first)
    before = await it.held()
    with pytest.raises(AuthError, match="Disconnect the account, then connect it again"):
        await it.connect(silent=True, email=then)
    assert await it.held() == before


async def test_a_first_answer_without_a_refresh_token_connects_nothing(it: Lab):
    with pytest.raises(AuthError, match="no lasting access"):
        await it.connect(silent=True)
    assert not it.secrets.blobs


async def test_an_account_that_does_not_say_who_it_is_is_connected_all_the_same(it: Lab):
    assert (await it.connect(email=None)).email is None
    assert (await it.oauth.status(ADA)).connected


@pytest.mark.parametrize(
    ("token", "email"),
    [
        (id_token({"email": "ada@example.com", "exp": 1}), "ada@example.com"),
        (id_token({}), None),
        (id_token({"email": 7}), None),
        (id_token({"email": "no address"}), None),
        (id_token({"email": "a@b\n<script>"}), None),
        (id_token({"email": "a" * 400 + "@b"}), None),
        ("", None),
        ("a.b", None),
        ("a.ü.c", None),
        ("a.!!!.c", None),
        ("a.bm90IGpzb24.c", None),
    ],
)
def test_the_address_is_read_from_the_id_token_or_left_open(token: str, email: str | None):
    assert email_in(token) == email


@given(st.text(max_size=50))
def test_no_id_token_breaks_anything(text: str):
    assert email_in(text) is None or "@" in text


def answering(answer: object) -> Any:
    def spoilt(form: Form) -> web.Response:
        return web.json_response(answer)

    return spoilt


def portal(form: Form) -> web.Response:
    return web.Response(text="<html>Sign in to the hotel's network</html>")


def noise(form: Form) -> web.Response:
    return web.Response(body=b"\xff\xfe")


@pytest.mark.parametrize(
    "spoilt",
    [
        failing(500),
        failing(429),
        answering([]),
        answering({}),
        answering({"access_token": ""}),
        answering({"access_token": "a\r\nX: y", "refresh_token": "r"}),
        answering({"access_token": "a", "expires_in": "soon"}),
        portal,
        noise,
    ],
)
async def test_when_google_gives_no_answer_nothing_is_connected(it: Lab, spoilt: Any):
    it.double.spoil.append(spoilt)
    with pytest.raises(ToolExecutionError, match="nothing was connected"):
        await it.connect()
    assert not it.secrets.blobs and len(it.double.asked) == 1


async def test_when_nobody_listens_at_all_the_error_says_so(it: Lab):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    state, code = it.double.agree(begun.url)
    with pytest.raises(ToolExecutionError, match=r"gave no answer: the connection to 127\.0\.0\.1:1 failed"):
        await it.another(base="http://127.0.0.1:1").finish(state, code, user=ADA)


async def test_an_answer_that_does_not_name_scopes_or_lifetime_means_what_was_asked_and_an_hour(it: Lab):
    it.double.spoil.append(answering({"access_token": "canary-a", "refresh_token": "canary-r"}))
    assert (await it.connect(scopes=GMAIL)).scopes == GMAIL | IDENTITY
    assert (await it.held()).expires_at == it.time + 3600


async def test_a_wrong_client_secret_is_a_matter_for_whoever_installed_this(it: Lab):
    begun = await it.oauth.begin(ADA, GMAIL, REDIRECT)
    wrong = it.another(client_secret=Secret("canary-wrong"))
    with pytest.raises(ToolExecutionError, match=r"\(invalid_client\). Check POLLUX_GOOGLE_CLIENT_ID"):
        await wrong.finish(*it.double.agree(begun.url), user=ADA)


async def test_status_tells_whose_account_it_is_and_no_more(it: Lab):
    assert await it.oauth.status(ADA) == Status(connected=False)
    finished = await it.connect()
    expected = Status(
        connected=True, email="ada@example.com", scopes=finished.scopes, expires_at=it.time + it.double.lifetime
    )
    assert await it.oauth.status(ADA) == expected
    assert await it.oauth.status(BOB) == Status(connected=False)


async def test_disconnecting_ends_it_at_google_and_here(it: Lab):
    await it.connect()
    token = (await it.held()).refresh_token
    revoked = await it.oauth.revoke(ADA)
    assert revoked == Revoked(True, True, "the Google account is disconnected")
    assert it.double.asked[-1] == {"token": token.reveal()} and not it.double.refresh_tokens
    assert await it.oauth.status(ADA) == Status(connected=False)
    assert not (await it.oauth.revoke(ADA)).was_connected


@pytest.mark.parametrize("spoilt", [failing(503), saying(400, "invalid_request")])
async def test_disconnecting_forgets_it_here_also_when_google_does_not_hear(it: Lab, spoilt: Any):
    await it.connect()
    it.double.spoil.append(spoilt)
    revoked = await it.oauth.revoke(ADA)
    assert (revoked.was_connected, revoked.at_google) == (True, False)
    assert "https://myaccount.google.com/connections" in revoked.message and not it.secrets.blobs


async def test_disconnecting_when_google_is_gone_or_knows_it_no_more(it: Lab):
    await it.connect()
    assert not (await it.another(base="http://127.0.0.1:1").revoke(ADA)).at_google
    await it.connect()
    it.double.refresh_tokens.clear()
    assert (await it.oauth.revoke(ADA)).at_google
    assert not it.secrets.blobs


async def test_a_connection_that_no_key_opens_can_be_seen_replaced_and_dropped(it: Lab):
    await it.connect()
    it.secrets.blobs[ADA, "google"] = b"of another key"
    status = await it.oauth.status(ADA)
    assert not status.connected and "sealed with a key that is not among" in status.problem
    with pytest.raises(AuthError, match="Put the old key back") as caught:
        await it.oauth.token(ADA, GMAIL)
    assert caught.value.connect_url == "/api/google/connect?tools=gmail_send"
    with pytest.raises(AuthError, match="Put the old key back"):
        await it.oauth.renewed(ADA, GMAIL, Secret("stale"))
    with pytest.raises(AuthError, match="no lasting access"):
        await it.connect(silent=True)
    await it.connect()
    it.secrets.blobs[ADA, "google"] = b"of another key"
    assert await it.oauth.revoke(ADA) and not it.secrets.blobs


async def test_a_refusal_names_the_scopes_and_where_to_get_them(it: Lab):
    refusal = it.oauth.refusal(CALENDAR | GMAIL)
    assert isinstance(refusal, PolluxError) and "calendar.events, gmail.compose" in str(refusal)
    assert refusal.connect_url == "/api/google/connect?tools=gmail_send,calendar_event_create"
    assert it.another(connect_path="/x").refusal(frozenset({"openid"})).connect_url == "/x"


async def test_a_user_without_an_account_is_told_where_to_connect_one(it: Lab):
    for asking in (it.oauth.token(UserId("new"), CALENDAR), it.oauth.renewed(UserId("new"), CALENDAR, Secret("x"))):
        with pytest.raises(AuthError, match="no Google account is connected") as caught:
            await asking
        assert caught.value.connect_url == "/api/google/connect?tools=calendar_event_create"


async def test_a_token_of_a_named_account_is_not_given_out_once_another_one_is_connected(it: Lab):
    await it.connect(email="ada@example.com")
    stale = await it.oauth.token(ADA, CALENDAR, account="ada@example.com")
    await it.connect(email="eve@example.com")
    said = "began with the Google account ada@example.com, but eve@example.com is connected now"
    with pytest.raises(AuthError, match=said) as caught:
        await it.oauth.token(ADA, CALENDAR, account="ada@example.com")
    assert caught.value.connect_url == "/api/google/connect?tools=calendar_event_create"
    with pytest.raises(AuthError, match=said):
        await it.oauth.renewed(ADA, CALENDAR, stale, account="ada@example.com")
    assert await it.oauth.token(ADA, CALENDAR)
