"""Every fault of the emulator, through every provider, in every format: the contract holds, and the code is right."""

from functools import partial
from pathlib import Path

import pytest
from tests.cli.conformance.suite import PROVIDERS, Provider, Told, told
from tests.cli.programs import DEADLINES, FORMATS, Ended, Place, Warm, abreast, keys
from tests.waiting import HANG_SECONDS

from pollux.emulator import Emulator
from pollux.emulator.faults import KINDS

TWELVE = "\n".join(map(str, range(1, 13)))
CALLS = 'call list_directory {"path": "."} call glob {"pattern": "*"}'

ENDINGS: dict[str, str] = {
    "auth_error": "401 403",
    "model_error": "400 404 429 500 502 503 504 html reset malformed-call unexpected-call too-many-calls safety"
    " recitation block empty no-candidates",
    "stream_interrupted": "reset-mid half truncated stream-error bad-json",
    "timeout": "idle silent",
    "": "slow split-utf8 lf cr crlf comments events multi-line max-tokens unknown-reason unknown-part huge no-id"
    " duplicate-ids split-calls",
}
CODES = {fault: code for code, faults in ENDINGS.items() for fault in faults.split()}

# Some of the answer has been printed by then, in every wire format.
OPTIONS = {
    **dict.fromkeys(("reset-mid", "truncated", "stream-error", "bad-json", "idle"), "-after4"),
    "slow": "-every20",
    "huge": "-size100000",
}
PROMPTS: dict[str, str] = dict.fromkeys(("no-id", "duplicate-ids", "split-calls"), CALLS)
# These end by the time that they are given, the rest by their retries.
ENDLESS = ("idle", "silent")
PLENTY = 6 * HANG_SECONDS


def test_every_fault_of_the_emulator_has_an_ending_here():
    assert set(CODES) == set(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_a_fault_ends_in_its_code_in_every_format(provider: Provider, warm: Warm, tmp_path: Path, emulator: Emulator):
    cases = [(fault, format_) for fault in KINDS for format_ in FORMATS]
    runs = [partial(run, warm, tmp_path, emulator, provider, *case) for case in cases]
    tellings = {case: told(ended, case[1]) for case, ended in zip(cases, abreast(runs), strict=True)}
    assert {case: telling.code for case, telling in tellings.items()} == {case: CODES[case[0]] for case in cases}
    for fault in KINDS:
        same = {format_: tellings[fault, format_] for format_ in FORMATS}
        _agree(fault, same)


def run(warm: Warm, path: Path, emulator: Emulator, provider: Provider, fault: str, format_: str) -> Ended:
    place = Place(path / f"{fault}-{format_}", **keys(emulator.url))
    model = f"{provider.model}--{fault}{OPTIONS.get(fault, '')}"
    words = (PROMPTS.get(fault, "count to 12"), "--model", model, "--output-format", format_)
    if fault not in ENDLESS:
        return warm.run(place, *words, "--timeout", f"{PLENTY:g}")
    for seconds in DEADLINES:
        ended = warm.run(place, *words, "--timeout", str(seconds))
        # Where the machine is busy, the time may be over before the first words are there to stay.
        if fault == "silent" or told(ended, format_).text or format_ == "json":
            return ended
    pytest.fail(f"{fault}: not a word was told")


def _agree(fault: str, same: dict[str, Told]) -> None:
    """The formats tell one story."""
    if CODES[fault] == "":
        assert len({telling.text for telling in same.values()}) == 1, fault
    if fault in ("lf", "cr", "crlf", "comments", "events", "multi-line", "slow", "unknown-reason", "unknown-part"):
        assert same["text"].text == TWELVE, fault
    if fault in PROMPTS:
        ids = [{call_id for call_id, _, _ in same[format_].calls} for format_ in FORMATS if format_ != "text"]
        assert [len(each) for each in ids] == [2, 2, 2], fault
    if CODES[fault] in ("stream_interrupted", "timeout") and fault != "silent":
        # What was printed stays, and is a beginning of the answer.
        assert same["stream-json"].text and TWELVE.startswith(same["stream-json"].text), fault
        assert TWELVE.startswith(same["text"].text) and same["text"].text, fault
