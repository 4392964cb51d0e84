"""The options of `pollux run`: what each of them does, and what is said when it cannot."""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conformance.suite import told
from tests.cli.programs import Ended, Place, Warm, keys

from pollux.emulator import Emulator

JSON = ("--output-format", "json")
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
KEY, BAD_KEY = "some-key-0001", "invalid-key-0001"


Run = Callable[..., Ended]


@pytest.fixture
def run(warm: Warm, here: Place) -> Run:
    return partial(warm.run, here)


def usage(ended: Ended) -> str:
    """What was said about a command that cannot be."""
    assert (ended.code, ended.stdout) == (2, b""), ended
    assert "Traceback" not in ended.talk
    return ended.talk


def asked(emulator: Emulator) -> Any:
    """The last question that reached the model."""
    return emulator.requests[-1].body


# The prompt.


@pytest.mark.parametrize(
    "words", [("say hi",), ("-p", "say hi"), ("--prompt", "say hi"), ("--prompt=say hi",)], ids=str
)
def test_a_prompt_is_an_argument_or_an_option(run: Run, words: list[str]):
    assert run(*words).text == "hi"


@pytest.mark.parametrize("words", [("-",), ("-p", "-")], ids=str)
def test_a_dash_reads_the_prompt_from_standard_input(run: Run, words: tuple[str, ...]):
    assert run(*words, stdin="repeat größer 🎉\n".encode()).text == "größer 🎉"


def test_a_prompt_from_standard_input_need_not_be_utf8(run: Run):
    assert run("-", stdin=b"repeat caf\xe9").text == "caf\ufffd"


def test_standard_input_is_not_read_without_a_dash(run: Run, emulator: Emulator):
    assert run("say hi", stdin=b"say no").text == "hi"
    assert "say no" not in json.dumps(asked(emulator))


def test_two_prompts_are_one_too_many(run: Run):
    assert "give the prompt once" in usage(run("one", "-p", "two"))
    assert "unrecognized arguments" in usage(run("one", "two"))


def test_a_prompt_is_needed(run: Run):
    assert "a prompt is needed" in usage(run())


def test_an_empty_prompt_is_refused(run: Run):
    for ended in (run("", *JSON), run("-", *JSON, stdin=b" \n")):
        assert (ended.code, ended.last("json")["code"]) == (1, "invalid")


# Keys.


def keyed(warm: Warm, path: Path, url: str, **places: str) -> str:
    """What became of a run with these keys: the code, or nothing where it was answered."""
    place = Place(path, **{**keys(url), "GEMINI_API_KEY": places.get("environment", "")})
    if "dotenv" in places:
        (place.cwd / ".env").write_text(f"GEMINI_API_KEY='{places['dotenv']}'\n")
    if "config" in places:
        folder = place.home / ".config" / "pollux"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(f"api_key = '{places['config']}'\n")
    flags = ("--api-key", places["flag"]) if "flag" in places else ()
    return told(warm.run(place, "say hi", *flags, *JSON), "json").code if _is_some(places) else _refused(warm, place)


def _is_some(places: dict[str, str]) -> bool:
    return any(key.strip() and not key.startswith("<") for key in places.values())


def _refused(warm: Warm, place: Place) -> str:
    return warm.run(place, "say hi", *JSON).last("json")["code"]


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("absent", ["", " ", "<your key>"], ids=["empty", "blank", "placeholder"])
def test_the_first_place_that_holds_a_key_counts(
    warm: Warm, tmp_path: Path, emulator: Emulator, first: int, absent: str
):
    order = ("flag", "environment", "dotenv", "config")
    before, after = order[:first], order[first + 1 :]
    passed_over = dict.fromkeys(before, absent)
    good = {**passed_over, order[first]: KEY, **dict.fromkeys(after, BAD_KEY)}
    bad = {**passed_over, order[first]: BAD_KEY, **dict.fromkeys(after, KEY)}
    assert keyed(warm, tmp_path / "good", emulator.url, **good) == ""
    assert keyed(warm, tmp_path / "bad", emulator.url, **bad) == "auth_error"


def test_a_key_that_is_nowhere_is_missing(warm: Warm, tmp_path: Path, emulator: Emulator):
    assert keyed(warm, tmp_path, emulator.url, environment="<key>", dotenv="", config=" ") == "missing_credential"
    assert emulator.requests == []


# Models.


def test_a_model_of_no_known_form_is_refused_with_the_forms(run: Run, emulator: Emulator):
    said = usage(run("hi", "--model", "llama-7"))
    assert all(
        form in said for form in ("gemini-…", "claude-…", "gpt-…", "ollama/<model>", "openai:<base url>/<model>")
    )
    assert emulator.requests == []


@pytest.mark.parametrize("option", ["--model", "--model-name"])
def test_a_model_is_chosen_by_either_name(run: Run, emulator: Emulator, option: str):
    assert run("say hi", option, "gemini-2.5-flash").code == 0
    assert "gemini-2.5-flash" in emulator.requests[-1].path


def test_a_model_at_an_address_needs_no_key(warm: Warm, tmp_path: Path, emulator: Emulator):
    place = Place(tmp_path)
    ended = warm.run(place, "say hi", "--model", f"openai:{emulator.url}/v1/gpt-5.4", *JSON)
    assert told(ended, "json").code == "auth_error"
    assert emulator.requests[-1].path == "/v1/chat/completions"


# Instructions.


def test_a_system_prompt_reaches_the_model(run: Run, here: Place, emulator: Emulator):
    assert run("say hi", "--system-prompt", "Be very brief.").code == 0
    assert "Be very brief." in json.dumps(asked(emulator)["systemInstruction"])
    (here.cwd / "rules.md").write_text("Be kind: größer.", "utf-8")
    assert run("say hi", "--system-prompt-file", "rules.md").code == 0
    assert "Be kind: größer." in json.dumps(asked(emulator)["systemInstruction"], ensure_ascii=False)


def test_instructions_that_cannot_be_read_are_refused(run: Run, here: Place):
    assert "not both" in usage(run("hi", "--system-prompt", "a", "--system-prompt-file", "b"))
    assert "cannot be read (No such file" in usage(run("hi", "--system-prompt-file", "missing.md"))
    (here.cwd / "odd.md").write_bytes(b"\xff\xfe")
    assert "no UTF-8 text" in usage(run("hi", "--system-prompt-file", "odd.md"))


# Sessions.


def test_a_session_goes_on_by_its_id_or_as_the_latest(run: Run, emulator: Emulator):
    first = run("say one", *JSON).last("json")
    second = run("say two", "--session", first["sessionId"], *JSON).last("json")
    third = run("say three", "--session", "latest", *JSON).last("json")
    assert first["sessionId"] == second["sessionId"] == third["sessionId"]
    turns = ["".join(part["text"] for part in turn["parts"]) for turn in asked(emulator)["contents"]]
    assert turns == ["say one", "one", "say two", "two", "say three"]


def test_without_a_session_a_new_one_begins(run: Run):
    assert run("say one", *JSON).last("json")["sessionId"] != run("say two", *JSON).last("json")["sessionId"]


@pytest.mark.parametrize("session", ["latest", "thr_nowhere"])
def test_a_session_that_is_not_there_is_not_found(run: Run, session: str):
    ended = run("hi", "--session", session, *JSON)
    assert told(ended, "json").code == "not_found"
    assert "await" not in ended.talk


# Files.


def test_an_attachment_is_sent_with_the_prompt(run: Run, here: Place, emulator: Emulator):
    (here.cwd / "dot.png").write_bytes(PNG)
    (here.cwd / "notes.txt").write_text("some notes")
    assert run("say hi", "--attach", "dot.png", "--attach", str(here.cwd / "notes.txt")).code == 0
    sent = [part["inlineData"]["mimeType"] for part in asked(emulator)["contents"][0]["parts"] if "inlineData" in part]
    assert sent == ["image/png", "text/plain"]


def test_an_attachment_that_is_none_is_refused(run: Run, emulator: Emulator):
    assert told(run("hi", "--attach", "missing.png", *JSON), "json").code == "invalid"
    assert emulator.requests == []


@pytest.mark.parametrize("option", ["--cwd", "--project-dir"])
def test_tools_work_in_the_directory_that_is_named(run: Run, tmp_path: Path, option: str):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "here.txt").touch()
    ended = run('call list_directory {"path": "."}', option, str(tmp_path / "elsewhere"), *JSON)
    [(_, _, listed)] = told(ended, "json").calls
    assert [entry["name"] for entry in listed["entries"]] == ["here.txt"]


def test_a_directory_that_is_none_is_refused(run: Run):
    assert "--cwd must be a directory" in usage(run("hi", "--cwd", "missing"))


def test_a_store_is_kept_where_it_is_named(run: Run, here: Place):
    assert run("say hi", "--store", "own.db").code == 0
    assert (here.cwd / "own.db").exists()
    assert not (here.home / "pollux" / "pollux.db").exists()


def test_a_config_file_that_is_named_must_be_there(run: Run, here: Place, emulator: Emulator):
    assert "does not exist" in usage(run("hi", "--config", "missing.toml"))
    (here.cwd / "own.toml").write_text('model = "gemini-2.5-pro"\n')
    assert run("say hi", "--config", "own.toml").code == 0
    assert "gemini-2.5-pro" in emulator.requests[-1].path


# What may be done.

SHELL = 'call shell {"command": "git status --short"}'


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 3),
        (("--allow", "shell"), 0),
        (("--allow", "shell:git status"), 0),
        (("--allow", "shell:git"), 0),
        (("--allow", "shell(git status)"), 0),
        (("--allow", "run_shell_command(git status)"), 0),
        (("--allow", "shell:git stat"), 3),
        (("--allow", "shell:ls"), 3),
        (("--allow", "write_file"), 3),
        (("--allow", "write_file", "--allow", "shell:git"), 0),
        (("--allowed-tools", "write_file,shell"), 0),
        (("--allowed-tools", "write_file"), 3),
    ],
    ids=str,
)
def test_a_rule_allows_what_it_names_and_no_more(run: Run, words: tuple[str, ...], code: int):
    assert run(SHELL, *words).code == code


@pytest.mark.parametrize("rule", ["???", "shell:", "", "shell:$(rm x)"])
def test_a_rule_of_no_known_form_is_refused(run: Run, rule: str):
    assert "--allow" in usage(run("hi", "--allow", rule))


def test_a_policy_file_is_heeded(run: Run, here: Place):
    (here.cwd / "rules.toml").write_text('[[rule]]\ntoolName = "shell"\ndecision = "allow"\npriority = 100\n')
    assert run(SHELL, "--policy", "rules.toml").code == 0
    assert told(run("hi", "--policy", "missing.toml", *JSON), "json").code == "invalid"


def test_the_model_is_asked_no_more_often_than_allowed(run: Run, emulator: Emulator):
    ended = run(SHELL, "--allow", "shell", "--max-turns", "1", *JSON)
    assert told(ended, "json").code == "loop_limit"
    assert len(emulator.requests) == 1


@pytest.mark.parametrize(
    "words",
    [("--max-turns", "0"), ("--max-turns", "x"), ("--timeout", "0"), ("--timeout", "nan"), ("--timeout", "soon"),
     ("--output-format", "xml"), ("--outputformat", "json"), ("--output", "json"), ("--nonsense",)],
    ids=" ".join,
)  # fmt: skip
def test_an_option_that_makes_no_sense_is_refused(run: Run, words: tuple[str, ...], emulator: Emulator):
    assert words[0] in usage(run("hi", *words))
    assert emulator.requests == []


def test_the_help_has_examples_and_the_exit_codes(run: Run):
    ended = run("--help")
    assert ended.code == 0
    assert "examples:" in ended.text and "3 waiting for approval" in ended.text


def test_the_real_program_answers_as_the_warm_one_does(here: Place):
    ended = here.run("repeat größer 🎉")
    assert (ended.code, ended.text, ended.talk) == (0, "größer 🎉", "")
    assert os.listdir(here.home / "pollux")
