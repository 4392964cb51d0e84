"""What the console asks besides: runs by page, which agents there are, and what a day may cost."""

from pathlib import Path

from tests.runbooks.http.site import RUNS, begun, ended, put, runbook_site
from tests.runbooks.lab import agent, document, script

from pollux.core.errors import ModelError
from pollux.engine.model import ModelInfo
from pollux.providers.scripted import ScriptedProvider
from pollux.testing import reply
from pollux.testing import scripted as model


async def test_runs_come_newest_first_page_by_page_and_prompts_are_not_among_them(tmp_path: Path):
    async with runbook_site(tmp_path, model(*[reply("Hello.")] * 5)) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "true"), name="A name"))
        begun_ones: list[str] = []
        for _ in range(5):
            begun_ones.append((await begun(here.ada, "a.atrb"))["runId"])
            await ended(here.ada, begun_ones[-1])
            await here.ada.run("say hello")
        whole = (await here.ada.get(RUNS)).body
        seen: list[str] = []
        before = ""
        while True:
            page = (await here.ada.get(f"{RUNS}?limit=2{before}")).body
            seen += [item["runId"] for item in page["items"]]
            if page["next"] is None:
                break
            before = f"&before={page['next']}"
    assert seen == [item["runId"] for item in whole["items"]] == begun_ones[::-1]
    assert {(item["name"], item["path"], item["state"]) for item in whole["items"]} == {
        ("A name", "a.atrb", "completed")
    }


async def test_of_two_documents_with_one_name_each_run_tells_which_it_is_of(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        for path in ("a.atrb", "deep/a.atrb"):
            put(tmp_path / "runbooks", path, document(script("one", "test -f go"), name="Same"))
        first = await ended(here.ada, (await begun(here.ada, "deep/a.atrb"))["runId"])
        await ended(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        (tmp_path / "runbooks/deep/go").touch()
        again = (await here.ada.post(f"{RUNS}/{first['runId']}/resume", {"retry": first["blocks"][0]["id"]})).body
        await ended(here.ada, again["runId"])
        listed = (await here.ada.get(RUNS)).body["items"]
        erased = await here.ada.send("DELETE", f"/api/agent/threads/{first['threadId']}")
        assert erased.status == 200, erased
        left = (await here.ada.get(RUNS)).body["items"]
    assert [item["path"] for item in listed] == ["deep/a.atrb", "a.atrb", "deep/a.atrb"]
    assert {item["path"] for item in left} <= {"a.atrb", ""}


async def test_the_agents_of_the_configuration_are_told_with_whether_they_are_installed(tmp_path: Path):
    lines = [
        'users = ["ada"]',
        "default_timeout = 60",
        'default_capabilities = ["readFiles", "writeFiles"]',
        "[runbooks.agents.ours]",
        'command = "sh"',
        'args = ["-c", "true"]',
        'description = "Of the house"',
        "[runbooks.agents.theirs]",
        'command = "surely-not-installed"',
    ]
    # What lies in the folder itself adds nothing.
    (tmp_path / "runbooks").mkdir()
    put(tmp_path / "runbooks", "pollux.toml", '[runbooks.agents.smuggled]\ncommand = "sh"\n')
    async with runbook_site(tmp_path, lines=lines, model="gemini-3.8-flash") as here:
        got = (await here.ada.get("/api/runbooks/settings")).body
    agents = {each["name"]: each for each in got["agents"]}
    assert set(agents) == {"claude", "codex", "gemini", "ours", "theirs"}
    assert agents["ours"] == {
        "name": "ours", "command": "sh", "args": ["-c", "true"], "description": "Of the house", "isInstalled": True,
    }  # fmt: skip
    assert agents["theirs"]["isInstalled"] is False and agents["gemini"]["args"] == ["--acp"]
    assert (got["defaultTimeout"], got["model"], got["editable"]) == (60, "gemini-3.8-flash", False)
    assert got["defaultCapabilities"]["writeFiles"] is True and got["defaultCapabilities"]["executeCommands"] is False


async def test_the_models_to_choose_from_are_those_of_the_settings_service(tmp_path: Path):
    class Offering(ScriptedProvider):
        asked = 0

        async def models(self) -> tuple[ModelInfo, ...]:
            self.asked += 1
            if self.asked == 1:
                raise ModelError("not now", kind="server")
            return ModelInfo("gemini-b"), ModelInfo("gemini-a"), ModelInfo("embedding-1")

    provider = Offering()
    async with runbook_site(tmp_path, provider, model="gemini-3.8-flash") as here:
        lists = [(await here.ada.get("/api/runbooks/models")).body["items"] for _ in range(3)]
    assert lists == [[], ["gemini-a", "gemini-b"], ["gemini-a", "gemini-b"]] and provider.asked == 2


async def test_a_day_that_is_spent_begins_no_runbook(tmp_path: Path):
    async with runbook_site(tmp_path, model(reply("Four words of text.")), tokens_per_day=1) as here:
        put(tmp_path / "runbooks", "a.atrb", document(agent("us", "Say something.")))
        first = await ended(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        spent = first["blocks"][0]["agent"]
        assert first["state"] == "completed" and spent["outputTokens"]
        refused = await here.ada.post(RUNS, {"path": "a.atrb"})
    assert (refused.status, refused.code) == (429, "budget")


async def test_a_server_that_stops_begins_no_runbook(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "touch done")))
        await here.engine.close()
        refused = await here.ada.post(RUNS, {"path": "a.atrb"})
    assert (refused.status, refused.code) == (503, "draining")
    assert not (tmp_path / "runbooks/done").exists()
