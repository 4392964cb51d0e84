"""Secrets that are known here stand in no journal, no audit and no stream, whoever says them."""

import json
from pathlib import Path

import pytest
from tests.runbooks.lab import RunbookLab, block, document, ended, outputs, script, told
from tests.runbooks.test_foreign_agents import answer, worker

from pollux.config import read_settings
from pollux.core.redact import MASK, Secret
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.runbooks.place import secrets_of

KEY = "AIza-canary/0123456789+x"
SECRETS = (Secret(KEY), Secret("demo"))


async def kept(engine: Engine, run: Run) -> str:
    """Everything that is written down of a run."""
    journal = [repr(record) for record in await engine.queries.journal(run.id)]
    return "\n".join([*journal, *(repr(line) for line in await engine.queries.audit(limit=100))])


async def test_a_script_that_shows_a_secret_has_shown_a_mask(lab: RunbookLab):
    (lab.work / "key").write_text(KEY)
    engine, runbooks = await lab.engine(secrets=SECRETS)
    pieces = "cut -c1-9 key | tr -d '\\n'; sleep 0.1; cut -c10- key"
    source = document(
        script("show", "cat key; echo; cat key >&2; base64 -w0 key; echo demo", outputVariable="said"),
        script("slowly", pieces),
        block("terminal", "terminal", code="cat key", type="bash"),
        script("after", "printf %s {{ var.said | shellquote }} > got"),
        script("fail", "cat key; exit 3"),
    )
    run = await lab.start(runbooks, source)
    events = await told(engine, runbooks, run)
    assert outputs(events, "show")["stderr"] == MASK and outputs(events, "slowly")["stdout"] == f"{MASK}\n"
    # A key that is a plain word may be there for other reasons.
    assert outputs(events, "show")["stdout"].endswith("demo\n")
    assert MASK in (lab.work / "got").read_text()
    everything = json.dumps(events) + await kept(engine, run)
    assert KEY not in everything and KEY[:9] not in everything and KEY[9:] not in everything


async def test_an_agent_that_says_a_secret_has_said_a_mask(lab: RunbookLab):
    pytest.importorskip("acp")
    (lab.work / "key").write_text(KEY)
    engine, runbooks = await lab.engine(secrets=SECRETS)
    run = await lab.start(runbooks, document(worker("work", "read key", "run cat key")))
    run = await answer(engine, run, "approved")
    events = await told(engine, runbooks, run)
    assert outputs(events, "work")["text"] == MASK + MASK
    assert KEY not in json.dumps(events) + await kept(engine, run)


async def test_what_an_agent_asks_for_is_kept_without_a_secret_or_refused(lab: RunbookLab):
    pytest.importorskip("acp")
    engine, runbooks = await lab.engine(secrets=SECRETS)
    orders = (
        f"say the key is {KEY}",
        f"peek {KEY}",
        f"append log.txt {KEY}",
        f"write out.txt {KEY}",
        f"run echo {KEY}",
    )
    run = await lab.start(runbooks, document(worker("work", *orders)))
    run = await answer(engine, run, "approved")
    events = await told(engine, runbooks, run)
    said = outputs(events, "work")["text"]
    assert f"the key is {MASK}" in said and said.count("it would be kept in the journal") == 2
    assert not (lab.work / "out.txt").exists() and (await ended(engine, run)).status == "completed"
    # Only the document itself holds it, as it was written.
    assert KEY not in json.dumps(events)


def test_this_machines_own_token_and_the_settings_keys_are_secrets(tmp_path: Path):
    environ = {"POLLUX_HOME": str(tmp_path), "GEMINI_API_KEY": KEY}
    settings = read_settings(environ, cwd=tmp_path)
    assert secrets_of(settings) == (Secret(KEY),)
    (tmp_path / "token").write_text("a-token-of-this-machine\n")
    assert secrets_of(settings) == (Secret(KEY), Secret("a-token-of-this-machine"))
