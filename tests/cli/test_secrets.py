"""A key goes to its service and nowhere else: a canary in every place that a key may come from, and 0 hits."""

import json
import socket
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.cli.conformance.suite import PROVIDERS, Provider, told
from tests.cli.fakes import Request, events, head, serving
from tests.cli.programs import DEADLINES, FORMATS, Ended, Place, Warm, abreast, keys
from tests.waiting import HANG_SECONDS

from pollux.core.redact import Secret, forms_of
from pollux.emulator import Emulator
from pollux.emulator.faults import KINDS

CANARY = "AIzaCanary/9f+e2=Zq_77%Kx"
FORMS = [form.encode() for form in forms_of(Secret(CANARY))]
PLENTY = 6 * HANG_SECONDS
SOURCES = ("flag", "environment", "dotenv", "config")
ENDLESS = ("silent", "idle")


def with_key(path: Path, url: str, provider: Provider, source: str) -> tuple[Place, tuple[str, ...]]:
    """A machine that has the canary in one place, and what to say on the command line."""
    place = Place(path, **{**keys(url), provider.key: ""})
    match source:
        case "flag":
            return place, ("--api-key", CANARY)
        case "environment":
            place.environ[provider.key] = CANARY
        case "dotenv":
            (place.cwd / ".env").write_text(f"{provider.key}='{CANARY}'\n")
        case _:
            folder = place.home / ".config" / "pollux"
            folder.mkdir(parents=True)
            (folder / "config.toml").write_text(f'[{provider.name}]\napi_key = "{CANARY}"\n')
    return place, ()


def hits(ended: Ended, place: Place) -> list[str]:
    """Where the canary was found, in whatever form: in what was printed, or in anything that was kept."""
    kept = {str(path): path.read_bytes() for path in (place.home / "pollux").rglob("*") if path.is_file()}
    seen = {"stdout": ended.stdout, "stderr": ended.stderr, **kept}
    assert "pollux.db" in {Path(name).name for name in kept}, ended
    return [name for name, content in seen.items() if any(form in content for form in FORMS)]


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_no_fault_brings_a_key_to_light(provider: Provider, warm: Warm, tmp_path: Path, emulator: Emulator):
    def one(number: int, fault: str) -> list[str]:
        source, format_ = SOURCES[number % 4], FORMATS[number // 4 % 4]
        place, flags = with_key(tmp_path / fault, emulator.url, provider, source)
        words = ("count to 3", "--debug", "--model", f"{provider.model}--{fault}", "--output-format", format_)
        for seconds in DEADLINES if fault in ENDLESS else (PLENTY,):
            ended = warm.run(place, *words, *flags, "--timeout", f"{seconds:g}")
            told(ended, format_)
            # Where the machine is busy, the time may be over before anything is kept.
            if (place.home / "pollux" / "pollux.db").exists():
                return hits(ended, place)
        pytest.fail(f"{fault}: nothing was kept")

    found = abreast([partial(one, number, fault) for number, fault in enumerate(KINDS)])
    print(f"{len(found)} faults at debug level, {sum(map(len, found))} hits")
    assert found == [[]] * len(KINDS)


@pytest.mark.parametrize("source", SOURCES)
def test_a_key_works_from_everywhere_and_tools_do_not_find_it(
    warm: Warm, tmp_path: Path, emulator: Emulator, source: str
):
    place, flags = with_key(tmp_path, emulator.url, PROVIDERS[0], source)
    commands = ("env", "env | base64 -w0", "cat /proc/*/environ /proc/*/cmdline", "cat .env ../home/.config/pollux/*")
    prompt = " ".join(f"call shell {json.dumps({'command': command})}" for command in commands)
    words = (
        prompt + ' call read_file {"path": ".env"}',
        "--allow",
        "shell",
        "--debug",
        "--output-format",
        "stream-json",
    )
    ended = warm.run(place, *words, *flags)
    assert len(told(ended, "stream-json").calls) == 5
    if source in ("dotenv", "config"):
        # Whoever allows every command allows `cat`. What is printed is masked all the same.
        assert not any(form in ended.stdout + ended.stderr for form in FORMS)
    else:
        assert hits(ended, place) == []


@pytest.fixture(params=["whole", "by the character"])
def echo(request: pytest.FixtureRequest) -> Iterator[str]:
    """A service that answers with the key, in every form and in pieces."""
    said = f"{CANARY} {quote(CANARY, safe='')} {b64encode(b'user:' + CANARY.encode()).decode()} end"
    pieces = [said] if request.param == "whole" else list(said)

    def respond(asked: Request, connection: socket.socket) -> None:
        chunks: list[Any] = [{"candidates": [{"content": {"parts": [{"text": piece}]}}]} for piece in pieces]
        chunks.append({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]})
        connection.sendall(events(*(json.dumps(chunk).encode() for chunk in chunks)))

    with serving(respond) as url:
        yield url


@pytest.mark.parametrize("format_", FORMATS)
def test_an_answer_that_holds_the_key_is_masked_also_in_pieces(warm: Warm, tmp_path: Path, echo: str, format_: str):
    place = Place(tmp_path, **keys(echo, CANARY))
    ended = warm.run(place, "hello", "--debug", "--output-format", format_)
    telling = told(ended, format_)
    assert (telling.code, telling.text.count("[redacted]")) == ("", 3)
    assert telling.text.endswith(" end")
    assert not any(form in ended.stdout + ended.stderr for form in FORMS)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_refusal_that_quotes_the_key_is_masked(warm: Warm, tmp_path: Path, format_: str):
    def respond(asked: Request, connection: socket.socket) -> None:
        error = {"code": 400, "status": "INVALID_ARGUMENT", "message": f"API key {CANARY} ({quote(CANARY)}) not valid"}
        connection.sendall(head("application/json", "400 Bad") + json.dumps({"error": error}).encode())

    with serving(respond) as url:
        place = Place(tmp_path, **keys(url, CANARY))
        ended = warm.run(place, "hello", "--debug", "--output-format", format_)
    assert "[redacted]" in told(ended, format_).message
    assert hits(ended, place) == []


def test_a_short_key_masks_no_ordinary_words(warm: Warm, tmp_path: Path, emulator: Emulator):
    place = Place(tmp_path, **keys(emulator.url, "demo"))
    assert warm.run(place, "say a demo of demos").text == "a demo of demos"


def test_a_short_key_that_is_no_word_is_masked_all_the_same(warm: Warm, tmp_path: Path, emulator: Emulator):
    place = Place(tmp_path, **keys(emulator.url, "k3y-4"))
    assert warm.run(place, "say it is k3y-4 here").text == "it is [redacted] here"
