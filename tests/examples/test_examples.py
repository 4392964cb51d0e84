"""Every example runs as its reader would run it, against the emulator, and prints what it should."""

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.waiting import HANG_SECONDS

from pollux.emulator import run_emulator

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
PASSED_ON: Final = ("PATH", "LANG", "COVERAGE_PROCESS_START")

SIMPLE: Final = {
    "01_hello.py": ["add returned 5"],
    "02_tools.py": [
        "get_weather({'city': 'Paris'}) -> 18 degrees celsius",
        "get_weather({'city': 'Rome'}) -> 24 degrees celsius",
        "get_weather({'city': 'Oslo'}) -> there is no station in Oslo; there are: Paris, Rome",
        "get_weather failed: there is no station in Oslo; there are: Paris, Rome",
        "miles_to_km({'miles': 26.2}) -> 42.2",
    ],
    "03_stream.py": [
        "[gemini-3.8-flash]",
        "[calls get_weather with {'city': 'Paris'}]",
        "[get_weather: 18 degrees in Paris]",
        "get_weather returned 18 degrees in Paris",
    ],
    "05_structured_output.py": ["urgent: 3 printers of ada@example.com, since Friday"],
    "06_sessions.py": [
        "user: Say hello Ada",
        "assistant: hello Ada",
        "user: Say welcome back",
        "assistant: welcome back",
        "the fork: 4 messages, about 'Say hello Ada'",
        "the first: 4 messages, about 'Say hello Ada'",
        "session_not_found",
    ],
    "07_files_and_shell.py": [
        "read the file notes.txt -> {'content': 'buy milk\\n'}",
        "write \"milk and bread\" to drafts/shopping.txt -> {'path': 'drafts/shopping.txt', 'bytes': 14}",
        'write "all mine" to notes.txt -> the policy refused this call: it needs approval, and there is nobody to ask',
        "run `wc -w notes.txt` -> {'stdout': '2 notes.txt\\n', 'stderr': '', 'exit_code': 0}",
        "run `rm notes.txt` -> the policy refused this call: nothing is deleted here",
        "in the end: drafts/shopping.txt notes.txt",
    ],
    "08_skills.py": [
        "tools: activate_skill read_skill_file",
        "activate_skill({'name': 'release-notes'})",
        "read_skill_file({'name': 'release-notes', 'path': 'references/voice.md'})",
    ],
    "09_crash_proof.py": [
        "awaiting_confirmation: send_mail(to='bob@example.com', body='the report is ready')",
        "the second process ended by SIGKILL",
        "completed: send_mail returned sent",
        "mails sent: 1",
    ],
    "10_testing_your_agent.py": [
        "test_the_stock_goes_down: passed",
        "test_the_model_hears_that_there_is_too_little: passed",
    ],
}
"""Lines that the program prints, in this order, others between them."""


async def printed_by(program: str, home: Path, *, typed: str = "") -> list[str]:
    """What the program prints, run in an empty directory with a key and a model of its own."""
    work = home / "work"
    work.mkdir()
    async with run_emulator() as emulator, asyncio.timeout(2 * HANG_SECONDS):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-W",
            "error",
            EXAMPLES / program,
            cwd=work,
            env={
                **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
                "HOME": str(home),
                "POLLUX_HOME": str(home / "pollux"),
                "GEMINI_API_KEY": "demo",
                "GOOGLE_GEMINI_BASE_URL": emulator.url,
            },
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, talk = await process.communicate(typed.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert (process.returncode, talk.decode()) == (0, "")
    assert list(work.iterdir()) == [], "an example leaves nothing behind"
    return out.decode().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("program", SIMPLE)
async def test_an_example_prints_what_it_shows(program: str, tmp_path: Path):
    printed = await printed_by(program, tmp_path)
    assert [line for line in printed if line in SIMPLE[program]] == SIMPLE[program], "\n".join(printed)


@pytest.mark.story
@pytest.mark.slow
async def test_the_mail_of_the_example_goes_out_after_a_yes(tmp_path: Path):
    printed = await printed_by("04_approval.py", tmp_path, typed="y\n")
    assert printed[0] == "To bob@example.com: the report is ready"
    assert printed[-2:] == ["the model read: sent", "sent to: bob@example.com"]


@pytest.mark.slow
async def test_the_mail_of_the_example_stays_after_a_no_and_the_model_reads_why(tmp_path: Path):
    *_, read, sent = await printed_by("04_approval.py", tmp_path, typed="not today\n")
    assert "'feedback': 'not today'" in read
    assert sent == "sent to: nobody"


def test_every_example_is_run_and_in_the_table_of_the_readme():
    programs = sorted(path.name for path in EXAMPLES.glob("*.py"))
    assert programs == sorted([*SIMPLE, "04_approval.py"])
    assert re.findall(r"^\| \[([\w.]+)\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE) == programs
