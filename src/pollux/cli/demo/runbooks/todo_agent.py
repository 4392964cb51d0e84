"""A small agent that speaks the Agent Client Protocol, so that the runbook beside it works without a key.

It is no model: it counts the lines of its prompt that name a task, writes a report through the client, and says what it
found. A real agent, such as `gemini --acp`, takes its place by one line of the runbook.
"""

import itertools
import json
import os
import re
import sys
from typing import Any

TASK = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):\s*(?:[#/*-]+\s*)?TODO:?\s*(?P<what>.+)$", re.MULTILINE)
_numbers = itertools.count(1)


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def hear() -> dict[str, Any]:
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)


def ask(method: str, **params: Any) -> dict[str, Any]:
    """Ask the client for something that only it can do, and wait."""
    number = f"todo-{next(_numbers)}"
    send(id=number, method=method, params={"sessionId": "todo", **params})
    while (answer := hear()).get("id") != number:
        pass
    return answer


def say(text: str) -> None:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": "todo", "update": chunk})


def report(prompt: str, cwd: str) -> None:
    tasks = [found.groupdict() for found in TASK.finditer(prompt)]
    rows = "".join(f"- {task['what']} ({task['file']}, line {task['line']})\n" for task in tasks)
    answer = ask("fs/write_text_file", path=os.path.join(cwd, "report.md"), content=f"# To do\n\n{rows}")
    written = "The report is in report.md." if "result" in answer else "I was not allowed to write the report."
    say(f"{len(tasks)} tasks are open. {written}\n")


def main() -> None:
    cwd = ""
    while True:
        message = hear()
        match message.get("method"):
            case "initialize":
                about = {"name": "todo-agent", "version": "1.0"}
                send(id=message["id"], result={"protocolVersion": 1, "agentInfo": about})
            case "session/new":
                cwd = message["params"]["cwd"]
                send(id=message["id"], result={"sessionId": "todo"})
            case "session/prompt":
                report("".join(part.get("text", "") for part in message["params"]["prompt"]), cwd)
                send(id=message["id"], result={"stopReason": "end_turn"})
            case _:
                pass


if __name__ == "__main__":
    main()
