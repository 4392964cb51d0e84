"""A provider is more than its code: it has a page, an entry in modules.yaml, and the suite that all of them pass."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from tests.cli.conformance.suite import PROVIDERS
from tests.cli.programs import Place

from pollux.cli.doctor.checks import Check, modules
from pollux.cli.models import SOME
from pollux.config import SETTINGS, ProviderName, provider_of
from pollux.config.models import FORMS
from pollux.emulator import Emulator
from pollux.testing.provider_suite import ProviderSuite

REPOSITORY = Path(__file__).parent.parent.parent
NAMES: tuple[ProviderName, ...] = get_args(ProviderName)
LISTED: dict[str, dict[str, Any]] = {
    entry["name"]: entry for entry in yaml.safe_load((REPOSITORY / "modules.yaml").read_text())["providers"]
}


def test_every_provider_is_listed_once_and_no_other():
    assert list(LISTED) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_says_all_there_is_to_say(name: ProviderName):
    assert LISTED[name].keys() == {"name", "models", "env", "source", "docs", "conformance"}
    assert (REPOSITORY / LISTED[name]["source"]).is_file()


def test_the_forms_of_a_models_name_are_the_ones_that_the_error_lists():
    listed = [form for entry in LISTED.values() for form in entry["models"]]
    assert sorted(listed) == sorted(re.split(r", | or ", FORMS))


@pytest.mark.parametrize("name", NAMES)
def test_the_forms_of_a_models_name_lead_to_the_provider(name: ProviderName):
    for form in LISTED[name]["models"]:
        example = form.replace("…", "x").replace("<digit>", "3").replace("<base url>", "http://localhost/v1")
        assert provider_of(example.replace("<model>", "m")) == name
    assert provider_of(SOME[name]) == name


@pytest.mark.parametrize("name", NAMES)
def test_the_environment_of_a_provider_is_what_the_settings_read(name: ProviderName):
    prefixes = (f"{name}_api_key", f"{name}_base_url", f"{name}_host")
    known = [variable for setting in SETTINGS if setting.name in prefixes for variable in setting.env]
    assert sorted(LISTED[name]["env"]) == sorted(known)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_provider_names_its_models_and_its_environment(name: ProviderName):
    page = (REPOSITORY / LISTED[name]["docs"]).read_text()
    missing = [word for word in (*LISTED[name]["models"], *LISTED[name]["env"]) if f"`{word}`" not in page]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_a_provider_passes_the_suite_that_all_of_them_pass(name: ProviderName):
    file, _, suite = LISTED[name]["conformance"].partition("::")
    bound = getattr(import_module(file.removesuffix(".py").replace("/", ".")), suite)
    assert issubclass(bound, ProviderSuite) and "lab" in vars(bound)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ollama"])
def test_a_provider_is_held_to_the_command_lines_contract_too(name: ProviderName):
    """Ollama speaks OpenAI's format, through the same code."""
    assert name in [provider_of(provider.model) for provider in PROVIDERS]


def test_doctor_finds_what_modules_yaml_and_the_providers_do_not_agree_on(tmp_path: Path):
    assert modules(REPOSITORY) == Check("modules", "ok", "modules.yaml and the 4 providers agree")
    assert modules(tmp_path) is None
    (tmp_path / "src/pollux").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/gemini.md").write_text("`gemini-…`")
    entry = {"name": "gemini", "models": ["gemini-…"], "env": ["GEMINI_API_KEY"], "docs": "docs/gemini.md"}
    entries = [entry | {"source": "gone.py", "conformance": "gone.py::Test"}]
    (tmp_path / "modules.yaml").write_text(yaml.safe_dump({"providers": entries}))
    found = modules(tmp_path)
    assert found is not None and found.status == "error"
    assert {"ollama is not in modules.yaml", "gemini: source is not there: gone.py"} < set(found.details)
    assert "gemini: docs/gemini.md does not name GEMINI_API_KEY" in found.details
    (tmp_path / "modules.yaml").write_text("providers: 7")
    broken = modules(tmp_path)
    assert broken is not None and "cannot be used" in broken.message


def test_ollama_answers_and_is_well_against_the_emulator_without_a_key(tmp_path: Path, emulator: Emulator):
    place = Place(tmp_path, OLLAMA_HOST=emulator.url)
    assert place.run("say hi", "--model", "ollama/llama3.2").text == "hi"
    refused = Place(tmp_path / "other", OPENAI_API_KEY="", OPENAI_BASE_URL=f"{emulator.url}/v1")
    assert refused.run("say hi", "--model", "gpt-5").code == 1
