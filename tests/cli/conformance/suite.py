"""What `pollux run` owes whoever reads it, as checks of one run and as a suite for every provider.

A new provider is one file: a subclass of CommandLineSuite with a `provider`.
"""

import http.client
import json
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.cli.fakes import Request, Respond, head, serving
from tests.cli.programs import FORMATS, PATIENCE, POLLUX, Ended, Place, Warm, abreast, keys

from pollux.emulator import Emulator

HARD_TEXT = 'Zwölf Boxkämpfer — 日本語 🎉🧪 é, tab\there,\r\nCRLF, \\n no newline, "quotes" </script> \u2028 end'
TWO_CALLS = 'call list_directory {"path": "."} call read_file {"path": "missing.txt"}'


@dataclass(frozen=True)
class Provider:
    """One wire format, as the command line reaches it."""

    name: str
    model: str
    key: str
    """The variable that holds its key."""
    file_key: str


GEMINI = Provider("gemini", "gemini-3.8-flash", "GEMINI_API_KEY", "api_key")
OPENAI = Provider("openai", "gpt-5.4", "OPENAI_API_KEY", "openai.api_key")
ANTHROPIC = Provider("anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY", "anthropic.api_key")
PROVIDERS = (GEMINI, OPENAI, ANTHROPIC)


@dataclass(frozen=True)
class Told:
    """A run as its lines tell it, whatever the format."""

    text: str = ""
    code: str = ""
    """Empty where there was an answer."""
    message: str = ""
    calls: list[tuple[str, str, Any]] = field(default_factory=list[tuple[str, str, Any]])
    """Id, name and result of each."""


def told(ended: Ended, format_: str) -> Told:
    """What a run told, once every rule of its format has been held to it."""
    assert "Traceback" not in ended.talk, ended
    read = {"text": _text, "json": _json, "stream-json": _stream, "gemini-stream-json": _gemini}[format_]
    run = read(ended)
    assert ended.code == _exit_code(run.code), ended
    if run.code:
        # People read what programs read.
        assert ("needs approval" if run.code == "awaiting_confirmation" else f"{run.code}: ") in ended.talk, ended
    return run


def in_every_format(warm: Warm, place: Place, *words: str, **environ: str) -> dict[str, Told]:
    """What the same run tells in each format."""
    runs = [partial(warm.run, place, *words, "--output-format", format_, **environ) for format_ in FORMATS]
    return {format_: told(ended, format_) for format_, ended in zip(FORMATS, abreast(runs), strict=True)}


def _exit_code(code: str) -> int:
    return {"": 0, "awaiting_confirmation": 3, "outcome_unknown": 4}.get(code, 1)


def _text(ended: Ended) -> Told:
    if ended.code == 0:
        return Told(ended.text)
    # Without an answer: nothing, a beginning of text, or one JSON object.
    if ended.text.startswith('{"type":"error"'):
        [line] = ended.lines("text")
        return Told("", line["code"], line["error"])
    code = "awaiting_confirmation" if ended.code == 3 else ended.talk.rpartition("pollux: ")[2].partition(":")[0]
    return Told(ended.text, code)


def _json(ended: Ended) -> Told:
    [line] = ended.lines("json")
    if line["type"] == "error":
        return Told("", line["code"], line["error"])
    calls = [(call["id"], call["name"], call["result"]) for call in line["toolCalls"]]
    return Told(line["result"], _waiting(line), "", calls)


def _stream(ended: Ended) -> Told:
    *lines, last = ended.lines("stream-json")
    text, calls = "", list[tuple[str, str, Any]]()
    while lines:
        line = lines.pop(0)
        if line["type"] == "assistant":
            text += "".join(part["text"] for part in line["message"]["content"])
            continue
        # A call is told when it begins, and each has one result.
        assert line["type"] == "tool_code", ended
        (result,) = [each for each in lines if each["type"] == "tool_result" and each["id"] == line["id"]]
        lines.remove(result)
        assert (result["id"], result["name"]) == (line["id"], line["name"]), ended
        calls.append((line["id"], line["name"], result["result"]))
    if last["type"] == "error":
        return Told(text, last["code"], last["error"], calls)
    assert (last["type"], last["result"]) == ("result", text), ended
    return Told(text, _waiting(last), "", calls)


def _gemini(ended: Ended) -> Told:
    lines = ended.lines("gemini-stream-json")
    if [line["type"] for line in lines] == ["error"]:
        # There was no session yet: what went wrong is told in words that every format shares.
        return Told("", lines[0]["code"], lines[0]["error"])
    first, second, *lines, last = lines
    assert (first["type"], second["type"], second["role"]) == ("init", "message", "user"), ended
    text, calls = "", list[tuple[str, str, Any]]()
    while lines:
        line = lines.pop(0)
        if line["type"] == "message":
            assert (line["role"], line["delta"]) == ("assistant", True) and line["content"], ended
            text += line["content"]
        elif line["type"] == "error":
            assert line["severity"] == "warning" and lines == [], ended
        else:
            result = lines.pop(0)
            assert (line["type"], result["type"]) == ("tool_use", "tool_result"), ended
            assert result["tool_id"] == line["tool_id"], ended
            answer = {"error": result["error"]["message"]} if result["status"] == "error" else result["output"]
            calls.append((line["tool_id"], line["tool_name"], answer))
    assert last["type"] == "result" and last["stats"]["tool_calls"] == len(calls), ended
    if last["status"] == "error":
        return Told(text, last["error"]["type"], last["error"]["message"], calls)
    return Told(text, "", "", calls)


def _waiting(line: dict[str, Any]) -> str:
    is_waiting = line["status"] == "awaiting_confirmation"
    assert is_waiting == ("approvals" in line)
    return "awaiting_confirmation" if is_waiting else ""


class CommandLineSuite:
    """The contract, for one provider."""

    provider: Provider

    @pytest.fixture
    def run(self, warm: Warm, here: Place) -> Callable[..., dict[str, Told]]:
        return partial(in_every_format, warm, here, "--model", self.provider.model)

    # V1

    @pytest.mark.parametrize("key", ["", "  ", "<your key>"], ids=["absent", "blank", "placeholder"])
    def test_without_a_key_it_says_so_before_anything_is_asked(
        self, warm: Warm, tmp_path: Path, emulator: Emulator, key: str
    ):
        provider = self.provider
        place = Place(tmp_path, **{**keys(emulator.url), provider.key: key})
        words = ("hello", "--model", provider.model, "--debug")
        for format_ in FORMATS:
            ended = warm.run(place, *words, "--output-format", format_)
            [line] = ended.lines(format_)
            assert (ended.code, line["type"], line["code"]) == (1, "error", "missing_credential")
            assert provider.key in line["error"] and provider.file_key in line["error"]
        assert emulator.requests == []

    def test_without_a_key_the_cold_program_says_the_same(self, tmp_path: Path, emulator: Emulator):
        place = Place(tmp_path, **{**keys(emulator.url), self.provider.key: ""})
        ended = place.run("hello", "--model", self.provider.model)
        assert (ended.code, ended.last("text")["code"], ended.talk) == (1, "missing_credential", "")

    # V2 and V3

    @pytest.mark.parametrize("text", ["hi", "ends in a line\n", HARD_TEXT, "x" * 70_000], ids=lambda text: len(text))
    def test_the_text_is_the_models_byte_for_byte_in_every_format(self, run: Callable[..., dict[str, Told]], text: str):
        expected = text.strip()
        tellings = run(f"repeat {text}")
        assert {format_: telling.text for format_, telling in tellings.items()} == dict.fromkeys(FORMATS, expected)
        assert {telling.code for telling in tellings.values()} == {""}

    def test_a_streamed_answer_is_its_lines_put_together(self, run: Callable[..., dict[str, Told]]):
        tellings = run("count to 40")
        assert {telling.text for telling in tellings.values()} == {"\n".join(map(str, range(1, 41)))}

    # V4

    @pytest.mark.parametrize("trouble", ["status", "garbage", "reset"])
    def test_a_listing_that_fails_is_told_on_stderr_and_stops_nothing(
        self, warm: Warm, tmp_path: Path, emulator: Emulator, trouble: str
    ):
        with serving(_relay(emulator.url, trouble)) as url:
            place = Place(tmp_path, **keys(url))
            ended = warm.run(place, "say hello", "--debug", "--model", self.provider.model)
        assert (ended.code, ended.text) == (0, "hello")
        assert "the models could not be listed" in ended.talk

    def test_debugging_leaves_stdout_as_it_was(self, warm: Warm, here: Place):
        for format_ in FORMATS:
            words = ("say hello", "--debug", "--model", self.provider.model, "--output-format", format_)
            ended = warm.run(here, *words)
            assert told(ended, format_).text == "hello"
            assert "pollux: model " in ended.talk

    # V5

    def test_calls_and_results_are_paired_and_errors_are_objects(self, run: Callable[..., dict[str, Told]]):
        tellings = run(TWO_CALLS)
        for format_ in ("json", "stream-json", "gemini-stream-json"):
            # In the order in which they ended.
            results = {name: result for _, name, result in tellings[format_].calls}
            assert set(results) == {"list_directory", "read_file"}
            assert set(results["read_file"]) == {"error"} and results["read_file"]["error"]
        assert tellings["text"].text == tellings["stream-json"].text == tellings["json"].text

    def test_a_refused_call_is_a_result_with_an_error(self, run: Callable[..., dict[str, Told]], here: Place):
        rules = here.path / "rules.toml"
        rules.write_text('[[rule]]\ntoolName = "shell"\ndecision = "deny"\npriority = 900\nargsPattern = "rm"\n')
        tellings = run('call shell {"command": "rm x"}', "--policy", str(rules))
        [(_, name, result)] = tellings["stream-json"].calls
        assert name == "shell" and set(result) == {"error"}

    def test_a_call_that_nobody_may_answer_waits(self, run: Callable[..., dict[str, Told]], emulator: Emulator):
        tellings = run('call shell {"command": "touch made"}')
        assert {telling.code for telling in tellings.values()} == {"awaiting_confirmation"}
        assert not any(telling.calls for telling in tellings.values())

    # What ends a run early

    def test_a_run_that_never_has_enough_ends_at_its_limit(self, run: Callable[..., dict[str, Told]]):
        tellings = run('call glob {"pattern": "*"} then call glob {"pattern": "*.py"}', "--max-turns", "1")
        assert {telling.code for telling in tellings.values()} == {"loop_limit"}

    def test_a_bad_key_is_an_error_of_its_own(self, run: Callable[..., dict[str, Told]]):
        tellings = run("hello", "--api-key", "invalid-key-000")
        assert {telling.code for telling in tellings.values()} == {"auth_error"}

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_the_run_with_its_last_line(self, here: Place, number: signal.Signals):
        words = ("count to 3000", "--model", f"{self.provider.model}--slow-every100", "--output-format", "stream-json")
        with subprocess.Popen(
            [*POLLUX, "run", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=here.cwd, env=here.environ
        ) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            process.send_signal(number)
            rest, talk = process.communicate(timeout=PATIENCE)
        ended = Ended(words, process.returncode, first + rest, talk)
        assert (ended.code, ended.last("stream-json")["code"]) == (128 + number, "cancelled")
        assert [line["type"] for line in ended.lines("stream-json")].count("error") == 1
        assert "Traceback" not in ended.talk


def _relay(url: str, trouble: str) -> Respond:
    """Hands every question on, and spoils every listing."""
    target = urlsplit(url).netloc

    def respond(request: Request, connection: socket.socket) -> None:
        if request.method == "GET":
            _spoil(trouble, connection)
            return
        upstream = http.client.HTTPConnection(target, timeout=PATIENCE)
        try:
            headers = {"content-type": "application/json", "x-goog-api-key": "k", "authorization": "Bearer k"}
            versions = {"x-api-key": "k", "anthropic-version": "2023-06-01"} if "/messages" in request.path else {}
            upstream.request("POST", request.path, request.body, {**headers, **versions})
            answer = upstream.getresponse()
            connection.sendall(head(answer.headers["content-type"], f"{answer.status} OK") + answer.read())
        finally:
            upstream.close()

    return respond


def _spoil(trouble: str, connection: socket.socket) -> None:
    match trouble:
        case "status":
            connection.sendall(head("text/html", "500 Oh") + b"<h1>Oh</h1>")
        case "garbage":
            connection.sendall(head("application/json") + json.dumps({"models": 7, "data": [[]]}).encode())
        case _:
            pass
