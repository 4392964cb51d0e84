"""Session cookies: sealed, bounded in time, and worthless when anything about them was changed."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from pollux.asgi.auth import Authority, Identity
from pollux.asgi.cookies import CSRF_HEADER, SESSION_COOKIE, SESSION_SECONDS, Cookies
from pollux.core.errors import AuthError
from pollux.core.ids import UserId
from pollux.core.redact import Secret

ADA = UserId("ada")
TOKEN = "token-of-ada-0123456789"
KEY = b"k" * 32


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def cookies(key: bytes = KEY, time: Time | None = None) -> Cookies:
    return Cookies(key, now=time or Time())


def authority(*, users: tuple[str, ...] = ("ada",), token: str = TOKEN, time: Time | None = None) -> Authority:
    return Authority([(UserId(user), Secret(token)) for user in users], cookies=cookies(time=time))


def headers(**given: str) -> Headers:
    return Headers({name.replace("_", "-"): value for name, value in given.items()})


async def signed_in(where: Authority) -> str:
    identity = await where.of_token(TOKEN)
    return where.cookies.sealed(identity.user, identity.mark)[0]


def test_what_was_sealed_is_read_and_the_proof_is_the_same_each_time():
    value, session = cookies().sealed(ADA, "mark")
    assert cookies().read(value) == session
    assert (session.user, session.mark, session.expires_at) == ("ada", "mark", 1000.0 + SESSION_SECONDS)


def test_two_sessions_of_one_user_differ_in_cookie_and_proof():
    (first, one), (second, other) = cookies().sealed(ADA, "m"), cookies().sealed(ADA, "m")
    assert first != second
    assert one.csrf != other.csrf


def test_the_proof_is_not_in_the_cookie_and_is_no_seal_of_it():
    value, session = cookies().sealed(ADA, "mark")
    assert session.csrf not in value
    body = value.partition(".")[0]
    assert cookies().read(f"{body}.{session.csrf}") is None


def test_a_session_ends_when_its_time_has_come():
    time = Time()
    here = cookies(time=time)
    value, _ = here.sealed(ADA, "")
    time.now += SESSION_SECONDS - 0.1
    assert here.read(value)
    time.now += 0.1
    assert here.read(value) is None


def test_a_session_for_a_credential_that_expires_ends_with_it():
    time = Time()
    here = cookies(time=time)
    value, session = here.sealed(ADA, "", until=1060.0)
    assert session.expires_at == 1060.0
    time.now = 1060.0
    assert here.read(value) is None


def test_another_key_reads_nothing():
    value, _ = cookies().sealed(ADA, "")
    assert cookies(b"x" * 32).read(value) is None


def forged(value: str, **changes: object) -> str:
    body, _, seal = value.partition(".")
    facts = json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4))) | changes
    return urlsafe_b64encode(json.dumps(facts).encode()).decode().rstrip("=") + "." + seal


@pytest.mark.parametrize("changes", [{"u": "bob"}, {"e": 1e12}, {"m": "other"}, {"n": "00"}, {}, {"admin": True}])
def test_facts_that_were_changed_are_not_believed(changes: dict[str, object]):
    value, _ = cookies().sealed(ADA, "mark")
    assert cookies().read(forged(value, **changes)) is None


@pytest.mark.parametrize(
    "value", ["", ".", "..", "a.", ".a", "a.b", "a.b.c", "=.=", "é.é", "\udc80.x", "x" * 100_000, "{}.{}"]
)
def test_junk_is_no_session_and_no_error(value: str):
    assert cookies().read(value) is None


def test_a_cookie_cut_off_anywhere_is_no_session():
    value, _ = cookies().sealed(ADA, "mark")
    assert [cookies().read(value[:end]) for end in range(len(value))] == [None] * len(value)
    assert [cookies().read(value + more) for more in ("0", ".", "=", " ")] == [None] * 4


@given(st.data())
def test_no_character_can_be_changed(data: st.DataObject):
    value, _ = cookies().sealed(ADA, "mark")
    place = data.draw(st.integers(0, len(value) - 1))
    other = data.draw(st.characters().filter(lambda char: char != value[place]))
    assert cookies().read(value[:place] + other + value[place + 1 :]) is None


@given(st.text())
def test_no_text_at_all_is_a_session_or_an_error(value: str):
    assert cookies().read(value) is None


def test_the_cookie_is_kept_from_scripts_and_from_other_sites():
    plain = cookies().header("v", seconds=60.9, secure=False)
    assert plain == f"{SESSION_COOKIE}=v; Path=/; HttpOnly; SameSite=Strict; Max-Age=60"
    assert cookies().header("v", seconds=60, secure=True) == plain + "; Secure"
    assert "Max-Age=0" in cookies().header("", seconds=60, secure=False)
    assert "Max-Age=0" in cookies().header("v", seconds=-5, secure=False)


async def test_a_session_reads_without_proof_and_changes_with_it():
    here = authority()
    value = await signed_in(here)
    session = here.session_of(headers(cookie=f"{SESSION_COOKIE}={value}"))
    given = {"cookie": f"{SESSION_COOKIE}={value}"}
    assert (await here.identify(headers(**given), "GET")).user == "ada"
    with pytest.raises(AuthError, match=CSRF_HEADER):
        await here.identify(headers(**given), "POST")
    identity = await here.identify(headers(**given, x_pollux_csrf=session.csrf), "POST")
    assert (identity.user, identity.by) == ("ada", "cookie")


async def test_the_proof_of_one_session_is_none_for_another_of_the_same_user():
    here = authority()
    first, second = await signed_in(here), await signed_in(here)
    proof = here.session_of(headers(cookie=f"{SESSION_COOKIE}={second}")).csrf
    with pytest.raises(AuthError):
        await here.identify(headers(cookie=f"{SESSION_COOKIE}={first}", x_pollux_csrf=proof), "DELETE")


async def test_a_session_ends_when_its_token_is_taken_away():
    value = await signed_in(authority())
    given = headers(cookie=f"{SESSION_COOKIE}={value}")
    assert (await authority().identify(given, "GET")).user == "ada"
    for later in (authority(token="another-token-0123456"), authority(users=()), authority(users=("bob",))):
        with pytest.raises(AuthError):
            await later.identify(given, "GET")


class Trusting:
    """Believes every token."""

    async def verify(self, token: str) -> Identity:
        return Identity(ADA, "jwt", "", 5000.0)


async def test_a_session_for_an_issuers_token_ends_when_the_issuer_is_not_trusted_any_more():
    trusting = Authority([], cookies=cookies(), jwt=Trusting())  # pyright: ignore[reportArgumentType]
    identity = await trusting.of_token("a.b.c")
    value, _ = trusting.cookies.sealed(identity.user, identity.mark, until=identity.expires_at)
    given = headers(cookie=f"{SESSION_COOKIE}={value}")
    assert (await trusting.identify(given, "GET")).user == "ada"
    with pytest.raises(AuthError):
        await Authority([], cookies=cookies()).identify(given, "GET")


@pytest.mark.parametrize(
    "jar",
    ["{c}", "a=b; {c}", "{c}; a=b", 'theme={{"dark": true}}; {c}', "a b=c d; {c}", ";;{c};;", "lone; {c}", 'q="un; {c}',
     "@[x]=1;{c}", "pollux_session=tossed-by-another-port; {c}", "POLLUX_SESSION=x; {c}"],
)  # fmt: skip
async def test_what_other_servers_of_this_machine_keep_in_the_jar_does_not_hide_ours(jar: str):
    here = authority()
    value = await signed_in(here)
    assert here.session_of(headers(cookie=jar.format(c=f"{SESSION_COOKIE}={value}"))).user == "ada"


@pytest.mark.parametrize(
    "jar", ["", "pollux_session", "pollux_session=", "xpollux_session={v}", "pollux_session2={v}", "a={v}"]
)
async def test_only_our_own_cookie_counts(jar: str):
    here = authority()
    value = await signed_in(here)
    with pytest.raises(AuthError):
        here.session_of(headers(cookie=jar.format(v=value)))
