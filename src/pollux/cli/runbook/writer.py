"""What `pollux runbook run` writes on standard output: progress for people, or a line of JSON for every event."""

import json
from typing import Any, Protocol

from pollux.cli.masking import Mask
from pollux.cli.outlet import Outlet
from pollux.cli.shown import shown
from pollux.core.run import CUT_SHORT, INCOMPLETE, Run
from pollux.runbooks.told import Told
from pollux.wire.breaks import json_line

WAITING = 3


class RunbookWriter(Protocol):
    """One format. The last three write the last line; their result is the exit code."""

    def read(self, told: Told) -> None: ...

    def result(self, run: Run) -> int: ...

    def waiting(self, run: Run, questions: list[Told]) -> int: ...

    def fail(self, code: str, message: str, run_id: str, exit_code: int) -> int: ...


def writer_for(format_: str, outlet: Outlet, mask: Mask) -> RunbookWriter:
    return StreamWriter(outlet, mask) if format_ == "stream-json" else TextWriter(outlet, mask)


class StreamWriter:
    """A line of JSON for every event, then one that tells how it ended."""

    def __init__(self, outlet: Outlet, mask: Mask) -> None:
        self._outlet = outlet
        self._mask = mask

    def read(self, told: Told) -> None:
        self._line(told)

    def result(self, run: Run) -> int:
        self._line({"type": "result", "result": run.text, "status": "completed", **_about(run)})
        return 0

    def waiting(self, run: Run, questions: list[Told]) -> int:
        waits = [{"id": each["approvalId"], **{name: each[name] for name in _QUESTION}} for each in questions]
        told = {"type": "result", "result": run.text, "status": "awaiting_confirmation", **_about(run)}
        self._line({**told, "approvals": waits})
        return WAITING

    def fail(self, code: str, message: str, run_id: str, exit_code: int) -> int:
        self._line({"type": "error", "error": message or code, "code": code, **({"runId": run_id} if run_id else {})})
        return exit_code

    def _line(self, told: dict[str, Any]) -> None:
        text = json.dumps(self._mask.value(told), ensure_ascii=False, separators=(",", ":"))
        self._outlet.write(json_line(text.encode("utf-8", "replace")))


_QUESTION = ("args", "argsHash", "reason", "preview", "expiresAt")


def _about(run: Run) -> dict[str, Any]:
    usage = {"input": run.usage.input, "output": run.usage.output, "total": run.usage.total}
    return {"runId": run.id, "sessionId": run.thread_id, "usage": usage}


class TextWriter:
    """Progress as it happens: every block with its output beneath it."""

    def __init__(self, outlet: Outlet, mask: Mask) -> None:
        self._outlet = outlet
        self._mask = mask
        self._at_line_start = True
        self._stopped = ""
        """The block that did not succeed."""

    def read(self, told: Told) -> None:
        data = told["data"]
        inset = "  " if "within" in data else ""
        match told["type"]:
            case "runbookStarted":
                self._say(f"{inset}{data['name'] or 'runbook'}  {data['runId']}")
            case "blockStarted":
                self._say(f"{inset}▶ {data['name'] or data['blockType']} ({data['blockType']})")
            case "blockOutput":
                self._output(data)
            case "blockFinished":
                mark = "✓" if data["success"] else "✗"
                tail = "" if data["success"] else f": {data['error']}"
                self._say(f"{inset}{mark} {data['name'] or data['blockType']}  {data['seconds']:.1f} s{tail}")
                if data["object"].get("incomplete"):
                    self._say(f"{inset}  {CUT_SHORT if data['object']['cut'] else INCOMPLETE}")
                self._stopped = "" if data["success"] or inset else data["blockId"]
            case "agentToolObserved":
                self._say(f"{inset}  · {data['title']} ({data['status']}, not asked about)")
            case "blockApprovalRequired" | "agentToolApprovalRequired":
                self._ask(data, inset)
            case "blockApprovalResponse" | "agentToolApprovalResponse":
                word = "approved" if data["approved"] else "rejected"
                said = f"{word} by {data['by']}" if data["by"] else "denied: nobody answered in time"
                self._say(f"{inset}  {said}")
            case _:
                pass

    def result(self, run: Run) -> int:
        self._say(run.text)
        return 0

    def waiting(self, run: Run, questions: list[Told]) -> int:
        self._say(f"Waiting for approval. Then: pollux runbook resume {run.id}")
        return WAITING

    def fail(self, code: str, message: str, run_id: str, exit_code: int) -> int:
        self._say(f"{code}: {message}" if message else code)
        if run_id:
            how = f" --retry {self._stopped}, or --skip {self._stopped}" if self._stopped else ""
            self._say(f"To go on: pollux runbook resume {run_id}{how}")
        return exit_code

    def _ask(self, data: Told, inset: str) -> None:
        about = data.get("name") or data.get("toolName") or "a block"
        self._say(f"{inset}? {about} needs approval: {data['reason']}")
        for line in data["preview"].splitlines():
            self._say(f"{inset}    {line}")

    def _output(self, data: Told) -> None:
        # At a terminal, lines end so: a `terminal` block has one of its own.
        said = (data.get("stdout") or data.get("stderr") or "").replace("\r\n", "\n")
        text = shown(self._mask.text(said))
        for line in text.splitlines(keepends=True):
            if self._at_line_start:
                self._write("  │ ")
            self._write(line)
            self._at_line_start = line.endswith("\n")

    def _say(self, text: str) -> None:
        if not self._at_line_start:
            self._write("\n")
        self._at_line_start = True
        self._write(f"{shown(self._mask.text(text), lines=False)}\n")

    def _write(self, text: str) -> None:
        self._outlet.write(text.encode("utf-8", "replace"))
