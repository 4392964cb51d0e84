"""Who is asking, over a real server: tokens, sessions of browsers, an issuer's JWTs, and who has none of them."""

import base64
import hashlib
import hmac
import json
import stat
import time
from collections.abc import Callable
from http.cookies import Morsel, SimpleCookie
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.asgi.issuer import ABSENT, AUDIENCE, Issuer, b64, joined, public_rsa, rs256, rsa_key, serving, signer
from tests.http.site import TOKENS, Got, Person, Site, form, known, process, settings_in, site

from pollux.asgi.cookies import SECURE_COOKIE, SESSION_COOKIE
from pollux.asgi.credentials import authority_of
from pollux.asgi.listening import listening
from pollux.asgi.sessions import SESSION_SECONDS
from pollux.config import ConfigError
from pollux.core.redact import Secret
from pollux.emulator.server import run_emulator
from pollux.engine.system import SystemClock
from pollux.http.browser import AFTER_SIGN_IN
from pollux.http.table import ENDPOINTS
from pollux.serve import application
from pollux.stores.memory import MemoryStore
from pollux.testing import reply
from pollux.testing import scripted as model

RUNS = "/api/agent/runs"
CSRF = "X-Pollux-CSRF"


def cookie_of(got: Got, name: str = SESSION_COOKIE) -> "Morsel[str]":
    return SimpleCookie(got.headers["set-cookie"])[name]


async def confirmed(here: Site, token: str = TOKENS["ada"], **headers: str) -> Got:
    """The button of the page that a login link shows."""
    return await here.nobody.send("POST", "/login", raw=form(token=token), headers={"Origin": here.url, **headers})


class Browser:
    """A session by cookie. The cookie is sent by hand, so that a test can spoil it."""

    def __init__(self, here: Site, got: Got) -> None:
        self._person = here.nobody
        self.value = cookie_of(got).value
        self.csrf: str = got.body["csrf"]

    async def send(
        self, method: str, path: str, body: object = None, *, csrf: str | None = None, value: str | None = None
    ) -> Got:
        headers = {"Cookie": f"{SESSION_COOKIE}={self.value if value is None else value}"}
        return await self._person.send(method, path, body, headers=headers | ({CSRF: csrf} if csrf else {}))


async def sign_in(here: Site, name: str = "ada") -> Browser:
    got = await here.nobody.post("/api/session/sign-in", {"token": TOKENS[name]})
    assert got.status == 200
    return Browser(here, got)


ADA, BOB = TOKENS["ada"], TOKENS["bob"]


NO_TOKENS = [
    "", "Bearer", "Bearer ", "Bearer  ", f"Basic {ADA}", f"Bearer{ADA}", ADA, f"Token {ADA}", f"Bearer {ADA}x",
    f"Bearer {ADA[:-1]}", f"Bearer {ADA.upper()}", f"Bearer {ADA}, Bearer {BOB}", f"Bearer {ADA} {BOB}",
    f'Bearer "{ADA}"', "Bearer null", "Bearer undefined", "Bearer ada", "Bearer ada:" + ADA, "Bearer *",
    "Bearer " + "x" * 9000, "Bearer é", "Basic " + base64.b64encode(f"ada:{ADA}".encode()).decode(),
]  # fmt: skip


async def test_what_is_no_token_of_ours_is_refused(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for given in NO_TOKENS:
            got = await here.nobody.get(RUNS, {"Authorization": given})
            assert (got.status, got.code) == (401, "auth_error"), given
            assert got.headers["www-authenticate"].startswith("Bearer")
            assert "token-of" not in json.dumps(got.body)
        assert (await here.ada.get(RUNS)).status == 200


async def test_no_route_but_the_public_ones_answers_without_a_credential(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for row in ENDPOINTS:
            got = await here.nobody.send(row.method, row.path.replace("{id}", "x"), {} if row.body else None)
            assert (got.status == 401 and got.code == "auth_error") or row.public, row


async def test_two_credentials_at_once_are_none(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        pairs = [("Authorization", f"Bearer {ADA}"), ("Authorization", f"Bearer {BOB}")]
        async with here.http.get(here.url + RUNS, headers=pairs) as response:
            assert response.status == 401


async def test_the_scheme_may_be_written_in_any_case(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for scheme in ("Bearer", "bearer", "BEARER"):
            assert (await here.nobody.get(RUNS, {"Authorization": f"{scheme} {ADA}"})).status == 200


async def test_each_named_token_is_its_own_user_and_nothing_in_the_request_changes_that(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        await here.ada.run("say hello")
        claims = {"X-User": "ada", "X-Forwarded-User": "ada", "X-Pollux-User": "ada", "From": "ada"}
        got = await here.bob.get("/api/agent/threads?user=ada&uid=ada", claims)
        assert got.status in (200, 400)
        assert (await here.bob.get("/api/agent/threads", claims)).body["items"] == []
        for name, person in (("ada", here.ada), ("bob", here.bob)):
            assert (await person.get("/api/session", claims)).body == {
                "ok": True, "user": name, "expiresAt": None, "csrf": None,
            }  # fmt: skip
        named = {"prompt": "hello", "user": "ada"}
        assert (await here.bob.post("/api/agent/run", named)).status == 400


async def test_a_cookie_beside_a_token_adds_nothing_to_it(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        adas = await sign_in(here, "ada")
        cookie = {"Cookie": f"{SESSION_COOKIE}={adas.value}"}
        assert (await here.bob.get("/api/session", cookie)).body["user"] == "bob"
        wrong = {**cookie, "Authorization": "Bearer wrong"}
        assert (await here.nobody.get("/api/session", wrong)).status == 401


async def test_this_machines_own_token_is_the_user_local(tmp_path: Path):
    async with process(tmp_path, POLLUX_TOKENS="") as serving_, aiohttp.ClientSession() as http:
        file = Path(serving_.ready["tokenFile"])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        own = Person(http, serving_.url, file.read_text())
        assert (await own.get("/api/session")).body["user"] == "local"
        assert (await Person(http, serving_.url, ADA).get("/api/session")).status == 401
        got = await Person(http, serving_.url).get(f"/login?token={file.read_text()}")
        assert (got.status, got.headers["location"]) == (303, AFTER_SIGN_IN)
        assert (cookie_of(got)["httponly"], cookie_of(got)["samesite"]) == (True, "Strict")
        assert file.read_text() not in str([got.body, *got.headers.items()])


# Sessions of browsers.


async def test_a_browser_signs_in_reads_changes_with_its_proof_and_signs_out(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        ada = await sign_in(here)
        session = (await ada.send("GET", "/api/session")).body
        assert (session["user"], session["csrf"]) == ("ada", ada.csrf)

        begun = {"prompt": "say hello"}
        for wrong in (None, "", "x", ada.csrf[:-1], ada.csrf.upper(), ada.csrf + "0", ada.value):
            got = await ada.send("POST", "/api/agent/run", begun, csrf=wrong)
            assert (got.status, got.code) == (403, "csrf_required"), wrong
        assert (await ada.send("GET", RUNS)).body["items"] == []
        assert (await ada.send("POST", "/api/agent/run", begun, csrf=ada.csrf)).body["summary"] == "Hello."

        assert (await ada.send("POST", "/api/session/sign-out")).status == 403
        out = await ada.send("POST", "/api/session/sign-out", csrf=ada.csrf)
        gone = cookie_of(out)
        assert (out.status, gone.value, gone["max-age"], gone["path"]) == (200, "", "0", "/")
        assert (await here.nobody.get("/api/session", {"Cookie": f"{SESSION_COOKIE}="})).status == 401
        # A copy of the cookie is worth nothing any more.
        assert (await ada.send("GET", "/api/session")).status == 401


async def test_everything_that_changes_something_needs_the_proof(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        ada = await sign_in(here)
        rows = [row for row in ENDPOINTS if row.method != "GET" and not row.public]
        assert {row.method for row in rows} == {"POST", "PATCH", "DELETE"}
        for row in rows:
            got = await ada.send(row.method, row.path.replace("{id}", "x"), {} if row.body else None)
            assert (got.status, got.code) == (403, "csrf_required"), row.path


async def test_the_cookie_is_kept_from_scripts_and_other_sites_and_ends_in_time(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for got in (
            await here.nobody.post("/api/session/sign-in", {"token": ADA}),
            await confirmed(here),
        ):
            cookie = cookie_of(got)
            assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/")
            assert (cookie["secure"], cookie["domain"]) == ("", "")
            assert 0 < int(cookie["max-age"]) <= SESSION_SECONDS
            assert got.headers["cache-control"] == "no-store"
            assert got.headers["referrer-policy"] == "no-referrer"


async def test_behind_https_the_cookie_is_secure_and_nobody_else_can_set_one_of_its_name(tmp_path: Path):
    async with site(tmp_path, model(), public_url="https://agent.example.com") as here:
        got = await here.nobody.post("/api/session/sign-in", {"token": ADA})
        for each in (got, await confirmed(here)):
            cookie = cookie_of(each, SECURE_COOKIE)
            assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
        secret = cookie_of(got, SECURE_COOKIE).value
        for name, status in ((SECURE_COOKIE, 200), (SESSION_COOKIE, 401)):
            assert (await here.nobody.get("/api/session", {"Cookie": f"{name}={secret}"})).status == status
        headers = {"Cookie": f"{SECURE_COOKIE}={secret}", CSRF: got.body["csrf"]}
        out = await here.nobody.post("/api/session/sign-out", headers=headers)
        assert cookie_of(out, SECURE_COOKIE)["secure"] is True


async def test_no_session_for_a_wrong_token(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for token in ("", "wrong", ADA + "x", "local", "ada"):
            for got in (
                await here.nobody.get(f"/login?token={token}"),
                await confirmed(here, token or "x"),
                await here.nobody.post("/api/session/sign-in", {"token": token or "x"}),
            ):
                assert (got.status, got.code) == (401, "auth_error")
                assert "set-cookie" not in got.headers


async def test_a_cookie_is_no_token_and_cannot_be_exchanged_for_another(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        ada = await sign_in(here)
        assert (await here.nobody.get("/api/session", {"Authorization": f"Bearer {ada.value}"})).status == 401
        assert (await here.nobody.post("/api/session/sign-in", {"token": ada.value})).status == 401
        assert (await here.nobody.get(f"/login?token={ada.value}")).status == 401


FORGERIES: dict[str, Callable[[str, str], str]] = {
    "half of each": lambda ada, bob: ada[:20] + bob[20:],
    "its facts as they were once sealed": lambda ada, bob: (
        b64(b'{"u":"ada","m":"","e":9999999999.0,"n":"00"}') + "." + hmac.new(b"", b"x", hashlib.sha256).hexdigest()
    ),
    "cut off": lambda ada, bob: ada[:-1],
    "the other end cut off": lambda ada, bob: ada[1:],
    "longer": lambda ada, bob: ada + "A",
    "in another case": lambda ada, bob: ada.swapcase(),
    "quoted": lambda ada, bob: f'"{ada}"',
    "escaped": lambda ada, bob: "%" + f"{ord(ada[0]):x}" + ada[1:],
    "junk": lambda ada, bob: "=.=",
}


async def test_a_forged_cookie_is_none(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        ada, bob = await sign_in(here, "ada"), await sign_in(here, "bob")
        assert (await ada.send("GET", "/api/session")).status == 200
        for name, forge in FORGERIES.items():
            value = forge(ada.value, bob.value)
            for csrf in (None, ada.csrf):
                assert (await ada.send("GET", "/api/session", value=value, csrf=csrf)).status == 401, name
                assert (await ada.send("POST", "/api/session/sign-out", value=value, csrf=csrf)).status == 401, name


async def test_the_proof_of_one_browser_does_nothing_for_another(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        ada, bob = await sign_in(here, "ada"), await sign_in(here, "bob")
        assert (await ada.send("POST", "/api/agent/run", {"prompt": "x"}, csrf=bob.csrf)).status == 403


async def test_a_session_ends_when_its_token_is_taken_away_and_lives_through_a_restart_otherwise(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        ada = await sign_in(here)
        statuses: list[int] = []
        for tokens in ({"ada": ADA}, {"ada": "another-token-0123456789"}, {"bob": ADA}, {}):
            settings = settings_in(tmp_path)
            authority = authority_of(settings, known(tokens), here.store, clock=here.engine.clock)
            async with listening(application(settings, here.engine, authority), settings) as again:
                cookie = {"Cookie": f"{SESSION_COOKIE}={ada.value}"}
                statuses.append((await Person(here.http, again.url).get("/api/session", cookie)).status)
        assert statuses == [200, 401, 401, 401]


def test_a_seal_that_could_be_guessed_is_refused_at_the_start(tmp_path: Path):
    for key in ("x", "short", "0123456789abcde"):
        with pytest.raises(ConfigError, match="POLLUX_SEAL_KEY"):
            authority_of(settings_in(tmp_path, seal_key=Secret(key)), known({}), MemoryStore(), clock=SystemClock())
    assert authority_of(
        settings_in(tmp_path, seal_key=Secret("0123456789abcdef")), known({}), MemoryStore(), clock=SystemClock()
    )


async def test_a_link_that_another_page_leads_to_signs_nobody_in(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for site_, mode, dest in (
            ("cross-site", "navigate", "document"),
            ("same-site", "navigate", "document"),
            ("same-site", "navigate", "iframe"),
            ("same-site", "no-cors", "image"),
            ("same-site", "cors", "empty"),
        ):
            headers = {"Sec-Fetch-Site": site_, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
            for got in (await here.nobody.get(f"/login?token={ADA}", headers), await confirmed(here, **headers)):
                assert (got.status, got.code) == (403, "bad_origin")
                assert "set-cookie" not in got.headers
        by_hand = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert (await here.nobody.get(f"/login?token={ADA}", by_hand)).status == 200


# An issuer's tokens, through `pollux serve`.


def _hs256(secret: bytes) -> Callable[[bytes], bytes]:
    return lambda message: hmac.new(secret, message, hashlib.sha256).digest()


def _attacks(issuer: Issuer) -> dict[str, str]:
    public = rsa_key("rsa").public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    jwk = json.dumps(public_rsa(rsa_key("rsa"))).encode()
    evil = rs256("evil")
    now = int(time.time())
    head, claims = json.dumps(issuer.header()).encode(), json.dumps(issuer.claims()).encode()
    return {
        "none": issuer.token(header={"alg": "none"}, sign=lambda message: b""),
        "nOnE": issuer.token(header={"alg": "nOnE"}),
        "none without a part": issuer.token(header={"alg": "none"}).rpartition(".")[0] + ".",
        "the public key as a secret": issuer.token(header={"alg": "HS256"}, sign=_hs256(pem)),
        "the published key as a secret": issuer.token(header={"alg": "HS256"}, sign=_hs256(jwk)),
        "crit": issuer.token(header={"crit": ["exp"]}),
        "jku": issuer.token(header={"jku": f"{issuer.url}/evil"}, sign=evil),
        "a key of its own": issuer.token(header={"jwk": public_rsa(rsa_key("evil"))}, sign=evil),
        "a stranger's key": issuer.token(sign=evil),
        "a key by a path": issuer.token(header={"kid": "../../../../dev/null"}, sign=_hs256(b"")),
        "another audience": issuer.token(claims={"aud": "somebody-else"}),
        "no audience": issuer.token(claims={"aud": ABSENT}),
        "another issuer": issuer.token(claims={"iss": issuer.url + "/"}),
        "expired": issuer.token(claims={"exp": now - 60}),
        "without an end": issuer.token(claims={"exp": ABSENT}),
        "not yet": issuer.token(claims={"nbf": now + 600}),
        "local": issuer.token(claims={"sub": "local"}),
        "nobody": issuer.token(claims={"sub": ""}),
        "two subjects": joined(head, claims[:-1] + b',"sub":"bob"}', signer("rsa")),
        "cut off": issuer.token()[:-4],
    }  # fmt: skip


async def test_an_issuers_tokens_open_and_no_attack_on_them_does(tmp_path: Path):
    async with serving() as issuer, run_emulator() as emulator, aiohttp.ClientSession() as http:
        issuer.clock.at = time.time()
        environ = {
            "POLLUX_OIDC_ISSUER": issuer.url,
            "POLLUX_OIDC_AUDIENCE": AUDIENCE,
            "GEMINI_API_KEY": "key-for-the-emulator",
            "GOOGLE_GEMINI_BASE_URL": emulator.url,
        }
        async with process(tmp_path, **environ) as here:
            refused: dict[str, Any] = {}
            for name, token in _attacks(issuer).items():
                got = await Person(http, here.url, token).get("/api/session")
                refused[name] = (got.status, got.code)
                assert token.split(".")[1] not in json.dumps(got.body)
                by_link = await Person(http, here.url).get(f"/login?token={token}")
                assert (by_link.status, "set-cookie" in by_link.headers) == (401, False), name
            assert set(refused.values()) == {(401, "auth_error")}, refused
            assert "/evil" not in issuer.requests

            adas = Person(http, here.url, issuer.token())
            bobs = Person(http, here.url, issuer.token("ec", claims={"sub": "bob@example.com"}))
            known = await adas.get("/api/session")
            assert (known.status, known.body.get("user")) == (200, "ada"), known.body
            run = await adas.run("say hello")
            assert run["status"] == "completed"
            for path in (f"/api/agent/runs/{run['runId']}", f"/api/agent/threads/{run['threadId']}"):
                assert (await adas.get(path)).status == 200
                assert (await bobs.get(path)).status == 404
            assert (await bobs.get("/api/agent/threads")).body["items"] == []

            # The session of a browser lasts no longer than the token that opened it.
            got = await Person(http, here.url).post("/api/session/sign-in", {"token": issuer.token()})
            assert (got.body["user"], int(cookie_of(got)["max-age"]) <= 300) == ("ada", True)
            told = here.talk
    assert not [name for name, token in _attacks(issuer).items() if token.split(".")[1][:30] in told]
    assert "Traceback" not in told


async def test_without_an_issuer_no_jwt_opens_anything(tmp_path: Path):
    async with serving() as issuer, site(tmp_path, model()) as here:
        issuer.clock.at = time.time()
        assert (await here.person(issuer.token()).get("/api/session")).status == 401
        assert issuer.requests == []
