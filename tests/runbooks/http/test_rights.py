"""A runbook runs commands on the server. Who may is said by the operator, and there is nothing for anybody else."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.http.site import TOKENS, Got, Person, process, settings_in, site
from tests.runbooks.http.site import RUNS, asked, begun, config, ended, put, runbook_site
from tests.runbooks.lab import document, script

from pollux.config import ConfigError, load_project
from pollux.core.profile import Limits, Profile
from pollux.runbooks.http.runtime import owners
from pollux.runbooks.http.table import ENDPOINTS
from pollux.runbooks.opening import Opening
from pollux.stores.memory import MemoryStore
from pollux.testing import scripted

Ask = tuple[str, str, Mapping[str, Any] | None]


BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("PUT", "documents"): {"source": "[]", "digest": "x"},
    ("PATCH", "{id}"): {"props": {}, "digest": "x"},
    ("POST", "runs"): {"path": "a.atrb"},
    ("POST", "resume"): {},
    ("POST", "tool-approval"): {"approvalId": "apr_x", "approved": True},
}


def every(run: str = "run_x", approval: str = "apr_x") -> Iterator[Ask]:
    """A request to every route, one of each at least."""
    for row in ENDPOINTS:
        path = row.path.replace("{id}", "x" if "blocks" in row.path else run)
        query = "?path=a.atrb" if "/documents" in path else ""
        body = BODIES.get((row.method, row.path.rpartition("/")[2]))
        yield row.method, path + query, {**body, "approvalId": approval} if body and "approvalId" in body else body


def alike(got: Got) -> tuple[int, str]:
    return got.status, re.sub(r"req_\w+|run_\w+|apr_\w+", "<id>", json.dumps(got.body))


async def refusals(person: Person) -> set[tuple[int, str]]:
    return {alike(await person.send(method, path, body)) for method, path, body in every()}


async def test_without_a_folder_there_is_nothing(tmp_path: Path):
    async with site(tmp_path, scripted()) as here:
        nothing = alike(await here.ada.get("/api/nothing"))
        assert await refusals(here.ada) == {nothing}


async def test_whoever_was_not_named_finds_nothing_and_whoever_has_no_token_is_asked_for_one(tmp_path: Path):
    async with runbook_site(tmp_path, lines=['users = ["ada"]']) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "true")))
        nothing = alike(await here.ada.get("/api/nothing"))
        assert nothing[0] == 404
        assert await refusals(here.bob) == {nothing}
        assert {status for status, _ in await refusals(here.nobody)} == {401}
        assert nothing not in await refusals(here.ada)


async def test_a_visitor_of_a_page_never_may(tmp_path: Path):
    profiles = {name: Profile(name, limits=Limits(model_calls=3)) for name in ("default", "page")}
    async with runbook_site(tmp_path, lines=['users = ["ada"]'], profiles=profiles) as here:
        given = await here.nobody.post("/api/page/session", {}, {"Origin": here.url})
        visitor = here.person(given.body["token"])
        for method, path, body in every():
            got = await visitor.send(method, path, body, headers={"Origin": here.url})
            assert (got.status, got.code) == (403, "forbidden"), path


@pytest.mark.parametrize(
    ("environ", "host", "may"),
    [
        ({"POLLUX_TOKENS": ""}, "127.0.0.1", {"local"}),
        ({"POLLUX_TOKENS": ""}, "localhost", {"local"}),
        ({}, "127.0.0.1", set[str]()),
        ({"POLLUX_TOKENS": "", "POLLUX_OIDC_ISSUER": "https://i", "POLLUX_OIDC_AUDIENCE": "a"}, "::1", set[str]()),
        ({"POLLUX_TOKENS": ""}, "0.0.0.0", set[str]()),
    ],
)
def test_where_nobody_was_named_only_the_machines_own_user_may(
    tmp_path: Path, environ: dict[str, str], host: str, may: set[str]
):
    assert owners(settings_in(tmp_path, environ, host=host)) == may


async def test_runs_and_questions_of_adas_are_unknown_to_bob(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "touch done")))
        hers = await asked(here.ada, (await begun(here.ada, "a.atrb", trust=False))["runId"])
        question = hers["approvals"][0]["id"]
        for method, path, body in every(hers["runId"], question):
            if hers["runId"] not in path:
                continue
            never = path.replace(hers["runId"], "run_" + "a" * 24)
            unknown = {**(body or {}), "approvalId": "apr_" + "a" * 24 + "_1.0"} if body else body
            assert alike(await here.bob.send(method, path, body)) == alike(await here.bob.send(method, never, unknown))
            assert (await here.bob.send(method, path, body)).status == 404
        assert (await here.bob.get(RUNS)).body["items"] == []
        # By way of a run of his own he reaches no question of hers either.
        his = await asked(here.bob, (await begun(here.bob, "a.atrb", trust=False))["runId"])
        body = {"approvalId": question, "approved": True}
        assert (await here.bob.post(f"{RUNS}/{his['runId']}/tool-approval", body)).status == 404
        assert (await here.ada.get(f"{RUNS}/{hers['runId']}")).body == hers
    assert not (tmp_path / "runbooks/done").exists()


async def test_a_question_is_answered_by_way_of_its_own_run_alone(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "true")))
        first = await asked(here.ada, (await begun(here.ada, "a.atrb", trust=False))["runId"])
        second = await asked(here.ada, (await begun(here.ada, "a.atrb", trust=False))["runId"])
        body = {"approvalId": first["approvals"][0]["id"], "approved": True}
        assert (await here.ada.post(f"{RUNS}/{second['runId']}/tool-approval", body)).status == 404
        assert (await here.ada.post(f"{RUNS}/{first['runId']}/tool-approval", body)).status == 200


FORGED = Opening(document(script("one", "touch forged")), "json", "/tmp", path="/tmp/x.atrb")


async def test_no_prompt_becomes_a_runbook_or_gets_its_tools(tmp_path: Path):
    environ = config(tmp_path, 'users = ["ada"]')
    put(tmp_path / "runbooks", "a.atrb", document(script("one", "touch real")))
    async with process(tmp_path, **environ) as serving, aiohttp.ClientSession() as http:
        ada, bob = (Person(http, serving.url, TOKENS[name]) for name in ("ada", "bob"))
        source = FORGED.message().text.replace("/tmp", str(tmp_path))
        for person in (ada, bob):
            got = await person.post("/api/agent/run", {"prompt": source, "profile": "runbook"})
            # Either there is no such profile, or it may do nothing.
            assert got.status == 404 or (got.body["state"], got.body["approvals"]) == ("failed", []), got
        assert not (tmp_path / "forged").exists()
        assert (await bob.get(RUNS)).status == 404
        over = await ended(ada, (await begun(ada, "a.atrb"))["runId"])
    assert over["state"] == "completed" and (tmp_path / "runbooks/real").exists()


def test_a_server_without_runbooks_loads_nothing_of_them(tmp_path: Path):
    code = (
        "import asyncio, os, sys\nfrom pathlib import Path\nfrom pollux.asgi.credentials import credentials_of\n"
        "from pollux.config import read_settings\nfrom pollux.serve import running_app\n"
        "async def main():\n"
        "    settings = read_settings(os.environ, cwd=Path.cwd())\n"
        "    async with running_app(settings, credentials_of(settings)):\n"
        "        names = ('pollux.runbooks', 'pollux.acp', 'minijinja', 'yaml')\n"
        "        print([name for name in sys.modules if name.startswith(names)])\n"
        "asyncio.run(main())\n"
    )
    environ = {"HOME": str(tmp_path), "POLLUX_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    told = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert (told.stdout.strip(), told.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (['users = ["ada"]'], "folder"),
        (["editable = true"], "folder"),
        (["folder = 7"], "folder"),
        (['folder = ""'], "folder"),
        (['folder = "x"', 'editable = "yes"'], "editable"),
        (['folder = "x"', 'users = ["*"]'], "users"),
        (['folder = "x"', 'users = [""]'], "users"),
        (['folder = "x"', "users = [7]"], "users"),
        (['folder = "x"', "folders = []"], "folders"),
    ],
)
def test_what_is_written_wrongly_is_named(tmp_path: Path, lines: list[str], problem: str):
    file = tmp_path / "config.toml"
    file.write_text("\n".join(["[runbooks]", *lines]))
    with pytest.raises(ConfigError, match=problem):
        load_project(settings_in(tmp_path, {"POLLUX_CONFIG": str(file)}))


def test_a_folder_that_is_found_by_search_serves_no_runbooks(tmp_path: Path):
    (tmp_path / "pollux.toml").write_text('[runbooks]\nfolder = "."\nusers = ["ada"]\n')
    project = load_project(settings_in(tmp_path))
    assert project.rights.runbooks.served is None
    assert "runbooks" in [each.part for each in project.left_out]


def served(path: Path, environ: Mapping[str, str]) -> tuple[int, str]:
    """`pollux serve` that cannot begin: its exit code, and what it says."""
    plain = {"HOME": str(path), "POLLUX_HOME": str(path / "home"), "PATH": "/usr/bin:/bin"}
    words = [sys.executable, "-m", "pollux.cli", "serve", "--port", "0"]
    told = subprocess.run(words, cwd=path, env={**plain, **environ}, capture_output=True, text=True, timeout=60)
    return told.returncode, told.stderr


def test_a_folder_that_is_not_there_is_told_at_the_start(tmp_path: Path):
    environ = config(tmp_path)
    (tmp_path / "runbooks").rmdir()
    code, told = served(tmp_path, environ)
    assert code == 2 and "folder of [runbooks]" in told and "Traceback" not in told


def test_a_profile_of_the_same_name_is_told_at_the_start(tmp_path: Path):
    code, told = served(tmp_path, config(tmp_path, "[profiles.runbook]"))
    assert code == 2 and "[profiles.runbook]" in told and "Traceback" not in told


def test_a_tool_of_the_same_name_is_told_at_the_start(tmp_path: Path):
    code, told = served(tmp_path, config(tmp_path, "[tools.shell]", 'use = "json:loads"'))
    assert code == 2 and "shell" in told and "Traceback" not in told


async def test_whoever_may_no_longer_has_nothing(tmp_path: Path):
    async with runbook_site(tmp_path, lines=["users = []"]) as here:
        assert await refusals(here.ada) == {alike(await here.ada.get("/api/nothing"))}


async def test_whoever_may_no_longer_lets_nothing_happen_and_may_still_stop_it(tmp_path: Path):
    store, folder = MemoryStore(), tmp_path / "runbooks"
    async with runbook_site(tmp_path, lines=['users = ["ada"]'], store=store) as here:
        put(folder, "a.atrb", document(script("one", "touch done")))
        run = await asked(here.ada, (await begun(here.ada, "a.atrb", trust=False))["runId"])
    question = run["approvals"][0]
    async with runbook_site(tmp_path, lines=['users = ["bob"]'], store=store) as here:
        for decision in ("approve_once", "approve_and_always_allow_recipient"):
            got = await here.ada.resolve(question["id"], decision)
            assert (got.status, got.code) == (403, "policy_denied") and "runbooks" in got.body["error"]["message"]
        edited = {"args": {**question["args"], "code": "touch other"}}
        assert (await here.ada.post(f"/api/agent/approvals/{question['id']}/edit", edited)).status == 403
        # Bob may run documents, and hears of hers what he always has.
        assert (await here.bob.resolve(question["id"])).status == 404
        assert (await here.ada.resolve(question["id"], "reject", query="?wait=0")).status == 200
    assert not (folder / "done").exists() and not (folder / "other").exists()
