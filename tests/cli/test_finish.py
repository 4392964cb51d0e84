"""An answer that reached the output limit: marked where programs read, and said where people do."""

import json

import pytest
from tests.cli.programs import Place, Warm

SHORT = ("--model", "gemini-3.8-flash--max-tokens")
SAID = "The answer reached the output limit and is incomplete."


@pytest.mark.parametrize("format_", ["json", "stream-json"])
def test_the_result_says_that_the_answer_is_incomplete(warm: Warm, here: Place, format_: str):
    ended = warm.run(here, "count to 12", *SHORT, "--output-format", format_)
    last = json.loads(ended.stdout.splitlines()[-1])
    assert (ended.code, last["status"], last["finishReason"], last["incomplete"]) == (0, "completed", "length", True)
    assert "cut" not in last


def test_text_has_a_line_about_it_beside_the_answer(warm: Warm, here: Place):
    ended = warm.run(here, "count to 12", *SHORT)
    assert ended.code == 0 and ended.text and SAID not in ended.text
    assert SAID in ended.talk


def test_a_whole_answer_is_not_marked(warm: Warm, here: Place):
    ended = warm.run(here, "count to 12", "--output-format", "json")
    assert not {"finishReason", "incomplete", "cut"} & json.loads(ended.stdout).keys()
    assert SAID not in ended.talk
