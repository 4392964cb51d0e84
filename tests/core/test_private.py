"""Which names speak of a secret: the same here and in the browser."""

import json
import re
import unicodedata
from pathlib import Path

import pytest

from pollux.core.private import SIGNS, WORDS, kebab, names_secret

ROOT = Path(__file__).parents[2]
NAMES: dict[str, list[str]] = json.loads((Path(__file__).parent / "private_names.json").read_text())


@pytest.mark.parametrize("name", NAMES["secret"])
def test_a_field_of_this_name_holds_a_secret_whatever_its_language(name: str):
    assert names_secret(name)
    assert names_secret(unicodedata.normalize("NFD", name))


@pytest.mark.parametrize("name", NAMES["open"])
def test_a_field_of_this_name_holds_none(name: str):
    assert not names_secret(name)


def test_the_browser_goes_by_the_same_words():
    script = (ROOT / "web/packages/automation/src/private-words.ts").read_text()
    for ours, called in ((WORDS, "WORDS"), (SIGNS, "SIGNS")):
        theirs = re.search(rf"const {called}[^=]*= \[(.*?)\];", script, re.DOTALL)
        assert theirs is not None
        assert re.findall(r'"([^"]+)"', theirs[1]) == list(ours)


def test_a_name_of_endless_length_is_read_from_its_end():
    assert names_secret("x" * 100_000 + "_password")
    assert not names_secret("-a" * 100_000)


@pytest.mark.parametrize(
    "name",
    [
        "p\N{CYRILLIC SMALL LETTER A}ssword",
        "p\N{ZERO WIDTH SPACE}assword",
        "\N{FULLWIDTH LATIN SMALL LETTER P}assword",
        "t\N{GREEK SMALL LETTER OMICRON}ken",
        "-а" * 60 + "-парол" + "ь",
    ],
)
def test_a_secret_is_known_in_letters_that_only_look_like_its_own(name: str):
    assert names_secret(name)


def test_a_long_name_is_told_by_its_words_as_a_short_one_is():
    assert kebab("messageInput" + "X" * 300) == "message-input-" + "x" * 300
