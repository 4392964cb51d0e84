"""The demo as a newcomer meets it: a real process, words on its standard input, and every way to leave."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

POLLUX = [sys.executable, "-W", "error", "-m", "pollux.cli"]
MAIL = "send an email to bob@example.com saying the report is ready\n"


def demo(words: str, *, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*POLLUX, "demo"], input=words, capture_output=True, text=True, timeout=60, cwd=cwd, env=_environment()
    )


def test_it_answers_with_a_tool_and_says_that_it_is_a_demo_model(tmp_path: Path):
    done = demo("add 2 and 3\n", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "demo model, rule-based" in done.stdout
    assert "add returned 5" in done.stdout


def test_a_mail_is_sent_only_after_a_yes(tmp_path: Path):
    done = demo(MAIL + "y\n", cwd=tmp_path)
    assert "to: bob@example.com" in done.stdout
    assert 'demo_mail returned {"sent": true' in done.stdout


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_anything_but_a_yes_is_a_no(tmp_path: Path, answer: str):
    done = demo(MAIL + answer, cwd=tmp_path)
    assert "demo_mail was rejected" in done.stdout
    assert "running" not in done.stdout


def test_always_allow_is_not_asked_again(tmp_path: Path):
    done = demo(MAIL + "a\n" + MAIL, cwd=tmp_path)
    assert done.stdout.count("approve?") == 1
    assert done.stdout.count('{"sent": true') == 2


def test_a_broken_workspace_file_is_one_line_and_says_what_to_do(tmp_path: Path):
    (tmp_path / "pollux.toml").write_text("broken = [")
    done = demo("", cwd=tmp_path)
    assert done.returncode != 0
    assert done.stderr.startswith("pollux: ") and "Correct it" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_who_has_seen_enough_is_no_error(tmp_path: Path):
    process = subprocess.Popen(
        [*POLLUX, "demo"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=_environment(),
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdin.write(b"add 2 and 3\n")
    process.stdin.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_without_a_word(tmp_path: Path, number: signal.Signals, code: int):
    process = subprocess.Popen(
        [*POLLUX, "demo"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=_environment(),
        # Whoever runs the tests in the background has it ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        assert process.stdout is not None and process.stderr is not None
        for line in process.stdout:
            if b"what can you do" in line:
                break
        process.send_signal(number)
        # Its standard input stays open until it has gone: the end of that would end it as well.
        assert (process.wait(timeout=60), process.stderr.read()) == (code, b"")


def test_no_command_and_an_unknown_one_list_the_commands(tmp_path: Path):
    for words in ([], ["nonsense"]):
        done = subprocess.run([*POLLUX, *words], capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "demo" in done.stderr


def test_the_version_is_told_without_opening_the_engine(tmp_path: Path):
    told = "import sys; from pollux.cli import main; main(['version']); print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "False"


def _environment() -> dict[str, str]:
    """Without the keys of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("GEMINI_", "GOOGLE_", "POLLUX_"))}
