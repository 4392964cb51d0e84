"""The scripts for pages: for anybody, from anywhere, and nothing else of the folder."""

import gzip
import os
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from pollux.asgi.static import PATHS, Assets, takes_gzip

SCRIPT = b"'use strict';" + b" // one line of many\n" * 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pollux.js").write_bytes(SCRIPT)
    (tmp_path / "secret.js").write_bytes(b"no")
    return tmp_path


@pytest.fixture
def client(folder: Path) -> TestClient:
    assets = Assets(folder)
    return TestClient(Starlette(routes=[*(Route(path, assets) for path in PATHS), Route("/{path:path}", behind)]))


async def behind(request: Request) -> Response:
    return PlainTextResponse("the door")


def test_the_script_is_given_to_pages_of_every_site(client: TestClient):
    answer = client.get("/pollux.js", headers={"accept-encoding": "identity", "sec-fetch-site": "cross-site"})
    assert (answer.status_code, answer.content) == (200, SCRIPT)
    wanted = {
        "content-type": "text/javascript; charset=utf-8",
        "cache-control": "public, max-age=300",
        "cross-origin-resource-policy": "cross-origin",
        "access-control-allow-origin": "*",
        "x-content-type-options": "nosniff",
        "vary": "accept-encoding",
    }
    assert {name: answer.headers[name] for name in wanted} == wanted


def test_it_is_compressed_for_those_who_take_that(client: TestClient):
    with client.stream("GET", "/pollux.js", headers={"accept-encoding": "br, gzip"}) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip" and int(answer.headers["content-length"]) == len(raw)
    assert len(raw) < len(SCRIPT) and gzip.decompress(raw) == SCRIPT


@pytest.mark.parametrize("accepted", ["gzip", "identity"])
def test_who_has_it_is_told_so(client: TestClient, accepted: str):
    first = client.get("/pollux.js", headers={"accept-encoding": accepted})
    again = client.get("/pollux.js", headers={"accept-encoding": accepted, "if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    other = "identity" if accepted == "gzip" else "gzip"
    assert client.get("/pollux.js", headers={"accept-encoding": other}).headers["etag"] != first.headers["etag"]


def test_a_script_that_is_built_anew_is_read_anew(client: TestClient, folder: Path):
    before = client.get("/pollux.js")
    (folder / "pollux.js").write_bytes(b"'new';")
    os.utime(folder / "pollux.js", ns=(1, 1))
    after = client.get("/pollux.js", headers={"if-none-match": before.headers["etag"]})
    assert (after.status_code, after.content) == (200, b"'new';")


def test_what_is_not_built_says_how_to_build_it(client: TestClient):
    answer = client.get("/automation.js")
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert error["code"] == "not_found" and "the browser side is not built: make web" in error["message"]
    assert error["correlationId"] == answer.headers["x-correlation-id"]
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/secret.js", "/pollux.js/", "/static/pollux.js", "/POLLUX.JS"])
def test_every_other_path_is_passed_on(client: TestClient, path: str):
    assert client.get(path).text == "the door"


def test_it_can_only_be_read(client: TestClient):
    answer = client.post("/pollux.js")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    assert client.head("/pollux.js").status_code == 200


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [("gzip", True), ("br;q=1.0, gzip;q=0.5", True), ("*", True), ("gzip;q=0", False), ("", False), ("br", False)],
)
def test_an_encoding_is_taken_as_it_is_asked_for(accepted: str, takes: bool):
    assert takes_gzip(accepted) is takes


def test_the_console_is_for_its_own_pages_alone(folder: Path, client: TestClient):
    (folder / "console").mkdir()
    (folder / "console/index.html").write_text("<!doctype html>")
    answer = client.get("/console", headers={"accept-encoding": "identity"})
    assert client.get("/console/").text == answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in answer.headers
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
