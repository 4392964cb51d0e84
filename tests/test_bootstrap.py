"""The composition root: which adapters are picked, and keys that are made once."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.waiting import HANG_SECONDS

from pollux.bootstrap import Registry, open_store, read_key, running_engine
from pollux.config import ConfigError, Settings, read_settings
from pollux.core.errors import MissingCredential, ValidationError
from pollux.core.ids import UserId
from pollux.core.profile import Profile
from pollux.core.redact import Secret
from pollux.core.run import Run
from pollux.emulator import run_emulator
from pollux.engine.engine import Start
from pollux.engine.ports import AuditFact, Change
from pollux.providers.bounded import Bounded
from pollux.stores.sqlite import SqliteStore
from pollux.testing.provider_lab import ADD
from pollux.tools.define import FunctionTool


def settings(home: Path, **environ: str) -> Settings:
    return read_settings({"POLLUX_HOME": str(home), **environ}, cwd=home)


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("gemini-3.8-flash", "gemini"),
        ("claude-opus-5-5", "anthropic"),
        ("gpt-5", "openai"),
        ("o3", "openai"),
        ("ollama/llama3", "openai"),
        ("openai:http://127.0.0.1:1/v1/some-model", "openai"),
    ],
)
async def test_a_model_s_name_tells_its_provider(tmp_path: Path, model: str, provider: str):
    registry = Registry(settings(tmp_path, GEMINI_API_KEY="g", ANTHROPIC_API_KEY="a", OPENAI_API_KEY="o"))
    assert registry(model).name == provider
    await registry.close()


@pytest.mark.parametrize("model", ["gemini-3.8-flash", "claude-opus-5-5", "gpt-5"])
def test_without_its_key_a_provider_is_not_made(tmp_path: Path, model: str):
    with pytest.raises(MissingCredential, match="is not set"):
        Registry(settings(tmp_path))(model)


@pytest.mark.parametrize("model", ["nonsense", "claude-"])
def test_a_model_that_nobody_here_offers_is_a_usage_error(tmp_path: Path, model: str):
    with pytest.raises(ValidationError):
        Registry(settings(tmp_path))(model)


async def test_the_same_provider_serves_every_model_of_its_kind(tmp_path: Path):
    registry = Registry(settings(tmp_path, GEMINI_API_KEY="g"))
    assert registry("gemini-3.8-flash") is registry("gemini-2.5-flash")
    await registry.close()


async def test_a_provider_waits_for_no_more_answers_at_once_than_were_allowed(tmp_path: Path):
    some = replace(settings(tmp_path, GEMINI_API_KEY="g", OPENAI_API_KEY="o"), gemini_concurrency=2)
    registry = Registry(some)
    assert isinstance(registry("gemini-3.8-flash"), Bounded)
    assert not isinstance(registry("gpt-5"), Bounded)
    await registry.close()


def test_first_starts_at_the_same_time_agree_on_one_key(tmp_path: Path):
    with ThreadPoolExecutor(8) as starts:
        keys = set(starts.map(read_key, [tmp_path / "audit.key"] * 32))
    assert len(keys) == 1
    assert (tmp_path / "audit.key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["audit.key"]


def test_a_key_of_the_wrong_length_is_refused(tmp_path: Path):
    (tmp_path / "audit.key").write_bytes(b"short")
    (tmp_path / "audit.key").chmod(0o600)
    with pytest.raises(ConfigError, match="Restore it from a backup"):
        read_key(tmp_path / "audit.key")


def test_a_key_without_end_is_not_read_to_its_end(tmp_path: Path):
    (tmp_path / "audit.key").touch(0o600)
    os.truncate(tmp_path / "audit.key", 1 << 40)
    with pytest.raises(ConfigError, match="it is larger than 4,096 bytes"):
        read_key(tmp_path / "audit.key")


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match="Check POLLUX_HOME"):
        read_key(tmp_path / "nowhere" / "audit.key")


def test_the_store_is_a_file_in_the_home_of_its_owner_alone(tmp_path: Path):
    store = open_store(settings(tmp_path / "home"))
    assert isinstance(store, SqliteStore)
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700


def test_an_address_of_postgresql_is_a_store_too_and_one_that_is_none_is_refused_without_its_password(tmp_path: Path):
    assert type(open_store(replace(settings(tmp_path), store=Secret("postgresql://db")))).__name__ == "PostgresStore"
    with pytest.raises(ConfigError, match="expected an address like") as caught:
        open_store(replace(settings(tmp_path), store=Secret("postgresql://me:hunter2@db/x?nonsense=1")))
    assert "hunter2" not in str(caught.value)


async def test_an_engine_made_from_settings_answers(tmp_path: Path):
    async with run_emulator(port=0) as emulator:
        made = settings(tmp_path, GEMINI_API_KEY="k", GOOGLE_GEMINI_BASE_URL=emulator.url)
        async with running_engine(made) as engine:
            run = await engine.start(Start("say hello", user=UserId("ada")))
            run = await engine.wait_settled(run.id, seconds=HANG_SECONDS)
    assert (run.status, run.text) == ("completed", "hello")


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-haiku-4-5"])
async def test_a_claude_made_from_settings_calls_tools_and_keeps_its_thoughts(tmp_path: Path, model: str):
    async def instruct(run: Run, profile: Profile) -> str:
        # Other words for every call, as instructions with the time in them have.
        return f"This is call {run.model_calls}."

    add = FunctionTool(ADD, lambda context, args: args["a"] + args["b"])
    async with run_emulator(port=0) as emulator:
        made = settings(tmp_path, ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=emulator.url)
        profiles = {"thinker": Profile("thinker", tools=("add",), thinking="shown")}
        async with running_engine(made, tools=[add], profiles=profiles, instruct=instruct) as engine:
            asked = "add 2 and 3 then add 4 and 5"
            run = await engine.start(Start(asked, user=UserId("ada"), model=model, profile="thinker"))
            run = await engine.wait_settled(run.id, seconds=HANG_SECONDS)
    assert (run.status, run.text) == ("completed", "add returned 5\nadd returned 9")
    last = emulator.requests[-1].body["messages"]
    assert [[block["type"] for block in turn["content"]] for turn in last] == [
        ["text"],
        ["thinking", "tool_use"],
        ["tool_result"],
        ["thinking", "tool_use"],
        ["tool_result"],
    ]


async def test_a_model_named_with_its_address_is_asked_for_by_its_own_name(tmp_path: Path):
    async with run_emulator(port=0) as emulator:
        made = settings(tmp_path, OPENAI_API_KEY="k")
        async with running_engine(made) as engine:
            model = f"openai:{emulator.url}/v1/gemini-3.8-flash"
            run = await engine.start(Start("say hello", user=UserId("ada"), model=model))
            run = await engine.wait_settled(run.id, seconds=HANG_SECONDS)
        assert run.text == "hello"
        assert [request.body["model"] for request in emulator.requests if request.body] == ["gemini-3.8-flash"]


async def test_stores_of_one_home_keep_their_audit_heads_apart(tmp_path: Path):
    for name in ("a.db", "b.db", "pollux.db"):
        store = open_store(settings(tmp_path, POLLUX_STORE=str(tmp_path / name)))
        await store.open()
        await store.commit(Change(audit=(AuditFact(at=1.0, kind="connected", user=name),)))
        await store.close()
    for name in ("a.db", "b.db", "pollux.db"):
        store = open_store(settings(tmp_path, POLLUX_STORE=str(tmp_path / "." / name)))
        await store.open()
        assert (await store.verify_audit()).problems == ()
        await store.close()
    assert len(list(tmp_path.glob("audit-heads*.jsonl"))) == 3
    assert (tmp_path / "audit-heads.jsonl").exists()
