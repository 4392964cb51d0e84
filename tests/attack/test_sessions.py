"""Tokens, cookies and visits, confused with one another in every way at every route: each has the answer it should."""

import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from tests.attack.credentials import (
    ADA,
    BOB,
    EVIL,
    GONE,
    HERE,
    OWN,
    SHOP,
    Brought,
    Outcome,
    World,
    bearer,
    brought,
    cookie,
    world,
)
from tests.http.site import TOKENS

from pollux.serve import document
from pollux.stores.sqlite import SqliteStore

Kind = Literal["public", "account", "page", "shared", "runbooks"]
"""Who may ask: anybody; accounts; pages' visitors too; those too, for their own runs; those whom [runbooks] names."""

ROUTES: Final[dict[tuple[str, str], Kind]] = {
    ("GET", "/"): "public",
    ("GET", "/healthz"): "public",
    ("GET", "/readyz"): "public",
    ("GET", "/login"): "public",
    ("POST", "/login"): "public",
    ("POST", "/api/session/sign-in"): "public",
    ("POST", "/api/page/session"): "public",
    ("GET", "/api/google/callback"): "public",
    ("GET", "/api/session"): "account",
    ("POST", "/api/session/sign-out"): "account",
    ("GET", "/api/sessions"): "account",
    ("DELETE", "/api/sessions/{id}"): "account",
    ("POST", "/api/agent/run"): "account",
    ("POST", "/api/agent/run/stream"): "account",
    ("GET", "/api/agent/approvals/{id}"): "account",
    ("POST", "/api/agent/approvals/{id}/edit"): "account",
    ("GET", "/api/agent/threads"): "account",
    ("GET", "/api/agent/threads/{id}"): "account",
    ("PATCH", "/api/agent/threads/{id}"): "account",
    ("DELETE", "/api/agent/threads/{id}"): "account",
    ("GET", "/api/agent/threads/{id}/messages"): "account",
    ("GET", "/api/agent/threads/{id}/attachments/{attachment}"): "account",
    ("GET", "/api/agent/runs"): "account",
    ("GET", "/api/agent/runs/{id}"): "account",
    ("GET", "/api/agent/runs/{id}/events"): "account",
    ("GET", "/api/agent/actions"): "account",
    ("POST", "/api/agent/actions/{id}/settle"): "account",
    ("GET", "/api/agent/grants"): "account",
    ("DELETE", "/api/agent/grants/{id}"): "account",
    ("GET", "/api/agent/audit"): "account",
    ("GET", "/api/agent/audit/export"): "account",
    ("GET", "/api/agent/audit/verify"): "account",
    ("GET", "/api/agent/audit/head"): "account",
    ("GET", "/api/agent/usage"): "account",
    ("GET", "/api/health"): "account",
    ("GET", "/api/google/connect"): "account",
    ("GET", "/api/google/status"): "account",
    ("POST", "/api/google/disconnect"): "account",
    ("GET", "/api/agent/approvals/pending"): "shared",
    ("POST", "/api/agent/approvals/resolve"): "shared",
    ("POST", "/api/agent/runs/{id}/cancel"): "shared",
    ("POST", "/api/page/send-message"): "page",
    ("POST", "/api/page/send-message/stream"): "page",
    ("POST", "/api/page/submit-tool-results"): "page",
    ("POST", "/api/page/submit-tool-results/stream"): "page",
}


def test_every_route_has_an_expected_answer():
    """A route that is added is added here too, with who may ask it."""
    told: dict[str, dict[str, Any]] = json.loads(document())["paths"]
    there = {(method.upper(), path) for path, row in told.items() for method in row}
    runbooks = {route for route in there if route[1].startswith("/api/runbooks")}
    assert there - runbooks == set(ROUTES)
    assert len(runbooks) >= 10


def routes() -> dict[tuple[str, str], Kind]:
    """All of them, with those of runbooks, and each GET as a HEAD too."""
    found = dict(ROUTES)
    for path, row in json.loads(document())["paths"].items():
        for method in row:
            found.setdefault((method.upper(), path), "runbooks")
    heads: dict[tuple[str, str], Kind] = {
        ("HEAD", path): found[method, path] for method, path in found if method == "GET"
    }
    return found | heads


def expected(kind: Kind, method: str, path: str, given: Brought) -> Outcome | Literal["404"]:
    """What the rules say, in the order in which the door asks: the page, the credential, the proof, the rights."""
    is_open = kind in ("page", "shared") or path == "/api/page/session"
    if given.origin and not (given.origin == SHOP and is_open):
        return "403"
    if kind == "public":
        return "in"
    if given.who == "nobody":
        return "401"
    if given.who == "cookie" and method not in ("GET", "HEAD") and not given.proves:
        return "403"
    if given.who == "visit":
        return "in" if is_open and (given.origin or HERE) == given.given_to else "403"
    if given.origin:
        return "401"
    return "404" if kind == "runbooks" and given.user != "ada" else "in"


def filled(template: str) -> str:
    """The address of a thing that is not there; of a login link, one that is good."""
    return f"/login?token={TOKENS['bob']}" if template == "/login" else re.sub(r"\{\w+\}", "x", template)


def outcome(status: int) -> str:
    return str(status) if status in (401, 403) else "in"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncGenerator[World]:
    async with world(tmp_path) as made:
        yield made


async def test_each_credential_at_each_route_has_the_answer_that_the_rules_give(here: World):
    wrong: list[str] = []
    count = 0
    names = list(await brought(here))
    for (method, template), kind in routes().items():
        path = filled(template)
        all_given = await brought(here)
        for name in names:
            given = all_given[name]
            if given.who == "cookie":
                # A request may end the session it came with.
                given = (await brought(here))[name] if path.endswith("sign-out") else given
            headers = [*given.headers, *([("origin", given.origin)] if given.origin else [])]
            got = await here.ask(method, path, headers, b"{}" if method not in ("GET", "HEAD") else b"")
            wanted = expected(kind, method, path, given)
            found = "404" if wanted == "404" and got.status == 404 else outcome(got.status)
            count += 1
            if found != wanted or got.status >= 500:
                wrong.append(f"{method} {path} with {name} ({given.why}): {got.status}, expected {wanted}")
            if got.session:
                wrong.append(f"{method} {path} with {name}: a session was opened by a header")
    assert wrong == []
    print(f"{len(routes())} routes, {len(names)} credentials: {count} combinations")
    assert count >= 3_000


METHODS = ("PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "OPTIONS", "BREW", "get")


async def test_a_method_that_a_route_does_not_have_opens_no_door(here: World):
    known = routes()
    count = 0
    for _, path in {("", path) for _, path in known}:
        for method in METHODS:
            if (method, path) in known:
                continue
            kind = next(kind for (_, at), kind in known.items() if at == path)
            for headers, accounts in (([], False), (bearer(TOKENS["ada"]), True), (bearer(here.visit()), False)):
                got = await here.ask(method, filled(path), headers, b"{}")
                allowed = {405, 404} if accounts or kind in ("public", "page", "shared") else set[int]()
                assert got.status in allowed | {401, 403}, (method, path, got)
                count += 1
    assert count >= 1_000


async def exchanges(here: World) -> dict[str, tuple[str, str | None]]:
    """What somebody may bring where a session is given, and whom that signs in."""
    ada = TOKENS["ada"]
    value, csrf, session_id = await here.session()
    return {
        "this machine's token": (OWN, "local"),
        "a named token": (ada, "ada"),
        "another's token": (TOKENS["bob"], "bob"),
        "a JWT": (here.issuer.token(), "ada"),
        "a visit": (here.visit(), None),
        "a visit of a user": (here.visit(user=ADA), None),
        "a visit of a user at a named site": (here.visit(origin=SHOP, user=ADA), None),
        "an expired visit": (here.visit(user=ADA, until=here.now - 1), None),
        "a visit under another key": (here.visit(user=ADA, foreign=True), None),
        "a cookie": (value, None),
        "a cookie with its name": (f"pollux_session={value}", None),
        "a proof": (csrf, None),
        "a session's id": (session_id, None),
        "a session's digest": ((await here.store.sessions(ADA))[0].digest, None),
        "a removed token": (GONE, None),
        "a token cut off": (ada[:-1], None),
        "a token with a space": (f" {ada}", None),
        "a token with its scheme": (f"Bearer {ada}", None),
        "a user's name": ("ada", None),
        "an expired JWT": (here.issuer.token(claims={"exp": here.now - 60}), None),
        "a JWT for another audience": (here.issuer.token(claims={"aud": "other"}), None),
        "a JWT of another issuer": (here.foreign.token(), None),
        "a JWT that names a visitor": (here.issuer.token(claims={"sub": "visitor:1"}), None),
        "a JWT that names this machine's user": (here.issuer.token(claims={"sub": "local"}), None),
        "a JWT for nobody": (here.issuer.token(claims={"sub": ""}), None),
    }


async def test_nothing_but_an_accounts_own_credential_opens_a_session(here: World):
    count = 0
    for name, (token, user) in (await exchanges(here)).items():
        for way, got in (
            ("sign-in", await here.sign_in(token)),
            ("the button of a link", await here.form(token)),
        ):
            assert (got.status in (200, 303)) == (user is not None) == bool(got.session), (name, way, got)
            if user is None:
                assert got.status == 401, (name, way)
            else:
                known = await here.ask("GET", "/api/session", cookie(got.session))
                assert known.json["user"] == user, (name, way)
            count += 1
        # A page may name its visitor by a JWT alone, and what it gets is a visit.
        got = await here.ask("POST", "/api/page/session", (), json.dumps({"userToken": token}).encode())
        assert got.status == (200 if name == "a JWT" else 401) and not got.session, (name, got)
        count += 1
    assert count >= 75


async def test_a_visitor_never_becomes_a_user_with_an_issuer_configured(here: World):
    """The story as it was found: a page's token, taken to sign-in, and from there on everything was open."""
    given = await here.ask("POST", "/api/page/session", [("origin", HERE)], b"{}")
    named = json.dumps({"userToken": here.issuer.token()}).encode()
    of_ada = await here.ask("POST", "/api/page/session", [("origin", HERE)], named)
    for token in (given.json["token"], of_ada.json["token"]):
        for way in (await here.sign_in(token), await here.form(token), await here.ask("GET", f"/login?token={token}")):
            assert (way.status, way.session) == (401, "")
        for method, path in (
            ("POST", "/api/agent/run"),
            ("GET", "/api/agent/threads"),
            ("GET", "/api/agent/runs"),
            ("GET", "/api/sessions"),
            ("GET", "/api/session"),
        ):
            assert (await here.ask(method, path, bearer(token), b"{}")).status == 403
        # Who comes with a visit goes with a visit: asking again makes nobody else of them, and none of it lasts longer.
        again = await here.ask("POST", "/api/page/session", [("origin", HERE), *bearer(token)], b"{}")
        assert again.json["token"].startswith("pv1.")
        # Nor does it connect a Google account as that user.
        told = await here.ask("GET", "/api/google/callback?state=x&code=y", bearer(token))
        assert told.status in (400, 401)


async def test_signing_out_ends_every_copy_of_the_cookie(here: World):
    opened = await here.sign_in(TOKENS["ada"])
    copy, csrf = opened.session, opened.json["csrf"]
    assert (await here.ask("GET", "/api/agent/threads", cookie(copy))).status == 200
    assert (await here.ask("POST", "/api/session/sign-out", cookie(copy, csrf))).status == 200
    for method, path in (("GET", "/api/agent/threads"), ("POST", "/api/agent/run"), ("GET", "/api/session")):
        assert (await here.ask(method, path, cookie(copy, csrf), b"{}")).status == 401


async def test_two_servers_on_one_store_agree_at_once_who_is_signed_in(tmp_path: Path):
    def file() -> SqliteStore:
        return SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)

    async with world(tmp_path, store=file()) as first, world(tmp_path, store=file()) as second:
        opened = await first.sign_in(TOKENS["ada"])
        given = cookie(opened.session, opened.json["csrf"])
        for _ in range(2):
            assert (await second.ask("GET", "/api/session", given)).json["user"] == "ada"
        assert (await second.ask("POST", "/api/session/sign-out", given)).status == 200
        for server in (first, second):
            assert (await server.ask("GET", "/api/session", given)).status == 401


async def test_sessions_are_listed_and_revoked_by_their_own_user_alone(here: World):
    stolen, mine = await here.sign_in(TOKENS["ada"]), await here.sign_in(TOKENS["ada"])
    foreign = await here.sign_in(TOKENS["bob"])
    listed = (await here.ask("GET", "/api/sessions", cookie(mine.session))).json["items"]
    assert [(each["current"], each["madeBy"]) for each in listed] == [(True, "token"), (False, "token")]
    for secret in (stolen.session, stolen.json["csrf"]):
        assert secret not in json.dumps(listed)
    [bobs] = (await here.ask("GET", "/api/sessions", bearer(TOKENS["bob"]))).json["items"]
    proof = cookie(mine.session, mine.json["csrf"])

    async def revoked(session_id: str) -> int:
        return (await here.ask("DELETE", f"/api/sessions/{session_id}", proof)).status

    assert await revoked(bobs["id"]) == await revoked("ses_unknown") == 404
    assert (await here.ask("GET", "/api/session", cookie(foreign.session))).status == 200
    assert await revoked(listed[1]["id"]) == 200
    assert await revoked(listed[1]["id"]) == 404
    assert (await here.ask("GET", "/api/session", cookie(stolen.session))).status == 401
    assert (await here.ask("GET", "/api/session", cookie(mine.session))).status == 200
    # The last one is the browser's own: it ends, and the browser forgets it.
    gone = await here.ask("DELETE", f"/api/sessions/{listed[0]['id']}", proof)
    assert gone.status == 200 and any("Max-Age=0" in value for name, value in gone.headers if name == "set-cookie")
    assert await revoked(listed[0]["id"]) == 401


# Login CSRF: to be signed in as somebody else is to work where they can read it.


async def test_a_login_link_that_somebody_sent_signs_nobody_in_until_they_agree(here: World):
    mine = await here.sign_in(TOKENS["ada"])
    for headers in ([], cookie(mine.session)):
        got = await here.ask("GET", f"/login?token={TOKENS['bob']}", headers)
        assert (got.status, got.session) == (200, "")
        assert not [value for name, value in got.headers if name == "set-cookie"]
        page, told = got.body.decode(), dict(got.headers)
        assert "<strong>bob</strong>" in page and ("<strong>ada</strong>" in page) == bool(headers)
        # No address in the page holds the token, and nothing is loaded that could hear of it.
        assert page.count(TOKENS["bob"]) == 1 and "src=" not in page and "href=" not in page
        assert "default-src 'none'" in told["content-security-policy"]
        assert "frame-ancestors 'none'" in told["content-security-policy"]
        assert told["referrer-policy"] == "strict-origin" and told["cache-control"] == "no-store"
    assert (await here.ask("GET", "/api/session", cookie(mine.session))).json["user"] == "ada"
    opened = await here.form(TOKENS["bob"], *cookie(mine.session))
    assert (opened.status, dict(opened.headers)["location"]) == (303, "/console")
    assert (await here.ask("GET", "/api/session", cookie(opened.session))).json["user"] == "bob"
    assert (await here.ask("GET", "/api/session", cookie(mine.session))).status == 401


async def test_the_button_counts_only_where_it_was_shown(here: World):
    body = b"token=" + TOKENS["bob"].encode()
    kind = ("content-type", "application/x-www-form-urlencoded")
    for headers in (
        [],
        [("origin", EVIL)],
        [("origin", SHOP)],
        [("origin", "null")],
        [("origin", HERE), ("sec-fetch-site", "cross-site")],
        [("origin", "http://127.0.0.1:8000")],
        [("origin", HERE), ("origin", EVIL)],
        [("sec-fetch-site", "same-site")],
    ):
        got = await here.ask("POST", "/login", [*headers, kind], body)
        assert (got.status, got.session) == (403, ""), headers
    for wrong in (b"", b"token=", b"token=a&token=" + TOKENS["bob"].encode(), b'{"token": "x"}', b"other=1"):
        got = await here.ask("POST", "/login", [("origin", HERE)], wrong)
        assert (got.status, got.session) == (400, ""), wrong


async def test_the_link_of_this_machines_owner_leads_straight_on_but_replaces_nobody_else(here: World):
    got = await here.ask("GET", f"/login?token={OWN}")
    assert (got.status, dict(got.headers)["location"]) == (303, "/console")
    assert (await here.ask("GET", "/api/session", cookie(got.session))).json["user"] == "local"
    again = await here.ask("GET", f"/login?token={OWN}", cookie(got.session))
    assert again.status == 303
    assert (await here.ask("GET", "/api/session", cookie(got.session))).status == 401
    # Somebody else is signed in here: they are asked.
    other = await here.sign_in(TOKENS["bob"])
    asked = await here.ask("GET", f"/login?token={OWN}", cookie(other.session))
    assert (asked.status, asked.session) == (200, "")
    # And from a page of another site it leads nowhere at all.
    elsewhere = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
    led = await here.ask("GET", f"/login?token={OWN}", elsewhere)
    assert (led.status, led.session) == (403, "")


async def test_a_users_name_is_text_on_the_page_that_asks(tmp_path: Path):
    async with world(tmp_path) as here:
        token = here.issuer.token(claims={"sub": '"><script>alert(1)</script>'})
        got = await here.ask("GET", f"/login?token={token}")
        assert b"<script>" not in got.body and got.status in (200, 401)


# Where no page was configured, none may talk.


async def test_without_a_page_table_nobody_gets_a_visitors_token_and_the_answer_says_why(tmp_path: Path):
    async with world(tmp_path, pages=False) as here:
        for method, path in (
            ("POST", "/api/page/session"),
            ("POST", "/api/page/send-message"),
            ("POST", "/api/page/send-message/stream"),
            ("POST", "/api/page/submit-tool-results"),
            ("POST", "/api/page/submit-tool-results/stream"),
            ("GET", "/_jay/actions/agent.sendMessage"),
            ("POST", "/_jay/actions/agent.sendMessage"),
        ):
            for headers in ([], bearer(TOKENS["ada"]), bearer(here.visit())):
                got = await here.ask(method, path, headers, b"{}")
                assert got.status == 404 and "[page]" in got.json["error"]["message"], (path, got)
        # A token from before it was turned off counts nowhere.
        for path in ("/api/agent/approvals/pending", "/api/agent/runs", "/api/session"):
            assert (await here.ask("GET", path, bearer(here.visit(user=BOB)))).status == 401
