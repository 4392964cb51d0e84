"""The guide cannot lie: its table is the table of faults, its program runs."""

import re
import subprocess
import sys
from pathlib import Path

from tests.waiting import HANG_SECONDS

from pollux.emulator.faults import KINDS

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "emulator.md").read_text("utf-8")


def test_the_guide_lists_every_fault_and_no_other():
    table = GUIDE.split("| fault | effect |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE) == list(KINDS)


def test_the_guides_program_runs():
    [program] = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG_SECONDS, check=True
    )
    url, seen = ran.stdout.split()
    assert url.startswith("http://127.0.0.1:") and seen == "0"
