"""Settings: where each comes from, who wins, and what junk is answered with."""

import subprocess
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.waiting import HANG_SECONDS

from pollux.config import (
    SETTINGS,
    ConfigError,
    ModelRef,
    Settings,
    explain_missing,
    model_ref,
    provider_of,
    read_settings,
)
from pollux.config.files import parse_env
from pollux.config.reference import settings_page
from pollux.config.rights import parse_rights
from pollux.core.profile import Limits
from pollux.core.redact import Secret

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def read(cwd: Path, environ: dict[str, str] | None = None, **flags: object) -> Settings:
    return read_settings({"HOME": str(cwd.parent / "home")} | (environ or {}), cwd=cwd, flags=flags)


def write_config(cwd: Path, text: str) -> Path:
    path = cwd.parent / "home/.config/pollux/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# The table


def test_every_row_of_the_table_is_a_field_of_the_settings():
    names = [setting.name for setting in SETTINGS]
    assert [field.name for field in fields(Settings)][: len(names)] == names


def test_no_two_settings_share_a_variable_or_a_key_of_the_file():
    for spellings in ([env for row in SETTINGS for env in row.env], [key for row in SETTINGS for key in row.file]):
        assert len(spellings) == len(set(spellings))


def test_the_checked_in_reference_page_is_what_the_table_says():
    page = (REPOSITORY / "docs/reference/settings.md").read_text()
    assert page == settings_page(), "run `make docs-reference` and commit the result"


def test_reading_settings_imports_neither_asyncio_nor_a_third_party_module():
    code = (
        "import sys; before = set(sys.modules); import pathlib, pollux.config as c;"
        "c.read_settings({'HOME': '/nowhere'}, cwd=pathlib.Path('/'));"
        "print(*{m.partition('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names,"
        "'asyncio' in sys.modules)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=2 * HANG_SECONDS
    ).stdout
    assert shown.split() == ["pollux", "False"]


# Defaults and places


def test_with_nothing_set_every_setting_has_its_documented_default(cwd: Path):
    settings = read(cwd)
    home = cwd.parent / "home"
    assert settings.home == home / ".local/share/pollux"
    assert settings.config == home / ".config/pollux/config.toml"
    assert settings.store == home / ".local/share/pollux/pollux.db"
    assert (settings.host, settings.port) == ("127.0.0.1", 8642)
    assert (settings.gemini_emulator_port, settings.workspace_emulator_port) == (8643, 8644)
    assert settings.gemini_base_url == "https://generativelanguage.googleapis.com"
    assert settings.ollama_host == "http://127.0.0.1:11434"
    assert settings.tokens == ()
    assert settings.model is settings.gemini_api_key is settings.seal_key is settings.oidc_issuer is None
    assert settings.workspace == cwd


def test_the_limits_of_an_answer_are_settings_and_default_to_those_of_every_run(cwd: Path):
    assert Limits(**read(cwd).answers) == Limits()
    write_config(cwd, "[models]\ntries = 2\nretry_seconds = 300\nidle_seconds = 20\n")
    assert Limits(**read(cwd).answers) == Limits(tries=2, retry_seconds=300, idle_seconds=20)


def test_the_xdg_places_are_honoured_and_relative_ones_ignored(cwd: Path):
    settings = read(cwd, {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "relative"})
    assert settings.home == Path("/data/pollux")
    assert settings.config == cwd.parent / "home/.config/pollux/config.toml"


def test_the_store_lies_in_the_home_one_names(cwd: Path):
    assert read(cwd, {"POLLUX_HOME": "~/p"}).store == cwd.parent / "home/p/pollux.db"
    assert read(cwd, {"POLLUX_STORE": "s.db"}).store == cwd / "s.db"
    assert read(cwd, {"POLLUX_STORE": "s.db"}, store="t.db").store == cwd / "t.db"


def test_a_store_address_is_a_secret_because_it_holds_a_password(cwd: Path):
    settings = read(cwd, {"POLLUX_STORE": "postgresql://u:canary@h/db"})
    assert settings.store == Secret("postgresql://u:canary@h/db")
    assert "canary" not in repr(settings)


def test_without_a_home_the_error_says_what_to_set(cwd: Path):
    with pytest.raises(ConfigError, match="Set POLLUX_HOME"):
        read_settings({}, cwd=cwd)
    assert read_settings({"POLLUX_HOME": "/p"}, cwd=cwd).config is None


def test_a_tilde_without_a_home_is_refused(cwd: Path):
    with pytest.raises(ConfigError, match="POLLUX_HOME begins with ~, but HOME is not set"):
        read_settings({"POLLUX_HOME": "~/p"}, cwd=cwd)


# Who wins


def test_a_key_is_taken_from_the_flag_then_environment_then_dotenv_then_config(cwd: Path):
    def key(environ: dict[str, str] | None = None, **flags: object) -> str | None:
        found = read(cwd, environ, **flags).gemini_api_key
        return found.reveal() if found else None

    assert key() is None
    (cwd / "config").mkdir()
    write_config(cwd, 'api_key = "own"')
    assert key() == "own"
    (cwd / "config/.gemini.yaml").write_text("apiKey: 'yaml'\n")
    assert key() == "yaml"
    (cwd / ".env").write_text("GEMINI_API_KEY=dotenv\n")
    assert key() == "dotenv"
    assert key({"GOOGLE_API_KEY": "google"}) == "google"
    assert key({"GOOGLE_API_KEY": "google", "GEMINI_API_KEY": "gemini"}) == "gemini"
    assert key({"GEMINI_API_KEY": "gemini"}, api_key="flag") == "flag"


@pytest.mark.parametrize("nothing", ["", "   ", "<your-gemini-api-key>", " <key>"])
def test_a_blank_or_placeholder_key_counts_as_missing_everywhere(cwd: Path, nothing: str):
    (cwd / "config").mkdir()
    (cwd / "config/.gemini.yaml").write_text(f"apiKey: '{nothing}'\n")
    (cwd / ".env").write_text(f"GEMINI_API_KEY={nothing}\n")
    write_config(cwd, f'[gemini]\napi_key = "{nothing}"')
    assert read(cwd, {"GEMINI_API_KEY": nothing}, api_key=nothing).gemini_api_key is None
    assert read(cwd, {"GEMINI_API_KEY": nothing, "GOOGLE_API_KEY": "real"}).gemini_api_key == Secret("real")


@pytest.mark.parametrize(
    ("model", "holder"),
    [
        (None, "gemini_api_key"),
        ("gemini-x", "gemini_api_key"),
        ("claude-x", "anthropic_api_key"),
        ("o3", "openai_api_key"),
    ],
)
def test_the_api_key_flag_belongs_to_the_provider_of_the_model_in_use(cwd: Path, model: str | None, holder: str):
    settings = read(cwd, api_key="k", model=model)
    keys = ["gemini_api_key", "anthropic_api_key", "openai_api_key"]
    assert {name: getattr(settings, name) for name in keys} == dict.fromkeys(keys) | {holder: Secret("k")}


def test_flags_that_are_no_settings_are_passed_over(cwd: Path):
    assert read(cwd, prompt="hello", verbose=True, port=0).port == 0


def test_a_config_file_named_by_hand_outranks_the_workspace_and_one_in_its_default_place_does_not(cwd: Path):
    (cwd / "pollux.toml").write_text('model = "gemini-project"')
    own = write_config(cwd, 'model = "gemini-own"')
    assert read(cwd).model == "gemini-project"
    assert read(cwd, {"POLLUX_CONFIG": str(own)}).model == "gemini-own"
    assert read(cwd, config=str(own)).model == "gemini-own"
    assert read(cwd, config=str(own), model="gemini-flag").model == "gemini-flag"


def test_the_gemini_yaml_gives_key_model_and_system_prompt_and_other_keys_are_not_ours(cwd: Path):
    (cwd / "config").mkdir()
    (cwd / "config/.gemini.yaml").write_text("apiKey: k\nmodel: gemini-y\nsystemPrompt: <role>Be brief\ntheme: dark\n")
    settings = read(cwd)
    assert (settings.gemini_api_key, settings.model) == (Secret("k"), "gemini-y")
    assert settings.system_prompt == "<role>Be brief"


def test_an_empty_gemini_yaml_says_nothing(cwd: Path):
    (cwd / "config").mkdir()
    (cwd / "config/.gemini.yaml").write_text("# nothing yet\n")
    assert read(cwd).gemini_api_key is None


def test_settings_in_the_file_may_stand_in_tables_and_their_paths_start_at_the_file(cwd: Path):
    path = write_config(cwd, 'store = "s.db"\n[serve]\nport = 9000\n[openai]\nbase_url = "http://h:1/v1/"\n')
    settings = read(cwd)
    assert (settings.port, settings.openai_base_url) == (9000, "http://h:1/v1")
    assert settings.store == path.parent / "s.db"


# What a working directory may not decide


def test_a_dotenv_cannot_move_the_store_or_name_a_configuration(cwd: Path):
    (cwd / ".env").write_text("POLLUX_CONFIG=evil.toml\nPOLLUX_STORE=evil.db\nPOLLUX_TOKENS=eve:t\n")
    settings = read(cwd)
    assert settings.tokens == ()
    assert settings.store == settings.home / "pollux.db"
    assert len(settings.ignored) == 3
    assert all("set it in the environment instead" in sentence for sentence in settings.ignored)


def test_a_dotenv_cannot_send_a_key_from_elsewhere_to_its_own_address(cwd: Path):
    (cwd / ".env").write_text("GOOGLE_GEMINI_BASE_URL=https://evil.example\n")
    settings = read(cwd, {"GEMINI_API_KEY": "mine"})
    assert settings.gemini_base_url == "https://generativelanguage.googleapis.com"
    assert "the key is GEMINI_API_KEY, which comes from elsewhere" in settings.ignored[0]


def test_a_dotenv_may_bring_an_address_together_with_its_key(cwd: Path):
    (cwd / ".env").write_text("GOOGLE_GEMINI_BASE_URL=https://proxy.example\nGEMINI_API_KEY=theirs\n")
    assert read(cwd).gemini_base_url == "https://proxy.example"
    assert read(cwd, {"GEMINI_API_KEY": "mine"}).gemini_base_url == "https://generativelanguage.googleapis.com"


@pytest.mark.parametrize("host", ["127.0.0.1:8643", "localhost:8643", "[::1]:8643"])
def test_a_dotenv_may_name_an_address_on_this_machine_with_its_key_alone(cwd: Path, host: str):
    (cwd / ".env").write_text(f"GOOGLE_GEMINI_BASE_URL=http://{host}\n")
    assert read(cwd, {"GEMINI_API_KEY": "mine"}).gemini_base_url == "https://generativelanguage.googleapis.com"
    assert read(cwd).ignored == (
        f"GOOGLE_GEMINI_BASE_URL in {cwd / '.env'} is left out: there is no key. Put both into one place",
    )
    (cwd / ".env").write_text(f"GOOGLE_GEMINI_BASE_URL=http://{host}\nGEMINI_API_KEY=theirs\n")
    assert read(cwd).gemini_base_url == f"http://{host}"


@pytest.mark.parametrize("form", ["openai", "openai-keyless"])
@pytest.mark.parametrize("file", ["pollux.toml", "config/.gemini.yaml"])
def test_a_workspace_cannot_choose_where_prompts_are_sent(cwd: Path, file: str, form: str):
    (cwd / "config").mkdir()
    mark = "=" if file.endswith("toml") else ":"
    (cwd / file).write_text(f'model {mark} "{form}:https://evil.example/v1/m"\n')
    settings = read(cwd)
    assert settings.model is None
    assert "may not say where prompts are sent" in settings.ignored[0]


def test_a_folder_called_dotenv_is_not_read(cwd: Path):
    (cwd / ".env").mkdir()
    assert read(cwd).gemini_api_key is None


# Secrets


def test_no_secret_shows_when_the_settings_are_printed(cwd: Path):
    write_config(cwd, 'seal_key = "canary-1"')
    settings = read(
        cwd,
        {
            "GEMINI_API_KEY": "canary-2",
            "POLLUX_TOKENS": "alice:canary-3-as-a-token",
            "POLLUX_GOOGLE_CLIENT_SECRET": "canary-4",
        },
        api_key="canary-5",
        model="o3",
    )
    assert "canary" not in repr(settings)
    assert {secret.reveal() for secret in settings.secrets()} == {
        *(f"canary-{n}" for n in (1, 2, 4, 5)),
        "canary-3-as-a-token",
    }


def test_tokens_name_users_and_a_user_may_have_several(cwd: Path):
    first, second, third = (f"{word}-0123456789" for word in ("token-one", "token-two", "token:three"))
    tokens = read(cwd, {"POLLUX_TOKENS": f"alice:{first}, bob:{second},alice:{third}"}).tokens
    assert tokens == (("alice", Secret(first)), ("bob", Secret(second)), ("alice", Secret(third)))


def test_what_is_missing_is_explained_with_every_way_to_set_it():
    expected = (
        "GEMINI_API_KEY is not set. Set it, or put `api_key` in the config file, or pass --api-key on the command line"
    )
    assert explain_missing("gemini_api_key") == expected
    assert (
        explain_missing("oidc_issuer")
        == "POLLUX_OIDC_ISSUER is not set. Set it, or put `oidc.issuer` in the config file"
    )
    assert (
        explain_missing("model")
        == "model is not set. Put `model` in the config file or pass --model on the command line"
    )
    with pytest.raises(ConfigError, match="there is no setting 'colour'"):
        explain_missing("colour")


# Rules


def test_a_rule_may_say_whether_somebody_must_be_there_to_ask(cwd: Path):
    rules = [{"decision": "deny", "interactive": False}, {"decision": "deny"}]

    rights = parse_rights({"rules": rules}, tier="user", path=cwd / "pollux.toml")

    assert [rule.interactive for rule in rights.rules] == [False, None]


@pytest.mark.parametrize("key", ["interactive", "grantable"])
def test_a_rule_takes_true_or_false_where_it_asks_for_that(cwd: Path, key: str):
    path = cwd / "pollux.toml"

    with pytest.raises(ConfigError) as refused:
        parse_rights({"rules": [{"decision": "deny", key: 1}]}, tier="user", path=path)

    assert str(refused.value) == f"{key} of rule 1 in {path} must be true or false"


# Junk


@pytest.mark.parametrize(
    ("variable", "junk", "said"),
    [
        ("GEMINI_API_KEY", "k\r\nX-Evil: 1", "printable ASCII characters; character 2 is not"),
        ("GEMINI_API_KEY", "schlüssel", "character 5 is not"),
        ("GOOGLE_GEMINI_BASE_URL", "evil.example", "must be an address such as https://host/path"),
        ("GOOGLE_GEMINI_BASE_URL", "ftp://h", "must be an address such as"),
        ("GOOGLE_GEMINI_BASE_URL", "http://[", "must be an address such as"),
        ("GOOGLE_GEMINI_BASE_URL", "http://h:99999", "must be an address such as"),
        ("GOOGLE_GEMINI_BASE_URL", "http://u:p@h", "must not hold a user name or password"),
        ("GOOGLE_GEMINI_BASE_URL", "http://h?x=1", "must not have a query"),
        ("GOOGLE_GEMINI_BASE_URL", "http://h/a b", "must not hold spaces"),
        ("POLLUX_GMAIL_BASE_URL", "http://h/gmail", "must be scheme and host only"),
        ("POLLUX_STORE", "mysql://h/db", "must be a path or begin with postgresql://"),
        ("POLLUX_HOME", "a\0b", "holds a NUL character"),
        ("POLLUX_TOKENS", "alice", "entry 1 must be user:TOKEN"),
        ("POLLUX_TOKENS", "alice:0123456789abcdef,", "entry 2 must be user:TOKEN"),
        ("POLLUX_TOKENS", "alice:<token>", "entry 1 must be user:TOKEN"),
        ("POLLUX_TOKENS", "alice:0123456789abcdef,bob:0123456789abcdef", "two entries have the same token"),
        ("POLLUX_OIDC_ISSUER", "https://issuer.example", "POLLUX_OIDC_AUDIENCE must be set too"),
        ("POLLUX_OIDC_JWKS", "https://issuer.example/keys", "POLLUX_OIDC_ISSUER and POLLUX_OIDC_AUDIENCE must be set"),
        ("POLLUX_CONFIG", "absent.toml", "does not exist. Create it"),
    ],
)
def test_junk_in_the_environment_is_refused_with_what_was_expected(cwd: Path, variable: str, junk: str, said: str):
    with pytest.raises(ConfigError, match=r".") as refused:
        read(cwd, {variable: junk})
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = ", "is not valid TOML"),
        ("[gemini]\napi_key = 5", "gemini.api_key in {path} must be text in quotes, found a number"),
        ("store = true", "found true or false"),
        ("store = []", "found a list"),
        ("store = 2026-11-15", "found a date or time"),
        ("gemini = {api_key = {}}", "found a table"),
        ("gemini = 5", "holds 'gemini', which is no setting"),
        ('modle = "gemini-x"', "Did you mean 'model'?"),
        ("[gemini]\nbase_ulr = 'x'", "Did you mean 'gemini.base_url'?"),
        ("zzz = 1", "docs/reference/settings.md lists what may stand here"),
        ('model = "llama"', "model in {path}: model 'llama' has no known form. Use one of: gemini-…"),
        ("[serve]\nport = 65536", "must be a port from 0 to 65535"),
        ("[serve]\nport = true", "must be a port"),
        ("[serve]\nport = -1", "must be a port"),
        ("[models]\ntries = 0", "models.tries in {path} must be a whole number above 0"),
        ("[models]\ntries = 2.5", "models.tries in {path} must be a whole number above 0"),
        ("[models]\nidle_seconds = -1", "models.idle_seconds in {path} must be a whole number above 0"),
        ("[models]\nanswer_bytes = '4 MiB'", "models.answer_bytes in {path} must be a whole number above 0"),
        ("[models]\nretries = 3", "Did you mean 'models.tries'?"),
    ],
)
def test_junk_in_the_config_file_is_refused_with_its_place(cwd: Path, text: str, said: str):
    path = write_config(cwd, text)
    with pytest.raises(ConfigError) as refused:
        read(cwd)
    assert said.format(path=path) in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    "text", ["apiKey: [", "- a\n- b", "{" * 5000, "apiKey: {a: b}", "model: 3", "!!python/name:os.system {}"]
)
def test_junk_in_the_gemini_yaml_is_refused_with_its_place(cwd: Path, text: str):
    (cwd / "config").mkdir()
    path = cwd / "config/.gemini.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"\.gemini\.yaml"):
        read(cwd)


def test_a_file_that_is_no_text_or_far_too_large_is_refused(cwd: Path):
    (cwd / ".env").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read(cwd)
    (cwd / ".env").write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(ConfigError, match="is larger than"):
        read(cwd)


def test_dotenv_lines_are_read_as_people_write_them():
    text = b"""\xef\xbb\xbf# a comment
export A = one
B='two # not a comment'
C="three" # a comment
D=four # a comment
E=five#5
F=
G="unclosed
not an assignment
1H=no
"""
    assert parse_env(text, path=Path(".env")) == {
        "A": "one",
        "B": "two # not a comment",
        "C": "three",
        "D": "four",
        "E": "five#5",
        "F": "",
        "G": '"unclosed',
    }


@given(st.binary(max_size=200))
def test_no_dotenv_file_makes_the_reader_crash(content: bytes):
    with suppress(ConfigError):
        parse_env(content, path=Path(".env"))


# Hosts and models


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("box", "http://box:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:5000", "http://127.0.0.1:5000"),
        ("[::1]:5000", "http://[::1]:5000"),
        ("https://ollama.example/", "https://ollama.example"),
        ("http://box:80/path/", "http://box:80/path"),
    ],
)
def test_ollama_host_is_read_as_its_own_client_reads_it(cwd: Path, written: str, asked: str):
    assert read(cwd, {"OLLAMA_HOST": written}).ollama_host == asked


@pytest.mark.parametrize(
    ("model", "reference"),
    [
        ("gemini-3.8-flash", ModelRef("gemini", "gemini-3.8-flash")),
        ("claude-opus-4", ModelRef("anthropic", "claude-opus-4")),
        ("gpt-5", ModelRef("openai", "gpt-5")),
        ("o3-mini", ModelRef("openai", "o3-mini")),
        ("o4", ModelRef("openai", "o4")),
        ("ollama/qwen3:8b", ModelRef("ollama", "qwen3:8b")),
        ("openai:http://box:8000/v1/qwen", ModelRef("openai", "qwen", "http://box:8000/v1")),
        ("openai:https://hub.example/api/v1/owner/m", ModelRef("openai", "owner/m", "https://hub.example/api/v1")),
        ("openai:http://box/m", ModelRef("openai", "m", "http://box")),
        ("openai-keyless:http://box/m", ModelRef("openai", "m", "http://box", is_keyless=True)),
    ],
)
def test_a_model_name_says_who_answers(model: str, reference: ModelRef):
    assert model_ref(model) == reference
    assert provider_of(model) == reference.provider


@pytest.mark.parametrize(
    "model",
    [
        *("", "llama", "gemini", "gemini-", "gpt-", "o", "opus", "ollama/", "openai:", "openai:m", "openai:ftp://h/m"),
        *("openai:http://h/v1/", "openai:http://[/m", "openai:http:///m", "gemini-a b", "gemini-a\n", "x" * 500),
        "\ud800",
    ],
)
def test_an_unknown_model_is_a_usage_error_that_lists_the_forms(model: str):
    with pytest.raises(ConfigError) as refused:
        provider_of(model)
    assert refused.value.code == "usage"
    assert "gemini-…, claude-…, gpt-… or o<digit>…, ollama/<model>, openai:<base url>/<model>" in str(refused.value)
    assert len(str(refused.value).encode()) < 700


def test_a_password_in_a_model_name_is_refused_and_not_repeated():
    with pytest.raises(ConfigError, match="must not hold a password") as refused:
        provider_of("openai:https://me:canary@h/v1/m")
    assert "canary" not in str(refused.value)


def test_an_issuer_is_kept_to_the_letter(cwd: Path):
    given = {"POLLUX_OIDC_ISSUER": "https://id.example/", "POLLUX_OIDC_AUDIENCE": "pollux"}
    assert read(cwd, given).oidc_issuer == "https://id.example/"


def test_hosts_and_counts_of_a_server_are_read(cwd: Path):
    write_config(cwd, '[serve]\nallowed_hosts = "Agents.example,[::1]"\nburst = 7\ntokens_per_day = 1000\n')
    settings = read(cwd)
    assert settings.allowed_hosts == ("agents.example", "[::1]")
    assert (settings.burst, settings.tokens_per_day, settings.requests_per_minute) == (7, 1000, 1200)


def test_how_much_is_done_at_once_is_read(cwd: Path):
    assert (read(cwd).concurrency, read(cwd).gemini_concurrency) == (50, None)
    write_config(cwd, "[worker]\nconcurrency = 7\n[gemini]\nconcurrency = 3\n[openai]\nconcurrency = 4\n")
    settings = read(cwd)
    assert (settings.concurrency, settings.gemini_concurrency, settings.openai_concurrency) == (7, 3, 4)
    assert read(cwd, {"POLLUX_CONCURRENCY": "0"}).concurrency == 0


@pytest.mark.parametrize("number", ["-1", "1001", "many", "1.5"])
def test_a_concurrency_that_is_none_is_refused(cwd: Path, number: str):
    with pytest.raises(ConfigError, match="POLLUX_CONCURRENCY must be a whole number from 0 to 1000"):
        read(cwd, {"POLLUX_CONCURRENCY": number})


@pytest.mark.parametrize("line", ["burst = 0", "burst = 1.5", "burst = true", 'allowed_hosts = "a.example:80"'])
def test_hosts_and_counts_that_are_none_are_refused(cwd: Path, line: str):
    write_config(cwd, f"[serve]\n{line}\n")
    with pytest.raises(ConfigError, match=r"serve\.(burst|allowed_hosts)"):
        read(cwd)
