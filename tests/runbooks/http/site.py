"""A server with a folder of runbooks, for tests: the real application behind the real uvicorn, and people who may."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from tests.http.conform import check_line
from tests.http.site import TOKENS, Got, Person, Site, known, page_door, settings_in
from tests.waiting import HANG_SECONDS, until

from pollux.asgi.credentials import authority_of
from pollux.asgi.listening import listening
from pollux.bootstrap import Fixed, make_engine, make_home
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.core.tools import Tool
from pollux.engine.model import Provider
from pollux.engine.ports import Store
from pollux.runbooks.place import served_runbooks
from pollux.serve import application, runbooks_of
from pollux.stores.memory import MemoryStore
from pollux.testing import scripted

PATIENCE = HANG_SECONDS
RUNS = "/api/runbooks/runs"
ENDED = ("completed", "failed", "cancelled")


def put(folder: Path, path: str, text: str) -> Path:
    """Write a file of the folder."""
    whole = folder / path
    whole.parent.mkdir(parents=True, exist_ok=True)
    whole.write_text(text)
    return whole


def config(path: Path, *lines: str) -> dict[str, str]:
    """A configuration file with this in [runbooks], as an environment names it. The folder is made."""
    (path / "runbooks").mkdir(exist_ok=True)
    file = path / "config.toml"
    file.write_text("\n".join(["[runbooks]", 'folder = "runbooks"', *lines]) + "\n")
    return {"POLLUX_CONFIG": str(file)}


@asynccontextmanager
async def runbook_site(
    path: Path,
    provider: Provider | None = None,
    *,
    lines: Iterable[str] = ('users = ["ada", "bob"]', "editable = true"),
    tools: Iterable[Tool] = (),
    profiles: Mapping[str, Profile] | None = None,
    store: Store | None = None,
    rules: Sequence[Rule] = (),
    **changes: Any,
) -> AsyncGenerator[Site]:
    """A server with this folder, this model and these tools beside it, closed at the end."""
    settings = settings_in(path, config(path, *lines), **changes)
    make_home(settings.home)
    runbooks = served_runbooks(settings)
    assert runbooks is not None
    offered = list(tools)
    profiles = profiles or {
        "default": Profile(tools=tuple(tool.spec.name for tool in offered), limits=Limits(model_calls=3))
    }
    others = Fixed(provider or scripted())
    store = store or MemoryStore()
    engine = make_engine(
        store,
        runbooks.providers(others),
        tools=[*offered, *runbooks.tools],
        profiles={**profiles, **runbooks.profiles},
        rules=rules,
    )
    async with engine, aiohttp.ClientSession() as http:
        runbooks.host.serve(engine)
        authority = authority_of(settings, known(TOKENS), store, clock=engine.clock)
        page = page_door(settings, engine, authority, tools=offered) if "page" in profiles else None
        door = runbooks_of(settings, engine, runbooks)
        app = application(settings, engine, authority, page=page, runbooks=door)
        async with listening(app, settings) as server:
            yield Site(server.url, engine, http, server, store)
            await engine.close()
            await http.close()


async def begun(person: Person, path: str, *, trust: bool = True, **more: Any) -> dict[str, Any]:
    """A run of this document."""
    found = await person.get(f"/api/runbooks/documents?path={path}")
    assert found.status == 200, found
    body = {"path": path, "digest": found.body["digest"], "trust": trust, **more}
    got = await person.post(RUNS, body)
    assert got.status == 201, got
    return got.body


async def seen(person: Person, run_id: str, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The run as soon as it is so."""

    async def run_that_is_so() -> dict[str, Any] | None:
        run = await shown(person, run_id)
        return run if is_so(run) else None

    found = await until(run_that_is_so)
    assert found is not None
    return found


async def ended(person: Person, run_id: str) -> dict[str, Any]:
    return await seen(person, run_id, lambda run: run["state"] in ENDED)


async def asked(person: Person, run_id: str) -> dict[str, Any]:
    """The run as soon as it waits for a person."""
    return await seen(person, run_id, lambda run: bool(run["approvals"]) or run["state"] in ENDED)


async def shown(person: Person, run_id: str) -> dict[str, Any]:
    got = await person.get(f"{RUNS}/{run_id}")
    assert got.status == 200, got
    return got.body


async def answered(person: Person, run: Mapping[str, Any], *, approved: bool = True, **more: Any) -> Got:
    """The first question of a run, answered."""
    body = {"approvalId": run["approvals"][0]["id"], "approved": approved, **more}
    return await person.post(f"{RUNS}/{run['runId']}/tool-approval", body)


async def events(person: Person, run_id: str) -> list[dict[str, Any]]:
    """Every line of a run's stream, each held to its type."""
    async with asyncio.timeout(PATIENCE), person.open("GET", f"{RUNS}/{run_id}/events") as response:
        assert response.status == 200, await response.read()
        return [checked(line) async for line in response.content]


def checked(line: bytes) -> dict[str, Any]:
    """A line of a stream. Raises where it is not of the shape that it should be."""
    told: dict[str, Any] = json.loads(line)
    check_line(f"{RUNS}/run_x/events", told)
    return told


def states(run: Mapping[str, Any]) -> dict[str, str]:
    """Each block's state, by its name."""
    return {block["name"]: block["state"] for block in run["blocks"]}
