"""The story, the same for all: a mail waits for an approval, and the process that sends it is killed, or has a twin.

What counts is the outbox: how many lines it has when everything has ended.
"""

import signal
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from frameworks import PATIENCE, Framework, NotRun, environ, result_of

SENDING_SECONDS = 2.0


def crash(framework: Framework, base: str) -> dict[str, Any]:
    """Ask; say yes, and die by SIGKILL once the line is on the disk; go on in a new process."""
    with TemporaryDirectory() as folder:
        ticket = framework.do(base=base, folder=folder, verb="ask")["ticket"]
        _expect(folder, 0, "before anybody approved")
        died = framework.do(base=base, folder=folder, verb="approve", ticket=ticket, die=True)
        if died["code"] != -signal.SIGKILL:
            raise NotRun(f"the approving process ended with {died['code']} before it sent anything")
        _expect(folder, 1, "when the process died")
        ended = framework.do(base=base, folder=folder, verb="resume", ticket=ticket)["ended"]
        return {"mails": _mails(folder), "ended": [ended]}


def twins(framework: Framework, base: str, *, apart: bool = False) -> dict[str, Any]:
    """Ask; then two processes, both ready, say yes to it: at once, or the second while the first is sending."""
    with TemporaryDirectory() as folder:
        ticket = framework.do(base=base, folder=folder, verb="ask")["ticket"]
        job = {"base": base, "folder": folder, "verb": "approve", "ticket": ticket, "together": True}
        command = framework.command({**job, "sending": SENDING_SECONDS})
        both = [_start(command, folder) for _ in range(2)]
        try:
            for process in both:
                _wait_ready(process)
            for process in both:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
                if apart and process is both[0]:
                    _wait_sending(process, Path(folder) / "sending")
            ended = [result_of(*process.communicate(timeout=PATIENCE))["ended"] for process in both]
        finally:
            for process in both:
                process.kill()
                process.wait()
        return {"mails": _mails(folder), "ended": sorted(ended)}


def _start(command: list[str], home: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environ(home), stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def _wait_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None and process.stderr is not None
    for line in process.stdout:
        if line.strip() == "READY":
            return
    raise NotRun((process.stderr.read().strip().splitlines() or ["it said nothing"])[-1][:300])


def _wait_sending(process: subprocess.Popen[str], marker: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not marker.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise NotRun("the first of two approvals sent nothing")
        time.sleep(0.01)


def _mails(folder: str) -> int:
    outbox = Path(folder) / "outbox"
    return len(outbox.read_text().splitlines()) if outbox.exists() else 0


def _expect(folder: str, mails: int, when: str) -> None:
    """The story is told as it is meant, or not at all."""
    if _mails(folder) != mails:
        raise NotRun(f"{_mails(folder)} mails {when}, not {mails}")
