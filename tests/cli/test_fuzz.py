"""Whatever a service sends, every line of standard output parses and keeps the published schema.

The doctor, which has rules of its own for captured streams, finds nothing wrong with any of it.
"""

import socket
import time
from collections import Counter
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest
from tests.cli.conformance.suite import told
from tests.cli.fakes import Request, serving
from tests.cli.gibberish import gibberish
from tests.cli.programs import FORMATS, Place, Warm, abreast, keys
from tests.cli.wires import WIRES, Wire
from tests.waiting import HANG_SECONDS

from pollux.cli.doctor import FORMATS as DIALECTS
from pollux.cli.doctor.stream import check as check_stream

CODES = {"", "awaiting_confirmation", "model_error", "auth_error", "stream_interrupted", "loop_limit", "timeout"}


def respond(request: Request, connection: socket.socket) -> None:
    """The answer that belongs to the number in the prompt, and to how far the conversation has come."""
    if request.method == "GET":
        return
    seed = int(request.body.split(b"stream number ")[1].split(b".")[0])
    wire = wire_of(seed)
    for piece in gibberish(seed, turn=request.body.count(wire.turn), wire=wire):
        connection.sendall(piece)
        time.sleep(0)  # Others may send meanwhile, so that pieces arrive as pieces.


def wire_of(seed: int) -> Wire:
    """Whose format a stream is in. Every twelve streams meet each of them in each format of our own."""
    return WIRES[seed // len(FORMATS) % len(WIRES)]


def check(warm: Warm, path: Path, seeds: range) -> Counter[str]:
    """Run each stream in one of the formats; what they came to, in whose format, and how many lines were checked."""
    with serving(respond) as url:

        def one(seed: int) -> tuple[str, int]:
            place = Place(path / str(seed), **keys(url))
            format_ = FORMATS[seed % len(FORMATS)]
            wire = wire_of(seed)
            words = (
                f"stream number {seed}.",
                "--max-turns",
                "4",
                "--timeout",
                f"{6 * HANG_SECONDS:g}",
                "--output-format",
                format_,
            )
            ended = warm.run(place, *words, "--model", wire.model)
            telling = told(ended, format_)
            assert telling.code in CODES, ended
            assert check_stream(BytesIO(ended.stdout), DIALECTS[format_])[1] == [], ended
            return f"{wire.name} {telling.code or 'completed'}", ended.stdout.count(b"\n")

        found = abreast([partial(one, seed) for seed in seeds])
    return Counter(code for code, _ in found) + Counter(lines=sum(lines for _, lines in found))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_two_hundred_streams_break_nothing(part: int, warm: Warm, tmp_path: Path):
    found = check(warm, tmp_path, range(50 * part, 50 * (part + 1)))
    print(f"50 streams, {found.pop('lines')} lines, all of them valid: {dict(found)}")
    for wire in WIRES:
        assert found[f"{wire.name} completed"] and found[f"{wire.name} model_error"]
    assert any(found[f"{wire.name} stream_interrupted"] for wire in WIRES)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_streams_break_nothing(part: int, warm: Warm, tmp_path: Path):
    found = check(warm, tmp_path, range(1000 + 100 * part, 1000 + 100 * (part + 1)))
    print(f"100 streams, {found.pop('lines')} lines, all of them valid: {dict(found)}")
