"""A folder that one enters names an address: nothing of the person's, and no key, is ever sent there."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.attack.listening import Listener, listening
from tests.cli.machine import Machine
from tests.runbooks.lab import RunbookLab, agent, document, ended, waiting

from pollux.config import read_settings
from pollux.providers.scripted import reply

MINE = "the-persons-own-key"
BASES = {
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
}


@pytest.fixture
def listener() -> Generator[Listener]:
    with listening() as server:
        yield server


@pytest.mark.parametrize("provider", BASES)
@pytest.mark.parametrize("host", ["127.0.0.1:9", "localhost:9", "[::1]:9", "evil.example"])
def test_an_address_in_a_dotenv_never_meets_a_key_from_elsewhere(tmp_path: Path, provider: str, host: str):
    url, key = BASES[provider]
    work, own = tmp_path / "work", tmp_path / "home/.config/pollux"
    for folder in (work, own):
        folder.mkdir(parents=True)
    (work / ".env").write_text(f"{url}=http://{host}\n")
    environ = {"HOME": str(tmp_path / "home")}
    model = {"gemini": "gemini-x", "anthropic": "claude-x", "openai": "gpt-x"}[provider]

    by_environment = read_settings(environ | {key: MINE}, cwd=work)
    by_flag = read_settings(environ, cwd=work, flags={"api_key": MINE, "model": model})
    (own / "config.toml").write_text(f'[{provider}]\napi_key = "{MINE}"\n')
    by_file = read_settings(environ, cwd=work)

    for settings in (by_environment, by_flag, by_file):
        assert getattr(settings, f"{provider}_api_key").reveal() == MINE
        assert host not in getattr(settings, f"{provider}_base_url")
        assert any(sentence.startswith(f"{url} in ") for sentence in settings.ignored)


def test_a_key_that_hides_the_one_of_the_dotenv_takes_its_address_away(tmp_path: Path):
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:9\nOPENAI_API_KEY=theirs\n")
    environ = {"HOME": str(tmp_path / "home")}
    assert read_settings(environ, cwd=tmp_path).openai_base_url == "http://127.0.0.1:9"
    assert read_settings(environ | {"OPENAI_API_KEY": MINE}, cwd=tmp_path).openai_base_url.endswith("openai.com/v1")


@pytest.mark.parametrize(
    "line",
    [
        "HTTPS_PROXY=http://127.0.0.1:9",
        "https_proxy=http://127.0.0.1:9",
        "ALL_PROXY=socks5://127.0.0.1:9",
        "SSL_CERT_FILE=ca.pem",
        "SSLKEYLOGFILE=keys.log",
        "OLLAMA_HOST=127.0.0.1:9",
        "POLLUX_GMAIL_BASE_URL=http://127.0.0.1:9",
        "POLLUX_GOOGLE_OAUTH_BASE_URL=http://127.0.0.1:9",
        "POLLUX_OIDC_JWKS=http://127.0.0.1:9/keys",
    ],
)
def test_what_connections_go_through_is_not_the_folders_to_say_and_is_named(tmp_path: Path, line: str):
    (tmp_path / ".env").write_text(line + "\n")
    settings = read_settings({"HOME": str(tmp_path / "home")}, cwd=tmp_path)
    plain = read_settings({"HOME": str(tmp_path / "home")}, cwd=tmp_path / "nowhere")
    assert settings.ignored[0].startswith(f"{line.partition('=')[0]} in {tmp_path / '.env'} is left out")
    for name in ("ollama_host", "gmail_base_url", "google_oauth_base_url", "oidc_jwks"):
        assert getattr(settings, name) == getattr(plain, name)


@pytest.mark.slow
def test_the_program_sends_the_persons_key_to_no_address_of_the_folder(tmp_path: Path, listener: Listener):
    # What it should use instead is an address where nobody listens, so that nothing leaves this machine.
    own = {"GEMINI_API_KEY": MINE, "ANTHROPIC_API_KEY": MINE, "OPENAI_API_KEY": MINE}
    machine = Machine(tmp_path, HTTPS_PROXY="http://127.0.0.1:9", **own)
    bases = "".join(f"{url}={listener.url}\n" for url, _ in BASES.values())
    (machine.cwd / ".env").write_text(f"{bases}HTTP_PROXY={listener.url}\nhttps_proxy={listener.url}\n")
    (machine.cwd / "pollux.toml").write_text(f'model = "openai:{listener.url}/v1/m"\n')

    for model in ("gemini-3.8-flash", "claude-x", "gpt-x"):
        asked = machine.run("doctor", "--model", model)
        assert "is left out: the key is" in asked.stdout
        assert asked.returncode == 1
    assert machine.run("run", "--model", "gpt-x", "--timeout", "5", "Hello").returncode == 1
    assert listener.heard == []


@pytest.mark.slow
def test_a_runbook_that_names_an_address_is_answered_there_without_the_persons_key(tmp_path: Path, listener: Listener):
    own = {"GEMINI_API_KEY": MINE, "ANTHROPIC_API_KEY": MINE, "OPENAI_API_KEY": MINE}
    machine = Machine(tmp_path, HTTPS_PROXY="http://127.0.0.1:9", **own)
    address, base = f"openai:{listener.url}/v1/gpt-5", f"{listener.url}/v1"
    models: list[object] = [
        address,
        {"type": "claude", "data": {"model": address}},
        {"type": "openAI", "data": {"model": "gpt-5", "uri": base}},
        {"type": "ollama", "data": {"model": "llama", "uri": listener.url}},
    ]
    for number, model in enumerate(models):
        block = agent("talk", "Say hello", source={"type": "internal", "model": model})
        (machine.cwd / f"{number}.json").write_text(document(block, name=str(number)))
        words = ("--trust",) if number else ("--allow", "runbook_agent")
        assert machine.run("runbook", "run", f"{number}.json", *words).returncode == 1
    assert len(listener.heard) >= len(models) and not [each for each in listener.heard if MINE in each]

    # The address that the person gave is asked with the person's key, whoever wrote the document.
    (machine.cwd / "own.json").write_text(document(agent("talk", "Say hello", source={"type": "internal"})))
    machine.run("runbook", "run", "own.json", "--trust", "--model", address)
    assert MINE in listener.heard[-1]


async def test_arguments_that_name_an_address_reach_it_without_the_persons_key(tmp_path: Path):
    lab = RunbookLab(tmp_path)
    engine, runbooks = await lab.engine(reply("fine"))
    run = await lab.start(runbooks, document(agent("talk", "Say hello")), trusted=False)
    asked = (await waiting(engine, run.id)).open[0]
    assert asked.approval
    new = await engine.edit(asked.approval.id, {**asked.args, "model": "openai:http://127.0.0.1:9/v1/m"}, by="ada")
    assert new.approval
    await engine.resolve(new.approval.id, "approved", by="ada")
    await ended(engine, run)
    child = await engine.queries.run(engine.queries.child_of(new.id))
    assert child.model == "openai-keyless:http://127.0.0.1:9/v1/m"
    await lab.close()


def test_the_listener_of_these_tests_hears(listener: Listener):
    from urllib.request import urlopen

    with pytest.raises(OSError, match="403"):
        urlopen(listener.url)
    assert len(listener.heard) == 1
