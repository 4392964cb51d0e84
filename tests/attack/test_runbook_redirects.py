"""A server that a runbook asks sends it on, within the origin: where a rule forbids to go, it does not go."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Literal

import pytest
from aiohttp import web
from tests.runbooks.lab import ADA, RunbookLab, block, document, ended, waiting

from pollux.core.conditions import Condition
from pollux.core.policy import Rule

TOOL = "runbook_http*"


class Server:
    def __init__(self) -> None:
        self.url = ""
        self.seen: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.seen.append(f"{request.method} {request.path}")
        if request.path.startswith("/on/"):
            status, _, where = request.path.removeprefix("/on/").partition("/")
            return web.Response(status=int(status), headers={"Location": f"/{where}"})
        return web.Response(text="done")


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    server, app = Server(), web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[RunbookLab]:
    lab = RunbookLab(tmp_path)
    yield lab
    await lab.close()


def beneath(decision: Literal["allow", "deny"], server: Server, path: str) -> Rule:
    where = (Condition("url", "prefix", f"{server.url}{path}"),)
    return Rule(decision, TOOL, where=where, tier="user", name=path, reason=path)


@pytest.mark.parametrize(
    ("verb", "status"), [("DELETE", 307), ("POST", 303), ("POST", 308), ("GET", 302), ("GET", 301)]
)
@pytest.mark.parametrize("trusted", [False, True])
async def test_no_redirect_leads_where_a_rule_forbids_to_go(
    lab: RunbookLab, server: Server, verb: str, status: int, trusted: bool
):
    engine, runbooks = await lab.engine()
    source = document(block("http", "ask", verb=verb, url=f"{server.url}/on/{status}/admin/all"))
    if trusted:
        lab.accept(source)
    rules = (beneath("allow", server, "/on/"), beneath("deny", server, "/admin"))
    run = await ended(engine, await runbooks.start(lab.opening(source), user=ADA, more=rules))
    assert run.status == "failed" and server.seen == [f"{verb} /on/{status}/admin/all"]
    assert "was not followed: /admin" in str(run.actions[0].outcome)


async def test_an_allow_rule_for_one_path_takes_no_request_to_another(lab: RunbookLab, server: Server):
    engine, runbooks = await lab.engine()
    source = document(block("http", "ask", verb="GET", url=f"{server.url}/on/302/elsewhere"))
    run = await ended(
        engine, await runbooks.start(lab.opening(source), user=ADA, more=(beneath("allow", server, "/on/"),))
    )
    assert run.status == "failed" and len(server.seen) == 1


@pytest.mark.parametrize("trusted", [False, True])
async def test_a_redirect_that_no_rule_names_is_followed_as_it_was_accepted_or_approved(
    lab: RunbookLab, server: Server, trusted: bool
):
    engine, runbooks = await lab.engine()
    source = document(block("http", "ask", verb="POST", url=f"{server.url}/on/303/there"))
    run = await lab.start(runbooks, source, trusted=trusted)
    if not trusted:
        asked = await waiting(engine, run.id)
        await engine.resolve(asked.approvals[0].id, "approved", by="ada")
    assert (await ended(engine, run)).status == "completed"
    assert server.seen == ["POST /on/303/there", "GET /there"]
