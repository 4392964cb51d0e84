"""The door: what is meant for us and what is not, as a table; who is let in, slowed down, and how a refusal looks."""

import json
from collections.abc import Callable, Mapping

import pytest
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pollux.asgi.auth import Authority
from pollux.asgi.cookies import CSRF_HEADER, SESSION_COOKIE
from pollux.asgi.door import HEADERS, LOOPBACK, Door, Rate, check_place, identity_of, is_same_origin
from pollux.asgi.errors import HttpError
from pollux.asgi.sessions import Sessions
from pollux.core.errors import AuthError
from pollux.core.ids import UserId
from pollux.core.redact import Secret
from pollux.stores.memory import MemoryStore

HERE = "127.0.0.1:8642"
TOKEN = "token-of-ada-0123456789"
Pairs = list[tuple[str, str]]


def headers(*pairs: tuple[str, str]) -> Headers:
    return Headers(raw=[(name.lower().encode(), value.encode("latin-1")) for name, value in pairs])


def refusal(
    pairs: Pairs, hosts: frozenset[str] | None = LOOPBACK, *, navigates: bool = False
) -> tuple[int, str] | None:
    """Status and code, or None where it passes."""
    try:
        check_place(headers(*pairs), hosts, navigates=navigates)
    except HttpError as problem:
        return problem.status, problem.code
    return None


@pytest.mark.parametrize(
    "host",
    [HERE, "127.0.0.1", "localhost", "localhost:8642", "LocalHost:8642", "LOCALHOST", "[::1]", "[::1]:8642",
     " 127.0.0.1:8642 "],
)  # fmt: skip
def test_the_names_of_loopback_are_ours(host: str):
    assert refusal([("host", host)]) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", "127.0.0.1.evil.example:8642",
     "127.0.0.1:8642.evil.example:1", "localhost.", "localhost.:8642", "127.0.0.1.", "localhost.evil.example",
     "evil-localhost", "user@127.0.0.1:8642", "evil.example@127.0.0.1", "127.0.0.1@evil.example", "127.1",
     "2130706433", "0x7f000001", "0.0.0.0:8642", "127.0.0.2", "::1", "[::1", "::1]", "[::ffff:127.0.0.1]", "[::]",
     "[0:0:0:0:0:0:0:1]:8642", "[::1%25lo]:8642", "[::1].evil.example", "", ":", ":8642", "127.0.0.1:1:2",
     "127.0.0.1/x", "http://127.0.0.1", "127.0.0.1,evil.example", "ⅼocalhost".encode().decode("latin-1")],
)  # fmt: skip
def test_every_other_name_is_somebody_elses(host: str):
    assert refusal([("host", host)]) == (403, "bad_host")


@pytest.mark.parametrize("pairs", [[], [("host", HERE), ("host", HERE)], [("host", HERE), ("host", "evil.example")]])
def test_a_missing_or_doubled_host_is_refused(pairs: Pairs):
    assert refusal(pairs) == (400, "bad_host")
    assert refusal(pairs, None) == (400, "bad_host")


def test_a_public_address_without_named_hosts_takes_any_name():
    assert refusal([("host", "agent.example.com")], None) is None


def test_named_hosts_are_taken_and_no_others():
    named = frozenset({"agent.example.com"})
    assert refusal([("host", "Agent.Example.com:443")], named) is None
    assert refusal([("host", HERE)], named) == (403, "bad_host")


@pytest.mark.parametrize(
    ("host", "origin"),
    [(HERE, f"http://{HERE}"), (HERE, f"HTTP://{HERE}"), ("[::1]:8642", "http://[::1]:8642"), ("localhost",
     "http://localhost"), ("LocalHost:8642", "http://localhost:8642")],
)  # fmt: skip
def test_a_page_of_ours_may_ask(host: str, origin: str):
    assert refusal([("host", host), ("origin", origin)]) is None


@pytest.mark.parametrize(
    "origin",
    ["null", "", "NULL", "*", "file://", "about:blank", "data:", "chrome-extension://abcdef", "ftp://" + HERE, "ws://"
     + HERE, "http://evil.example", "http://evil.example:8642", f"http://{HERE}.evil.example",
     "http://127.0.0.1:8642.evil.example:8642", "http://127.0.0.1", "http://127.0.0.1:8643", "http://127.0.0.1:86420",
     "http://127.0.0.1:864", "http://127.0.0.1:08642", "http://localhost:8642", "http://[::1]:8642",
     f"http://user@{HERE}", f"http://user:pass@{HERE}", f"http://{HERE}@evil.example", f"http://{HERE}/",
     f"http://{HERE}/x", f"http://{HERE}?x", f"http://{HERE}#x", f"//{HERE}", HERE, f"http:/{HERE}",
     f"http://evil.example, http://{HERE}", f"http://{HERE} http://evil.example", "http://[::1", f"http://{HERE}.",
     f"http://evil.example#{HERE}", f"http://evil.example?{HERE}", f"http://evil.example/{HERE}",
     f"http://evil.example\\@{HERE}"],
)  # fmt: skip
def test_a_page_of_any_other_origin_may_not(origin: str):
    assert refusal([("host", HERE), ("origin", origin)]) == (403, "bad_origin")
    assert refusal([("host", HERE), ("origin", origin)], navigates=True) == (403, "bad_origin")


def test_two_origins_are_refused_even_where_both_are_ours():
    ours = ("origin", f"http://{HERE}")
    assert refusal([("host", HERE), ours, ours]) == (403, "bad_origin")


def test_behind_a_proxy_the_public_address_says_which_scheme_is_ours():
    public = "https://agent.example.com/base"
    assert is_same_origin("https://agent.example.com", "agent.example.com", public)
    assert not is_same_origin("http://agent.example.com", "agent.example.com", public)
    assert is_same_origin("http://127.0.0.1:8642", HERE, public)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site", "anything-else", ""])
def test_what_a_browser_says_comes_from_elsewhere_is_refused_without_an_origin_too(site: str):
    assert refusal([("host", HERE), ("sec-fetch-site", site)]) == (403, "bad_origin")


@pytest.mark.parametrize("site", ["none", "same-origin"])
def test_the_address_bar_and_pages_of_ours_are_not_elsewhere(site: str):
    assert refusal([("host", HERE), ("sec-fetch-site", site)]) is None


@pytest.mark.parametrize(
    ("mode", "dest", "passes"),
    [("navigate", "document", True), ("navigate", "iframe", False), ("navigate", "embed", False), ("no-cors", "image",
     False), ("no-cors", "script", False), ("no-cors", "empty", False), ("cors", "empty", False), ("no-cors",
     "document", False)],
)  # fmt: skip
def test_of_what_other_sites_send_only_a_followed_link_to_a_public_place_passes(mode: str, dest: str, passes: bool):
    pairs = [("host", HERE), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]
    assert (refusal(pairs, navigates=True) is None) is passes
    assert refusal(pairs, navigates=False) == (403, "bad_origin")


class Inside:
    """What lies behind the door, and who came in."""

    def __init__(self, behave: Callable[[], None] = lambda: None) -> None:
        self.users: list[str] = []
        self._behave = behave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.users.append(identity_of(scope).user if scope["path"] != "/open" else "")
        self._behave()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"referrer-policy", b"origin")]})
        await send({"type": "http.response.body", "body": b"{}"})


def authority() -> Authority:
    sessions = Sessions(MemoryStore(), b"k" * 32, now=lambda: 1000.0)
    return Authority([(UserId("ada"), Secret(TOKEN))], sessions=sessions)


def door(
    inside: ASGIApp,
    *,
    burst: int = 100,
    now: Callable[[], float] = lambda: 0.0,
    knows: Authority | None = None,
) -> Door:
    return Door(
        inside,
        authority=knows or authority(),
        rate=Rate(per_minute=60, burst=burst, now=now),
        is_public={"/open"}.__contains__,
    )


async def ask(
    door: Door, path: str = "/", method: str = "GET", client: str = "127.0.0.1", **given: str
) -> tuple[int, Mapping[str, str], bytes]:
    sent: list[Message] = []
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in {"host": HERE, **given}.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "client": (client, 1), "query_string": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    await door(scope, receive, send)
    start = sent[0]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}, body


async def test_whoever_has_a_token_comes_in_by_the_name_it_stands_for():
    inside = Inside()
    status, _, _ = await ask(door(inside), authorization=f"Bearer {TOKEN}")
    assert (status, inside.users) == (200, ["ada"])


async def test_whoever_has_none_does_not_come_in_and_is_told_in_the_usual_form():
    inside = Inside()
    status, told, body = await ask(door(inside))
    error = json.loads(body)["error"]
    assert (status, inside.users, error["code"]) == (401, [], "auth_error")
    assert told["www-authenticate"].startswith("Bearer")
    assert told["x-correlation-id"] == error["correlationId"]


async def test_every_answer_bears_the_security_headers_and_a_page_may_set_its_own():
    for given in ({"authorization": f"Bearer {TOKEN}"}, {}, {"host": "evil.example"}):
        status, told, _ = await ask(door(Inside()), **given)
        expected = HEADERS | ({"referrer-policy": "origin"} if status == 200 else {})
        assert {name: told[name] for name in HEADERS} == expected
        assert "access-control-allow-origin" not in told


async def test_the_place_is_looked_at_before_the_credential():
    # A rebinding page that has somehow come by a token gets no further for that.
    for given in ({"host": "evil.example"}, {"origin": "http://evil.example"}, {"sec_fetch_site": "cross-site"}):
        inside = Inside()
        status, _, body = await ask(door(inside), authorization=f"Bearer {TOKEN}", **given)
        assert (status, inside.users) == (403, [])
        assert json.loads(body)["error"]["code"] in ("bad_host", "bad_origin")


async def test_a_cookie_opens_what_only_reads_and_needs_its_proof_for_the_rest():
    inside, store = Inside(), MemoryStore()
    await store.open()
    known = Authority([(UserId("ada"), Secret(TOKEN))], sessions=Sessions(store, b"k" * 32, now=lambda: 1000.0))
    mark = (await known.of_account(TOKEN)).mark
    set_cookie, session = await known.sessions.open(UserId("ada"), mark, made_by="token")
    front, cookie = door(inside, knows=known), set_cookie.partition(";")[0]
    assert cookie.startswith(f"{SESSION_COOKIE}=")
    answers = {
        (method, csrf): (await ask(front, method=method, cookie=cookie, **({CSRF_HEADER: csrf} if csrf else {})))[0]
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "BREW", "post", "get")
        for csrf in ("", "wrong", session.csrf)
    }
    for (method, csrf), status in answers.items():
        may = method in ("GET", "HEAD") or csrf == session.csrf
        assert status == (200 if may else 403), (method, csrf)


async def test_guessing_slows_down_the_guesser_and_not_the_one_whose_token_it_is():
    front = door(Inside(), burst=3)
    statuses = [(await ask(front, authorization=f"Bearer guess-{n}"))[0] for n in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    assert (await ask(front, authorization=f"Bearer {TOKEN}"))[0] == 200
    assert (await ask(front, client="10.0.0.9", authorization="Bearer guess"))[0] == 401


async def test_public_places_are_limited_by_address():
    front = door(Inside(), burst=2)
    answers = [await ask(front, "/open") for _ in range(3)]
    assert [status for status, _, _ in answers] == [200, 200, 429]
    assert answers[2][1]["retry-after"] == "1"


async def test_what_nobody_foresaw_is_told_without_a_word_of_its_own():
    def fall() -> None:
        raise RuntimeError("the secret is 12345")

    status, _, body = await ask(door(Inside(fall)), authorization=f"Bearer {TOKEN}")
    assert (status, json.loads(body)["error"]["code"]) == (500, "internal")
    assert b"12345" not in body


async def test_a_websocket_is_closed_unheard():
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    await door(Inside())({"type": "websocket", "headers": [], "path": "/"}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_a_request_that_never_came_through_the_door_has_no_identity():
    with pytest.raises(AuthError):
        identity_of({"type": "http"})


async def test_a_stream_is_over_when_the_session_that_opened_it_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pollux.asgi.door.LOOK_SECONDS", 0.0)
    store = MemoryStore()
    await store.open()
    known = Authority([(UserId("ada"), Secret(TOKEN))], sessions=Sessions(store, b"k" * 32, now=lambda: 1000.0))
    mark = (await known.of_account(TOKEN)).mark
    set_cookie, session = await known.sessions.open(UserId("ada"), mark, made_by="token")

    async def streaming(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(4):
            await send({"type": "http.response.body", "body": b"%d" % number, "more_body": True})
            if number == 1:
                await known.sessions.end(UserId("ada"), session.record.id)
        await send({"type": "http.response.body", "body": b"end", "more_body": False})

    _, _, by_cookie = await ask(door(streaming, knows=known), cookie=set_cookie.partition(";")[0])
    assert by_cookie == b"01"
    _, _, by_token = await ask(door(streaming, knows=known), authorization=f"Bearer {TOKEN}")
    assert by_token == b"0123end"
