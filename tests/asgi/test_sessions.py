"""Browsers' sessions: a record in the store, and in the cookie a secret that decides nothing."""

import json
from base64 import urlsafe_b64encode
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from pollux.asgi.auth import Authority, Identity
from pollux.asgi.cookies import CSRF_HEADER, SECURE_COOKIE, SESSION_COOKIE
from pollux.asgi.sessions import MOST_SESSIONS, SESSION_SECONDS, OpenSession, Sessions
from pollux.asgi.visits import Visits
from pollux.core.errors import AuthError
from pollux.core.ids import UserId
from pollux.core.redact import Secret
from pollux.engine.ports import Change
from pollux.stores.memory import MemoryStore
from pollux.testing.store_lab import browser_session

ADA = UserId("ada")
TOKEN = "token-of-ada-0123456789"
KEY = b"k" * 32


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Place:
    """One store, and what several processes over it know."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.time = Time()

    async def opened(self) -> "Place":
        await self.store.open()
        return self

    def sessions(self, key: bytes = KEY, *, secure: bool = False) -> Sessions:
        return Sessions(self.store, key, now=self.time, secure=secure)

    def authority(self, *, users: tuple[str, ...] = ("ada",), token: str = TOKEN) -> Authority:
        known = [(UserId(user), Secret(token)) for user in users]
        return Authority(known, sessions=self.sessions(), visits=Visits([KEY], now=self.time))


@pytest.fixture
async def place() -> Place:
    return await Place().opened()


def headers(**given: str) -> Headers:
    return Headers({name.replace("_", "-"): value for name, value in given.items()})


def sent(set_cookie: str) -> str:
    """The pair that a browser sends back."""
    return set_cookie.partition(";")[0]


async def signed_in(where: Authority) -> tuple[str, OpenSession]:
    identity = await where.of_account(TOKEN)
    set_cookie, session = await where.sessions.open(identity.user, identity.mark, made_by="token")
    return sent(set_cookie), session


async def test_a_cookie_finds_its_record_and_the_proof_is_the_same_each_time(place: Place):
    cookie, session = await signed_in(place.authority())
    assert await place.sessions().read(headers(cookie=cookie)) == session
    record = session.record
    assert (record.user, record.made_by, record.expires_at) == ("ada", "token", 1000.0 + SESSION_SECONDS)
    assert record.ended_at is None


async def test_the_store_holds_nothing_with_which_somebody_could_sign_in(place: Place):
    cookie, session = await signed_in(place.authority())
    secret = cookie.partition("=")[2]
    assert len(secret) >= 43
    kept = repr(await place.store.sessions(ADA))
    assert secret not in kept and session.csrf not in kept and TOKEN not in kept
    assert await place.sessions().read(headers(cookie=f"{SESSION_COOKIE}={session.record.digest}")) is None
    assert await place.sessions().read(headers(cookie=f"{SESSION_COOKIE}={session.record.id}")) is None


async def test_two_sessions_of_one_user_differ_in_all_that_identifies_them(place: Place):
    (first, one), (second, other) = await signed_in(place.authority()), await signed_in(place.authority())
    assert first != second and one.csrf != other.csrf
    assert one.record.id != other.record.id and one.record.digest != other.record.digest


async def test_a_session_ends_when_its_time_has_come(place: Place):
    cookie, _ = await signed_in(place.authority())
    place.time.now += SESSION_SECONDS - 0.1
    assert await place.sessions().read(headers(cookie=cookie))
    place.time.now += 0.1
    assert await place.sessions().read(headers(cookie=cookie)) is None


async def test_a_session_for_a_credential_that_expires_ends_with_it(place: Place):
    set_cookie, session = await place.sessions().open(ADA, "m", made_by="jwt", until=1060.0)
    assert session.record.expires_at == 1060.0 and "Max-Age=60" in set_cookie
    place.time.now = 1060.0
    assert await place.sessions().read(headers(cookie=sent(set_cookie))) is None


async def test_an_ended_session_is_over_in_every_process_and_every_copy(place: Place):
    cookie, session = await signed_in(place.authority())
    elsewhere = place.sessions()
    assert await elsewhere.end(ADA, session.record.id)
    assert await place.sessions().read(headers(cookie=cookie)) is None
    assert not await elsewhere.end(ADA, session.record.id)
    assert await elsewhere.live(ADA) == []


async def test_nobody_ends_the_session_of_somebody_else(place: Place):
    cookie, session = await signed_in(place.authority())
    assert not await place.sessions().end(UserId("bob"), session.record.id)
    assert await place.sessions().read(headers(cookie=cookie)) == session


async def test_signing_in_again_ends_what_the_browser_had(place: Place):
    before, session = await signed_in(place.authority())
    set_cookie, _ = await place.sessions().open(ADA, "m", made_by="token", replaces=session)
    assert await place.sessions().read(headers(cookie=before)) is None
    assert await place.sessions().read(headers(cookie=sent(set_cookie)))


async def test_a_user_has_so_many_sessions_at_a_time_and_the_oldest_end_first(place: Place):
    cookies: list[str] = []
    for _ in range(MOST_SESSIONS + 2):
        cookies.append((await signed_in(place.authority()))[0])
        place.time.now += 1
    live = [bool(await place.sessions().read(headers(cookie=cookie))) for cookie in cookies]
    assert live == [False, False, *[True] * MOST_SESSIONS]


async def test_what_has_expired_is_swept_when_the_next_session_opens(place: Place):
    await signed_in(place.authority())
    place.time.now += SESSION_SECONDS
    await signed_in(place.authority())
    assert len(await place.store.sessions(ADA)) == 1


async def test_another_key_reads_nothing(place: Place):
    cookie, _ = await signed_in(place.authority())
    assert await place.sessions(b"x" * 32).read(headers(cookie=cookie)) is None


async def test_a_record_of_rights_that_we_do_not_know_has_none(place: Place):
    cookie, session = await signed_in(place.authority())
    await place.store.commit(Change(sessions=(replace(session.record, rights="all"),)))
    assert await place.sessions().read(headers(cookie=cookie)) is None


async def test_a_cookie_of_facts_under_a_seal_as_it_was_once_given_counts_no_more(place: Place):
    facts = {"u": "ada", "m": "mark", "e": 1e12, "n": "00"}
    body = urlsafe_b64encode(json.dumps(facts).encode()).decode().rstrip("=")
    for value in (f"{body}.{'0' * 64}", body):
        assert await place.sessions().read(headers(cookie=f"{SESSION_COOKIE}={value}")) is None


@pytest.mark.parametrize(
    "value", ["", ".", "..", "a.", ".a", "a.b", "a.b.c", "=.=", "é.é", "\udc80.x", "x" * 100_000, "{}.{}", "x" * 43]
)
async def test_junk_is_no_session_and_no_error(place: Place, value: str):
    given = Headers(raw=[(b"cookie", f"{SESSION_COOKIE}={value}".encode("utf-8", "surrogateescape"))])
    assert await place.sessions().read(given) is None


async def test_a_cookie_with_any_character_missing_added_or_changed_is_no_session(place: Place):
    cookie, _ = await signed_in(place.authority())
    secret = cookie.partition("=")[2]
    spoilt = [secret[:end] for end in range(len(secret))] + [secret + more for more in ("0", ".", "=", "%20")]
    spoilt += [secret[:at] + ("A" if secret[at] != "A" else "B") + secret[at + 1 :] for at in range(len(secret))]
    for value in spoilt:
        assert await place.sessions().read(headers(cookie=f"{SESSION_COOKIE}={value}")) is None, value


@given(st.text(st.characters(codec="latin-1")))
async def test_no_text_at_all_is_a_session_or_an_error(value: str):
    place = await Place().opened()
    given = Headers(raw=[(b"cookie", f"{SESSION_COOKIE}={value}".encode("latin-1"))])
    assert await place.sessions().read(given) is None


async def test_the_cookie_is_kept_from_scripts_and_from_other_sites(place: Place):
    plain, _ = await place.sessions().open(ADA, "m", made_by="token", until=1060.9)
    name, _, rest = plain.partition("=")
    assert (name, rest.partition(";")[2]) == (SESSION_COOKIE, " Path=/; HttpOnly; SameSite=Strict; Max-Age=60")
    secure, _ = await place.sessions(secure=True).open(ADA, "m", made_by="token")
    assert secure.startswith(f"{SECURE_COOKIE}=") and secure.endswith("; Secure") and "Path=/;" in secure
    for where, kept in ((place.sessions(), SESSION_COOKIE), (place.sessions(secure=True), SECURE_COOKIE)):
        assert where.removal.startswith(f"{kept}=;") and "Max-Age=0" in where.removal


async def test_where_browsers_know_us_by_https_the_plain_cookie_is_never_read(place: Place):
    cookie, _ = await signed_in(place.authority())
    secret = cookie.partition("=")[2]
    behind_https = place.sessions(secure=True)
    assert await behind_https.read(headers(cookie=f"{SESSION_COOKIE}={secret}")) is None
    assert await behind_https.read(headers(cookie=f"{SECURE_COOKIE}={secret}"))
    assert await place.sessions().read(headers(cookie=f"{SECURE_COOKIE}={secret}")) is None
    # A neighbour's plain cookie does not get in the way of ours.
    both = f"{SECURE_COOKIE}={secret}; {SESSION_COOKIE}={'x' * 43}"
    assert await behind_https.read(headers(cookie=both))


async def test_a_session_reads_without_proof_and_changes_with_it(place: Place):
    here = place.authority()
    cookie, session = await signed_in(here)
    assert (await here.identify(headers(cookie=cookie), "GET")).user == "ada"
    with pytest.raises(AuthError, match=CSRF_HEADER):
        await here.identify(headers(cookie=cookie), "POST")
    identity = await here.identify(headers(cookie=cookie, x_pollux_csrf=session.csrf), "POST")
    assert (identity.user, identity.by) == ("ada", "cookie")


async def test_the_proof_of_one_session_is_none_for_another_of_the_same_user(place: Place):
    here = place.authority()
    (first, _), (_, second) = await signed_in(here), await signed_in(here)
    with pytest.raises(AuthError):
        await here.identify(headers(cookie=first, x_pollux_csrf=second.csrf), "DELETE")


async def test_a_session_ends_when_its_token_is_taken_away(place: Place):
    cookie, _ = await signed_in(place.authority())
    assert (await place.authority().identify(headers(cookie=cookie), "GET")).user == "ada"
    for later in (
        place.authority(token="another-token-0123456"),
        place.authority(users=()),
        place.authority(users=("bob",)),
    ):
        with pytest.raises(AuthError):
            await later.identify(headers(cookie=cookie), "GET")


async def test_a_visit_opens_no_account_and_a_session_none_either(place: Place):
    here = place.authority()
    cookie, _ = await signed_in(here)
    assert here.visits is not None
    for user in (None, ADA):
        visit, _ = here.visits.given(origin="http://127.0.0.1", profile="page", user=user)
        assert (await here.identify(headers(authorization=f"Bearer {visit}"), "GET")).by == "visit"
        with pytest.raises(AuthError, match="visitor"):
            await here.of_account(visit)
    with pytest.raises(AuthError):
        await here.of_account(cookie.partition("=")[2])


class Trusting:
    """Believes every token."""

    def __init__(self, mark: str = "issuer-1") -> None:
        self.mark = mark

    async def verify(self, token: str) -> Identity:
        return Identity(ADA, "jwt", "", 5000.0)


async def test_a_session_for_an_issuers_token_ends_when_another_issuer_or_none_is_trusted(place: Place):
    def trusting(jwt: Trusting | None) -> Authority:
        return Authority([], sessions=place.sessions(), jwt=jwt)  # pyright: ignore[reportArgumentType]

    here = trusting(Trusting())
    identity = await here.of_account("a.b.c")
    set_cookie, _ = await here.sessions.open(identity.user, identity.mark, made_by="jwt", until=identity.expires_at)
    given = headers(cookie=sent(set_cookie))
    assert (await here.identify(given, "GET")).user == "ada"
    for later in (Trusting("issuer-2"), None):
        with pytest.raises(AuthError):
            await trusting(later).identify(given, "GET")


async def test_a_record_that_names_no_credential_counts_for_nobody(place: Place):
    here = Authority([], sessions=place.sessions(), jwt=Trusting())  # pyright: ignore[reportArgumentType]
    set_cookie, _ = await place.sessions().open(ADA, "", made_by="jwt")
    assert await here.session_of(headers(cookie=sent(set_cookie))) is None
    await place.store.commit(Change(sessions=(browser_session("1", expires_at=9e9),)))
    assert await here.session_of(headers(cookie=f"{SESSION_COOKIE}=digest-1")) is None


@pytest.mark.parametrize(
    "jar",
    ["{c}", "a=b; {c}", "{c}; a=b", 'theme={{"dark": true}}; {c}', "a b=c d; {c}", ";;{c};;", "lone; {c}", 'q="un; {c}',
     "@[x]=1;{c}", "pollux_session=tossed-by-another-port; {c}", "POLLUX_SESSION=x; {c}"],
)  # fmt: skip
async def test_what_other_servers_of_this_machine_keep_in_the_jar_does_not_hide_ours(place: Place, jar: str):
    here = place.authority()
    cookie, session = await signed_in(here)
    assert await here.session_of(headers(cookie=jar.format(c=cookie))) == session


@pytest.mark.parametrize(
    "jar", ["", "pollux_session", "pollux_session=", "xpollux_session={v}", "pollux_session2={v}", "a={v}"]
)
async def test_only_our_own_cookie_counts(place: Place, jar: str):
    here = place.authority()
    cookie, _ = await signed_in(here)
    assert await here.session_of(headers(cookie=jar.format(v=cookie.partition("=")[2]))) is None
