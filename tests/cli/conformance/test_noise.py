"""Whoever else prints, standard output holds what its contract says and nothing else."""

from pathlib import Path

import pytest
from tests.cli.conformance.suite import told
from tests.cli.programs import FORMATS, Place, keys

from pollux.emulator import Emulator

# Prints in every way there is: when it is imported, when the work begins, from a thread all the while, and at the end.
LIBRARY = """
import asyncio, atexit, ctypes, os, subprocess, sys, threading, time

def make_noise():
    print("NOISE by print")
    sys.stdout.write("NOISE by write\\n")
    sys.stdout.flush()
    sys.__stdout__.write("NOISE by the original\\n")
    sys.__stdout__.flush()
    os.write(1, b"NOISE by the descriptor\\n")
    subprocess.run(["echo", "NOISE by a child"])
    ctypes.CDLL(None).puts(b"NOISE by C")

def go_on():
    while True:
        os.write(1, b"NOISE by a thread\\n")
        time.sleep(0.001)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "pollux.cli.answer":
            make_noise()

run = asyncio.run

def noisy_run(work, **options):
    make_noise()
    threading.Thread(target=go_on, daemon=True).start()
    return run(work, **options)

asyncio.run = noisy_run
sys.meta_path.insert(0, Finder())
atexit.register(make_noise)
"""


@pytest.mark.parametrize("format_", FORMATS)
def test_a_library_that_prints_is_heard_on_stderr_only(tmp_path: Path, emulator: Emulator, format_: str):
    (tmp_path / "sitecustomize.py").write_text(LIBRARY)
    place = Place(tmp_path, **keys(emulator.url), PYTHONPATH=str(tmp_path))
    ended = place.run('call glob {"pattern": "*"}', "--output-format", format_)
    assert b"NOISE" not in ended.stdout
    assert told(ended, format_).text.startswith("glob returned")
    for way in ("print", "write", "the original", "the descriptor", "a child", "C", "a thread"):
        assert f"NOISE by {way}" in ended.talk
