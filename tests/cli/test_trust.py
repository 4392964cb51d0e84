"""`pollux trust`: what a folder's file would add is shown, and counts once a person accepts it."""

import re
from pathlib import Path

import pytest
from tests.cli.machine import Machine

FILE = """\
[profiles.brief]
instructions = "Be brief."

[[rules]]
decision = "allow"
tool = "demo_mail"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    (made.cwd / "pollux.toml").write_text(FILE)
    return made


def test_a_file_is_accepted_after_its_parts_were_shown_and_until_it_changes(machine: Machine):
    asked = machine.run("trust", ".")
    assert asked.returncode == 3 and "--yes" in asked.stderr
    assert "profiles.brief" in asked.stdout and "rule 'pollux.toml#1'" in asked.stdout
    done = machine.run("trust", "--yes")
    assert (done.returncode, done.stderr) == (0, "") and "Accepted as it stands" in done.stdout
    assert "is accepted already" in machine.run("trust").stdout
    (machine.cwd / "pollux.toml").write_text(FILE + "\n")
    assert "profiles.brief" in machine.run("trust").stdout


def test_what_a_part_allows_is_shown_and_not_only_the_name_that_the_file_gives_it(machine: Machine):
    (machine.cwd / "pollux.toml").write_text(
        '[[rules]]\nname = "harmless"\ndecision = "allow"\ntool = "*"\n# \u202e x\n'
    )
    said = machine.run("trust").stdout
    assert '  | decision = "allow"\n  | tool = "*"\n  | # \\u202e x\n' in said
    assert said.index("  | ") < said.index("rule 'harmless'"), "what is asked about stands last"


def test_where_there_is_no_file_it_is_a_usage_error(tmp_path: Path):
    machine = Machine(tmp_path)
    for words in ((".",), ("nowhere",)):
        done = machine.run("trust", *words)
        assert done.returncode == 2 and re.search("no pollux.toml|a folder that exists", done.stderr)


def test_doctor_says_how_to_accept_it(machine: Machine):
    done = machine.run("doctor", "--offline")
    assert "pollux trust ." in done.stdout
