"""What the safety figures count is counted where it is: a corpus that grows makes the page untrue."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.attack.hostile_folders import FOLDERS
from tests.attack.page_floods import FLOODS
from tests.attack.schema_bombs import BOMBS
from tests.attack.test_call_floods import arguments
from tests.attack.test_command_lines import BARE, FORBIDDEN
from tests.attack.test_consent import CHANGES
from tests.attack.test_inherited_trust import TREES

PAGE = Path(__file__).parents[2] / "docs/reference/safety-figures.md"
FORGED = 3
"""Histories that are made during the test."""
COUNTS: dict[str, Callable[[], int]] = {
    "command lines around rules that deny, all else allowed": lambda: len(FORBIDDEN),
    "command lines around rules that allow a program by its name": lambda: len(BARE),
    "hostile folders, five commands in each": lambda: len(FOLDERS),
    "schemas of pages made to be expensive": lambda: len(BOMBS),
    "trees of runbooks, trusted or not, and what they inherit": lambda: len(TREES),
    'changes of a tool between question and answer, and after "always"': lambda: len(CHANGES),
    "schema bombs, each declared by the page and called by the model": lambda: len(BOMBS),
    "requests of a megabyte: tools, states, histories, numbers": lambda: len(FLOODS) + FORGED,
    "edits: one text of 64,000 characters, several of them, thousands of values": lambda: len(arguments()),
}


@pytest.mark.parametrize("row", COUNTS)
def test_a_count_on_the_page_is_that_of_the_corpus(row: str):
    found = re.search(rf"^\| {re.escape(row)} \| ([\d,]+)", PAGE.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    assert int(found[1].replace(",", "")) == COUNTS[row]()
