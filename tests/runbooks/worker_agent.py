"""An agent over ACP that does what each line of its prompt says: a plain program, without Pollux and without an SDK.

say TEXT          a piece of its answer
append FILE TEXT  asks for leave, and then writes by itself
claim FILE JSON   the same, with this as what it says it will do
vague FILE TEXT   the same, and calls it neither a file nor a command
peek FILE         reads by itself, and asks nobody
write FILE TEXT   has the client write it
read FILE         has the client read it, and says what it read
run COMMAND       has the client run it, and says what it put out
with NAME=VALUE COMMAND   the same with a variable set
in PATH COMMAND           the same in another directory
line COMMAND              the same as one text, without a shell of its own
twice FILE        asks for leave to read, then, under the same id, to delete; says what it was told of the latter
disguise FILE     has the client write it, and asks for leave under the name that this may have; says what it was told
edit FILE TEXT    asks for leave to write this, and then has the client write it
cheat FILE TEXT   the same, but has another text written
rename FILE TEXT  asks under one id, writes by itself, and tells of it under another, as Qwen Code does
quit FILE         asks for leave, and ends as cancelled where it is refused, as Codex does
hang              says nothing any more
"""

import json
import os
import sys
import time
from typing import Any

OPTIONS = [
    {"optionId": "yes-please", "name": "Yes", "kind": "allow_once"},
    {"optionId": "for-ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "no-way", "name": "No", "kind": "reject_once"},
]
_numbers = iter(range(1, 10_000))
servers: list[dict[str, Any]] = []


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def hear() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def tell(update: dict[str, Any]) -> None:
    send({"method": "session/update", "params": {"sessionId": "s", "update": update}})


def say(text: str) -> None:
    tell({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})


def ask(method: str, **params: Any) -> dict[str, Any]:
    """Ask the client, and wait for its answer. What else comes meanwhile is a cancel: it ends us."""
    number = f"q{next(_numbers)}"
    send({"id": number, "method": method, "params": {"sessionId": "s", **params}})
    while True:
        answer = hear()
        if answer.get("id") == number:
            return answer
        if answer.get("method") == "session/cancel":
            sys.exit(0)


def permission(call: str, title: str, kind: str) -> str:
    """Ask for leave, and do not wait."""
    number = f"q{next(_numbers)}"
    told = {"toolCallId": call, "title": title, "kind": kind}
    params = {"sessionId": "s", "toolCall": told, "options": OPTIONS}
    send({"id": number, "method": "session/request_permission", "params": params})
    return number


def act(order: str, rest: str, cwd: str) -> str:
    first, _, more = rest.partition(" ")
    path = os.path.join(cwd, first)
    if order == "say":
        say(rest + "\n")
    elif order in ("append", "claim", "vague"):
        call = f"c{next(_numbers)}"
        said = json.loads(more) if order == "claim" else {"path": first}
        kind = "other" if order == "vague" else "edit"
        told = {"toolCallId": call, "title": f"Append to {first}", "kind": kind, "rawInput": said}
        answer = ask("session/request_permission", toolCall=told, options=OPTIONS)
        outcome = answer.get("result", {}).get("outcome", {})
        if outcome.get("optionId") == "yes-please":
            with open(path, "a") as file:
                file.write(more + "\n")
            tell({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed"})
        else:
            say(f"not allowed: {outcome}\n")
    elif order in ("edit", "cheat", "rename", "quit"):
        call = f"c{next(_numbers)}"
        diff = {"type": "diff", "path": path, "oldText": None, "newText": more}
        told = {"toolCallId": call, "title": f"Write {first}", "kind": "edit", "content": [diff]}
        answer = ask("session/request_permission", toolCall=told, options=OPTIONS)
        if answer.get("result", {}).get("outcome", {}).get("optionId") != "yes-please":
            say("not allowed\n")
            return "cancelled" if order == "quit" else "end_turn"
        if order == "rename":
            with open(path, "a") as file:
                file.write(more)
            done = {**told, "toolCallId": f"other-{call}", "status": "completed"}
            tell({"sessionUpdate": "tool_call", **done})
            return "end_turn"
        ask("fs/write_text_file", path=path, content=more if order == "edit" else more + "!")
        tell({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed"})
    elif order == "peek":
        told = {"toolCallId": f"c{next(_numbers)}", "title": f"Read {first}", "kind": "read", "status": "completed"}
        tell({"sessionUpdate": "tool_call", **told})
    elif order == "write":
        answer = ask("fs/write_text_file", path=path, content=more)
        say(f"written: {answer.get('error', {}).get('message', 'yes')}\n")
    elif order == "read":
        answer = ask("fs/read_text_file", path=path)
        say(answer.get("result", {}).get("content") or f"no: {answer.get('error', {}).get('message')}")
    elif order in ("run", "with", "in", "line"):
        name, _, value = first.partition("=")
        env = [{"name": name, "value": value}] if order == "with" else []
        words = ["-c", rest if order == "run" else more]
        program, words = (rest, []) if order == "line" else ("/bin/sh", words)
        made = ask("terminal/create", command=program, args=words, env=env, cwd=first if order == "in" else cwd)
        if "error" in made:
            say(f"no: {made['error']['message']}\n")
            return "end_turn"
        terminal = made["result"]["terminalId"]
        ask("terminal/wait_for_exit", terminalId=terminal)
        say(ask("terminal/output", terminalId=terminal)["result"]["output"])
        ask("terminal/release", terminalId=terminal)
    elif order == "servers":
        say("".join(f"{server['name']}\n" for server in servers))
    elif order in ("twice", "disguise"):
        call = "c0" if order == "twice" else "agent_write_file#1"
        if order == "twice":
            permission(call, f"Look at {first}", "other")
        else:
            send({"id": "w", "method": "fs/write_text_file", "params": {"sessionId": "s", "path": path, "content": ""}})
        number = permission(call, f"Remove {first}", "other")
        while (answer := hear()).get("id") != number:
            pass
        say(f"{answer.get('result', {}).get('outcome')}\n")
    elif order == "hang":
        time.sleep(600)
    return "end_turn"


def main() -> None:
    cwd = ""
    while True:
        message = hear()
        match message.get("method"):
            case "initialize":
                send(
                    {
                        "id": message["id"],
                        "result": {"protocolVersion": 1, "agentInfo": {"name": "worker", "version": "1"}},
                    }
                )
            case "session/new":
                cwd = message["params"]["cwd"]
                servers.extend(message["params"]["mcpServers"])
                send({"id": message["id"], "result": {"sessionId": "s"}})
            case "session/prompt":
                stop = "end_turn"
                for line in message["params"]["prompt"][0]["text"].splitlines():
                    order, _, rest = line.strip().partition(" ")
                    if (stop := act(order, rest, cwd)) != "end_turn":
                        break
                send(
                    {
                        "id": message["id"],
                        "result": {
                            "stopReason": stop,
                            "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7},
                        },
                    }
                )
            case _:
                pass


main()
