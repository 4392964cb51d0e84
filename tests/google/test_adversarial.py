"""Attacks on connecting an account: whoever is not the one that began connects nothing, and no lie of a server is
believed further than it has to be."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from tests.google.adversary import DATA, MAIL, PAGE, Den, begun, den, lying, world
from tests.http.google_site import connect

from pollux.emulator.workspace import run_workspace
from pollux.tools.google.scopes import CALENDAR, GMAIL, IDENTITY

CALLBACK = "/api/google/callback"


def state_in(address: str) -> str:
    return parse_qs(urlsplit(address).query)["state"][0]


def code_in(address: str) -> str:
    return parse_qs(urlsplit(address).query)["code"][0]


TLS = "https://agents.example.com"


async def nobody_is_connected(here: Den) -> bool:
    return not any([(await here.connected(person))["connected"] for person in (here.ada, here.bob)])


async def test_an_attackers_code_does_not_fit_another_beginning(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace) as here:
        victims = await begun(here, here.ada)
        attackers = await begun(here, here.bob, account="eve@example.com")
        spliced = urlencode({"state": state_in(victims.target), "code": code_in(attackers.target)})
        got = await here.ada.get(f"{CALLBACK}?{spliced}", headers={**PAGE, "Cookie": victims.cookie})
        assert got.status == 403 and b"Nothing was connected" in got.body
        # It is used up with that, on both sides: a second try with the right code finds nothing open.
        assert (await victims.comes_back(here.ada)).status == 400
        assert await nobody_is_connected(here)


async def test_without_tls_a_cookie_connects_nobody_who_is_not_signed_in(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace) as here:
        # As a page at another port of this host could have planted it in a victim's browser.
        link = await begun(here, here.bob, account="victim@example.com")
        assert (await link.comes_back(here.site.nobody)).status == 401
        assert await nobody_is_connected(here)


async def test_a_link_of_the_attackers_connects_no_victims_account_to_them(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace, public_url=TLS) as here:
        link = await begun(here, here.bob, account="victim@example.com")
        own = await begun(here, here.ada)
        # Signed in as somebody else, signed in as nobody, with a cookie of another beginning, with none.
        assert (await link.comes_back(here.ada)).status == 401
        assert (await link.comes_back(here.ada, own.cookie)).status == 401
        assert (await link.comes_back(here.site.nobody, own.cookie)).status == 401
        assert (await link.comes_back(here.site.nobody, "")).status == 401
        renamed = f"{link.cookie.partition('=')[0]}={own.cookie.partition('=')[2]}"
        assert (await link.comes_back(here.site.nobody, renamed)).status == 401
        assert await nobody_is_connected(here)
        assert (await own.comes_back(here.site.nobody)).status == 200


async def test_an_answer_counts_once_here_and_in_any_other_process(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace, public_url=TLS) as here:
        tab = await begun(here, here.ada)
        assert (await tab.comes_back(here.site.nobody)).status == 200
        assert (await tab.comes_back(here.site.nobody)).status == 400
        await here.ada.post("/api/google/disconnect")
        async with den(tmp_path, workspace, public_url=TLS) as second:
            assert (await tab.comes_back(second.site.nobody)).status == 403
        assert (await here.connected(here.ada))["connected"] is False


async def test_another_process_of_the_same_installation_finishes_what_one_began(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace, public_url=TLS) as here:
        tab = await begun(here, here.ada)
        async with den(tmp_path, workspace, public_url=TLS) as second:
            assert (await tab.comes_back(second.site.nobody)).status == 200
        assert (await here.connected(here.ada))["connected"] is True


async def test_a_state_of_another_installation_is_none(tmp_path: Path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with (
        run_workspace() as workspace,
        den(tmp_path / "one", workspace) as one,
        den(tmp_path / "two", workspace) as two,
    ):
        assert (await (await begun(one, one.ada)).comes_back(two.ada)).status == 400


async def test_two_tabs_can_connect_at_once_in_either_order(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace, public_url=TLS) as here:
        first = await begun(here, here.ada, account="first@example.com")
        second = await begun(here, here.ada, account="second@example.com")
        both = f"{first.cookie}; {second.cookie}"
        assert first.cookie.partition("=")[0] != second.cookie.partition("=")[0]
        assert (await first.comes_back(here.site.nobody, both)).status == 200
        # Only its own cookie was taken away.
        assert (await second.comes_back(here.site.nobody, second.cookie)).status == 200
        assert (await here.connected(here.ada))["email"] == "second@example.com"


async def test_a_page_that_sends_people_to_the_callback_does_not_disturb_who_is_connecting(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace, public_url=TLS) as here:
        tab = await begun(here, here.ada)
        junk = await here.site.nobody.get(f"{CALLBACK}?state=x&code=y", headers={**PAGE, "Cookie": tab.cookie})
        assert junk.status == 400
        assert tab.cookie.partition("=")[0] not in junk.headers["Set-Cookie"]
        assert (await tab.comes_back(here.site.nobody)).status == 200


HOSTS = [
    "127.0.0.1:80@evil.example", "127.0.0.1:1/evil", "localhost:1?x", "127.0.0.1:1#x", "127.0.0.1:\\evil.example",
    "127.0.0.1:8 0", "evil.example", "127.0.0.1.evil.example", "127.0.0.1:80:80@evil.example:1",
]  # fmt: skip


async def test_no_host_header_leads_the_answer_elsewhere(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace) as here:
        for host in HOSTS:
            got = await here.ada.get("/api/google/connect", headers={**DATA, "Host": host})
            assert got.status in (400, 403), got
            assert got.code in ("invalid", "bad_host")


async def test_what_a_proxy_would_say_is_not_believed(tmp_path: Path):
    forwarded = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "Forwarded": "host=evil.example"}
    async with run_workspace() as workspace, den(tmp_path, workspace) as here:
        got = await here.ada.get("/api/google/connect", headers={**DATA, **forwarded})
        consent: str = got.body["url"]
        assert parse_qs(urlsplit(consent).query)["redirect_uri"] == [f"{here.site.url}{CALLBACK}"]


@pytest.mark.parametrize(
    ("public", "path", "name"),
    [
        ("https://agents.example.com", "/", "__Host-pollux_google_"),
        ("https://example.com/agents", "/", "__Host-pollux_google_"),
        ("http://127.0.0.1:9/agents", "/agents/api/google/callback", "pollux_google_"),
    ],
)
async def test_the_cookie_comes_back_to_where_google_sends_the_browser(
    tmp_path: Path, public: str, path: str, name: str
):
    async with run_workspace() as workspace, den(tmp_path, workspace, public_url=public) as here:
        got = await here.ada.get("/api/google/connect", headers=PAGE)
        asked = parse_qs(urlsplit(got.headers["Location"]).query)
        assert asked["redirect_uri"] == [f"{public}{CALLBACK}"]
        cookie = got.headers["Set-Cookie"]
        assert cookie.startswith(name) and f"Path={path};" in cookie
        assert cookie.endswith("Secure") is public.startswith("https")
        page = await here.ada.get(CALLBACK, headers=PAGE)
        assert f'href="{public}/console#/google"'.encode() in page.body


async def test_other_methods_on_these_routes_do_nothing(tmp_path: Path):
    async with world(tmp_path) as here:
        before = await here.connected(here.ada)
        tab = await begun(here, here.ada)
        for method in ("OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE"):
            for path in ("/api/google/connect", tab.target, "/api/google/status", "/api/google/disconnect"):
                if (method, path) != ("POST", "/api/google/disconnect"):
                    assert (await here.ada.send(method, path)).status == 405
        assert (await here.ada.get("/api/google/disconnect")).status == 405
        assert await here.connected(here.ada) == before


HUGE = "x" * 9000
ODD = [
    f"state={HUGE}", f"code={HUGE}", f"error={HUGE}", "state=%00", "state=%ff", "state=&code=&error=",
    "state=a&state=b",
    "code=%0d%0aSet-Cookie:%20a=b&state=x", "error=%3Cscript%3Ealert(1)%3C/script%3E&state=x", "state=%F0%9F%92%A9",
    "&".join(f"a{number}=b" for number in range(100)), "state[]=x", "state=..%2f..%2f",
    "state=x\"><script>alert(1)</script>", "scope=" + HUGE, "%", "=&=&=",
]  # fmt: skip


@pytest.mark.parametrize("accept", [PAGE, DATA], ids=["page", "data"])
async def test_odd_answers_are_refused_in_one_form(tmp_path: Path, accept: dict[str, str]):
    async with run_workspace() as workspace, den(tmp_path, workspace) as here:
        for query in ODD:
            for person in (here.ada, here.site.nobody):
                got = await person.get(f"{CALLBACK}?{query}", headers=accept)
                assert got.status in (400, 401, 403, 413, 414), (query[:40], got)
                assert b"<script" not in (got.body if isinstance(got.body, bytes) else b"")
            # As a browser brings it from another site: led here once more, by a page that repeats what it came with.
            came = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
            got = await here.site.nobody.get(f"{CALLBACK}?{query}", headers={**accept, **came})
            assert got.status in (200, 400, 401, 413, 414), (query[:40], got)
            assert b"<script" not in (got.body if isinstance(got.body, bytes) else b"")
        assert await nobody_is_connected(here)


# A server that lies in Google's place: its words reach pages, answers and the audit.


EVIL_EMAILS = [
    "a@b\r\nSet-Cookie: x=y", "<img src=x onerror=alert(1)>@example.com", "a@b\x00", "no-address", "x" * 400 + "@b",
    "\u202emoc.elpmaxe@ada", 7, None, ["a@b"], {"a": 1}, "\ud83d@b", '"><script>@b', "{title}{0}@b",
]  # fmt: skip


async def test_an_address_that_google_names_is_shown_as_text_or_not_at_all(tmp_path: Path):
    async with lying() as liar, run_workspace() as workspace:
        environ = {"POLLUX_GOOGLE_OAUTH_BASE_URL": liar.url}
        async with den(tmp_path, workspace, environ=environ) as here:
            for email in EVIL_EMAILS:
                liar.grants(email=email)
                tab = await begun(here, here.ada, allows=False)
                got = await here.ada.get(f"{CALLBACK}?code=c&state={state_in(tab.consent)}", headers=PAGE)
                assert (got.status, b"connected" in got.body) == (200, True), (email, got)
                assert b"<img" not in got.body and b"<script" not in got.body and "x=y" not in str(got.headers)
                shown = (await here.connected(here.ada))["email"]
                assert shown is None or shown.isprintable()
                assert (await here.ada.get("/api/google/connect", headers=PAGE)).status == 302
            audit = await here.ada.get("/api/agent/audit")
            assert audit.status == 200 and "onerror" not in str(audit.body)


LIES: list[tuple[int, Any]] = [
    (200, b""), (200, b"not json"), (200, []), (200, {}), (200, {"access_token": ""}), (200, {"access_token": "a\nb"}),
    (200, {"access_token": 5}), (200, b'{"access_token":"a","expires_in":1e999}'), (200, b"[" * 100_000),
    (200, b'{"access_token":"' + b"\xff" + b'"}'), (200, b"x" * 2_000_000), (204, b""), (302, {}), (307, {}), (400, {}),
    (400, {"error": "invalid_grant", "error_description": "secret-words"}), (400, {"error": {"code": 400}}),
    (400, {"error": "<script>"}), (401, {"error": "invalid_client"}), (403, b"<html>"), (429, {}), (500, {}), (503, {}),
]  # fmt: skip


async def test_no_lie_of_the_token_endpoint_connects_or_breaks_anything(tmp_path: Path):
    async with lying() as liar, lying() as elsewhere, run_workspace() as workspace:
        environ = {"POLLUX_GOOGLE_OAUTH_BASE_URL": liar.url}
        async with den(tmp_path, workspace, environ=environ) as here:
            for status, answer in LIES:
                liar.says(answer, status=status, Location=elsewhere.url)
                tab = await begun(here, here.ada, allows=False)
                got = await here.ada.get(f"{CALLBACK}?code=c&state={state_in(tab.consent)}", headers=PAGE)
                assert got.status in (400, 401, 403, 502, 503), (status, answer, got)
                assert b"Nothing was connected" in got.body and b"secret-words" not in got.body
                assert b"<script" not in got.body
            assert await nobody_is_connected(here)
        # A redirect is not followed: the request holds the client's secret and the code.
        assert elsewhere.heard == []


async def test_a_lifetime_of_any_length_is_lived_with(tmp_path: Path):
    async with (
        lying() as liar,
        run_workspace() as workspace,
        den(tmp_path, workspace, environ={"POLLUX_GOOGLE_OAUTH_BASE_URL": liar.url}) as here,
    ):
        for seconds in (0, -5, 1, 10**12, "3599"):
            liar.grants(expires_in=seconds)
            tab = await begun(here, here.ada, allows=False)
            got = await here.ada.get(f"{CALLBACK}?code=c&state={state_in(tab.consent)}", headers=DATA)
            assert (got.status, (await here.connected(here.ada))["connected"]) == (200, True), seconds


# What was agreed to, and by whom.


async def test_a_person_who_leaves_out_one_of_a_tools_rights_is_told(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace) as here:
        without = {scope for scope in GMAIL if not scope.endswith("metadata")}
        got = await connect(here.ada, workspace, scopes=frozenset(without) | CALENDAR | IDENTITY)
        assert (got.body["tools"], got.body["missing"]) == (["calendar_event_create"], ["gmail_send"])


async def test_rights_that_are_enough_for_no_tool_are_told_as_that(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace) as here:
        begin = await here.ada.get("/api/google/connect?tools=gmail_send", headers=DATA)
        only = frozenset(scope for scope in GMAIL if scope.endswith("metadata"))
        back = urlsplit(workspace.allow(begin.body["url"], account="ada@example.com", scopes=only | IDENTITY))
        page = await here.ada.get(f"{back.path}?{back.query}", headers=PAGE)
        assert b"of no use yet" in page.body and b"gmail_send would need" in page.body


async def test_an_account_that_two_users_share_ends_for_both_and_the_other_is_told(tmp_path: Path):
    async with world(tmp_path) as here:
        await connect(here.bob, here.workspace)
        await here.ada.post("/api/google/disconnect")
        asked = await here.asked(here.bob)
        got = await here.bob.resolve(asked["approvals"][0]["id"])
        run = got.body["run"]
        assert (run["status"], run["errorCode"]) == ("failed", "auth_error")
        assert run["connectUrl"] == "/api/google/connect?tools=gmail_send"
        assert (await here.connected(here.bob))["connected"] is False
        await connect(here.bob, here.workspace)
        assert (await here.asked(here.bob))["status"] == "awaiting_confirmation"
        assert here.workspace.ledger == []


async def test_connecting_another_account_while_an_approval_waits_sends_once_from_the_one_that_is_there(tmp_path: Path):
    async with world(tmp_path) as here:
        asked = await here.asked(here.ada)
        await connect(here.ada, here.workspace, account="other@example.com")
        got = await here.ada.resolve(asked["approvals"][0]["id"])
        assert got.body["run"]["status"] == "completed", got
        assert [entry.to for entry in here.workspace.ledger] == [tuple(MAIL["to"])]


async def test_an_account_that_is_given_back_after_the_approval_sends_nothing(tmp_path: Path):
    async with world(tmp_path) as here:
        asked = await here.asked(here.ada)
        await here.ada.post("/api/google/disconnect")
        run = (await here.ada.resolve(asked["approvals"][0]["id"])).body["run"]
        assert (run["status"], run["errorCode"]) == ("failed", "auth_error")
        assert run["connectUrl"] == "/api/google/connect?tools=gmail_send"
        assert here.workspace.ledger == []
