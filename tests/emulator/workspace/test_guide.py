"""The guide cannot lie: its faults are the faults there are, its options those of the command."""

import re
from pathlib import Path

import pytest

from pollux.emulator.command import main
from pollux.emulator.workspace.faults import KINDS

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "workspace-emulator.md").read_text("utf-8")


def test_the_guide_lists_every_fault_and_no_other():
    table = GUIDE.split("| fault | effect |")[1].split("\n\n")[0]
    assert dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", table, re.MULTILINE)) == KINDS


def test_the_guide_lists_the_options_that_the_command_has(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["workspace", "--help"])
    there = set(re.findall(r"^  (--[\w-]+)", capsys.readouterr().out, re.MULTILINE))
    table = GUIDE.split("| option | meaning |")[1].split("\n\n")[0]
    # Recordings are Gemini's alone, and in its guide.
    assert set(re.findall(r"^\| `(--[\w-]+)", table, re.MULTILINE)) == there - {"--replay"}
