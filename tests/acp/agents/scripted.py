"""An agent that does as it is told: the name of a way to behave is its first argument, and some take more.

A plain program without Pollux and without the SDK: it writes lines that no library would.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

SESSION = "s1"
Message = dict[str, Any]


def say(*messages: Message) -> None:
    """All of them in one piece."""
    raw("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages))


def raw(text: str | bytes) -> None:
    sys.stdout.buffer.write(text.encode() if isinstance(text, str) else text)
    sys.stdout.buffer.flush()


def heard() -> Iterator[Message]:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if log := os.environ.get("HEARD"):
            with open(log, "ab") as file:
                file.write(line)
        yield message


inbox = heard()


def hear(method: str | None = None) -> Message:
    """The next message; or the next one of this method, whatever comes before it. Ends when the input does."""
    for message in inbox:
        if method is None or message.get("method") == method:
            return message
    sys.exit(0)


def answer(message: Message, result: Any) -> None:
    say({"id": message["id"], "result": result})


def refuse(message: Message, code: int, text: str, data: Any = None) -> None:
    say({"id": message["id"], "error": {"code": code, "message": text, "data": data}})


def update(what: str, /, session: str = SESSION, **fields: Any) -> None:
    say(made_update(what, session, **fields))


def made_update(what: str, session: str, **fields: Any) -> Message:
    return {"method": "session/update", "params": {"sessionId": session, "update": {"sessionUpdate": what, **fields}}}


def chunk(text: str, **options: Any) -> None:
    update("agent_message_chunk", content={"type": "text", "text": text}, **options)


def ask(method: str, params: Message, id: Any = 7) -> Message:
    """A request of ours, and its answer."""
    say({"id": id, "method": method, "params": {"sessionId": SESSION, **params}})
    return hear_answer(id)


def hear_answer(id: Any = 7) -> Message:
    for message in inbox:
        if message.get("id") == id and "method" not in message:
            return message
    sys.exit(0)


OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def permission(**fields: Any) -> Message:
    params: Message = {"toolCall": {"toolCallId": "c1", "title": "touch it", "kind": "execute"}, "options": OPTIONS}
    return ask("session/request_permission", params | fields)


def begin(**about: Any) -> Message:
    """Up to the prompt, which is returned."""
    capabilities = {"loadSession": True, "mcpCapabilities": {"http": False}}
    info = {"name": "scripted", "version": "1.2.3"}
    answer(hear("initialize"), {"protocolVersion": 1, "agentCapabilities": capabilities, "agentInfo": info, **about})
    answer(hear("session/new"), {"sessionId": SESSION})
    return hear("session/prompt")


def finish(prompt: Message, stop: str = "end_turn", **fields: Any) -> None:
    answer(prompt, {"stopReason": stop, **fields})
    while True:
        hear()


WAYS: dict[str, Callable[..., Any]] = {}


def way(behave: Callable[..., Any]) -> Callable[..., Any]:
    WAYS[behave.__name__] = behave
    return behave


# Ones that work.


@way
def echo() -> None:
    prompt = begin()
    chunk("You said: ")
    chunk(prompt["params"]["prompt"][0]["text"])
    finish(prompt)


@way
def everything() -> None:
    """Every kind of update, also with what agents leave out, null or invent."""
    prompt = begin()
    update("agent_thought_chunk", content={"type": "text", "text": "hm"})
    update("user_message_chunk", content={"type": "text", "text": "not the answer"})
    update("plan", entries=[{"content": "do it", "priority": "high", "status": "pending"}, "junk"])
    update("available_commands_update", availableCommands=[])
    update("current_mode_update", currentModeId="code")
    update("usage_update", used=15, size=1000, cost={"amount": 0.5, "currency": "USD"})
    update("usage_update", used=None)
    update("from_the_future", anything=1)
    update("tool_call", toolCallId="c1", title="Read it", kind="read", status="pending", rawInput={"path": "/a"})
    update("tool_call_update", toolCallId="c1", status=None, title=None, locations=[{"path": "/a"}, 3])
    diff = {"type": "diff", "path": "/a", "newText": "new"}
    update("tool_call_update", toolCallId="c1", status="completed", content=[diff, {"type": "odd"}])
    update("tool_call_update", toolCallId="c2", kind="invented", status="failed")
    update("tool_call", title="without an id")
    chunk("a")
    update("agent_message_chunk", content={"type": "image", "data": "", "mimeType": "image/png"})
    update("agent_message_chunk", content={"type": "resource", "resource": {"uri": "x:y", "text": "b"}})
    update("agent_message_chunk", content=None)
    chunk("c", session="somebody else's")
    chunk("\ud83d!\0")
    finish(prompt, "max_tokens", usage={"inputTokens": 3, "outputTokens": 4, "totalTokens": 7})


@way
def asks(*words: str) -> None:
    """Asks for permission once; the answer tells how it was answered."""
    prompt = begin()
    fields: Message = json.loads(words[0]) if words else {}
    chunk(json.dumps(permission(**fields).get("result")))
    finish(prompt)


@way
def requests(method: str, params: str, name: str = "scripted") -> None:
    """Makes one request; the answer tells how it was answered."""
    prompt = begin(agentInfo={"name": name})
    reply = ask(method, json.loads(params), id="an-id")
    chunk(json.dumps({key: reply[key] for key in ("result", "error") if key in reply}))
    finish(prompt)


@way
def terminal() -> None:
    prompt = begin()
    env = [{"name": "A", "value": "1"}]
    made = ask("terminal/create", {"command": "ls", "args": ["-l"], "env": env, "cwd": "/", "outputByteLimit": 10})
    id = {"terminalId": made["result"]["terminalId"]}
    said = [ask(f"terminal/{each}", id).get("result") for each in ("output", "wait_for_exit", "kill", "release")]
    said.append(ask("terminal/output", id)["error"]["code"])
    ask("terminal/create", {"command": "left open"})
    chunk(json.dumps(said))
    finish(prompt)


@way
def says_env() -> None:
    prompt = begin()
    chunk(json.dumps({"env": sorted(os.environ), "cwd": os.getcwd()}))
    finish(prompt)


@way
def loads() -> None:
    """Replays before and after it answers `session/load`."""
    answer(hear("initialize"), {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
    load = hear("session/load")
    session = load["params"]["sessionId"]
    chunk("replayed before ", session=session)
    # In one piece, so that nobody takes the pauses of a slow machine for the end.
    texts = [{"type": "text", "text": f"replayed after {number} "} for number in range(5)]
    replay = [made_update("agent_message_chunk", session, content=text) for text in texts]
    say({"id": load["id"], "result": {}}, *replay)
    prompt = hear("session/prompt")
    chunk("new text", session=session)
    finish(prompt)


@way
def late() -> None:
    """Goes on talking and asking when it has answered."""
    prompt = begin()
    chunk("in time")
    answer(prompt, {"stopReason": "end_turn"})
    chunk(" too late")
    reply = permission()
    say({"method": "told", "params": reply})
    while True:
        hear()


@way
def unended() -> None:
    """Its last line has no end."""
    prompt = begin()
    chunk("done")
    raw(json.dumps({"jsonrpc": "2.0", "id": prompt["id"], "result": {"stopReason": "end_turn"}}))


# Ones that refuse.


@way
def version(number: str) -> None:
    begin(protocolVersion=json.loads(number))


@way
def no_initialize() -> None:
    refuse(hear("initialize"), -32603, "Internal error", {"details": "no \x1b[31mmood\x1b[0m today"})
    hear()


@way
def auth(at: str) -> None:
    answer(hear("initialize"), {"protocolVersion": 1, "authMethods": [{"id": "k", "name": "API key"}]})
    if at == "session/prompt":
        answer(hear("session/new"), {"sessionId": SESSION})
    refuse(hear(at), -32000, "Authentication required")
    hear()


@way
def refuses(code: str, text: str) -> None:
    refuse(begin(), int(code), text)
    hear()


@way
def no_session() -> None:
    answer(hear("initialize"), {"protocolVersion": 1})
    answer(hear("session/new"), {"sessionId": None})
    hear()


@way
def no_stop_reason() -> None:
    answer(begin(), [])
    hear()


# Ones that end.


@way
def exits(code: str) -> None:
    sys.stderr.write(f"cannot go on with key {os.environ.get('KEY')}\n")
    sys.exit(int(code))


@way
def dies(at: str) -> None:
    """By kill -9, at some point."""
    if at == "session/new":
        answer(hear("initialize"), {"protocolVersion": 1})
        hear("session/new")
    else:
        begin()
        chunk("half an ans")
        if at == "permission":
            say({"id": 1, "method": "session/request_permission", "params": {"sessionId": SESSION, **_asking()}})
            time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)


def _asking() -> Message:
    return {"toolCall": {"toolCallId": "c1", "title": "touch it"}, "options": OPTIONS}


@way
def half_line() -> None:
    begin()
    raw('{"jsonrpc":"2.0","id":2,"resu')


@way
def closes_stdout() -> None:
    begin()
    os.close(1)
    stay()


@way
def closes_stdin() -> None:
    prompt = begin()
    os.close(0)
    for number in range(100):
        say({"id": number, "method": "fs/read_text_file", "params": {"sessionId": SESSION, "path": "/a"}})
    answer(prompt, {"stopReason": "end_turn"})
    stay()


# Ones that do not end.


def stay() -> None:
    while True:
        time.sleep(1000)


@way
def hangs(at: str) -> None:
    if at == "initialize":
        stay()
    if at == "session/new":
        answer(hear("initialize"), {"protocolVersion": 1})
        stay()
    begin()
    chunk("working")
    stay()


@way
def stubborn() -> None:
    """Withstands everything but KILL, and so does its child."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    begin()
    chunk("working")
    stay()


@way
def polite() -> None:
    """Stops when it is cancelled, and says so."""
    prompt = begin()
    update("tool_call", toolCallId="c1", title="slow", kind="execute", status="in_progress")
    hear("session/cancel")
    update("tool_call_update", toolCallId="c1", status="failed")
    answer(prompt, {"stopReason": "cancelled"})
    hear()


@way
def waits_for_permission() -> None:
    prompt = begin()
    reply = permission()
    chunk(json.dumps(reply.get("result")))
    finish(prompt, "cancelled")


@way
def asks_without_end(count: str) -> None:
    prompt = begin()
    for number in range(int(count)):
        say({"id": number, "method": "session/request_permission", "params": {"sessionId": SESSION, **_asking()}})
    replies = [hear() for _ in range(int(count))]
    chunk(str(sum("error" in reply for reply in replies)))
    finish(prompt)


# Ones that say too much.


@way
def floods_updates() -> None:
    begin()
    line = {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "x" * 50}}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": SESSION, "update": line}}
    lines = (json.dumps(message) + "\n").encode() * 1000
    while True:
        raw(lines)


@way
def floods_text() -> None:
    begin()
    while True:
        chunk("x" * 100_000)


@way
def floods_calls() -> None:
    begin()
    for number in range(10**9):
        update("tool_call", toolCallId=f"c{number}", title="x" * 500, rawInput={"text": "x" * 10_000})


@way
def floods_junk() -> None:
    begin()
    while True:
        raw(b"not a message\n" * 1000)


@way
def floods_requests() -> None:
    """And never reads an answer."""
    begin()
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * 5_000, "params": {}}) + "\n"
    while True:
        raw(line.encode() * 100)


@way
def floods_stderr() -> None:
    prompt = begin()
    for _ in range(50):
        os.write(2, b"noise\n" * 100_000)
    chunk("quiet again")
    finish(prompt)


@way
def floods_stderr_for_ever() -> None:
    begin()
    while True:
        os.write(2, b"noise\n" * 10_000)


@way
def giant_line(size: str) -> None:
    """A line of so many bytes, in the middle of a good answer."""
    prompt = begin()
    raw(b'{"jsonrpc":"2.0","method":"x","params":{"a":"')
    for _ in range(int(size) // 65536):
        raw(b"x" * 65536)
    raw(b'"}}\n')
    chunk("after it")
    finish(prompt)


@way
def floods_line() -> None:
    begin()
    while True:
        raw(b"x" * 65536)


# Ones that say what makes no sense.


@way
def junk() -> None:
    """Nonsense before, between and after what is needed."""
    lines = [
        "hello, I am a log line", "", "   ", "{", "[]", "null", "3", '"text"', '{"jsonrpc":"2.0"}', "\x00\x01",
        '{"jsonrpc":"1.0","method":"session/update","params":{}}', '{"method":"session/update"}',
        '{"jsonrpc":"2.0","method":3}', '{"jsonrpc":"2.0","method":"x","id":[]}',
        '{"jsonrpc":"2.0","id":{},"result":1}',
        '{"jsonrpc":"2.0","id":true,"result":{"protocolVersion":1}}', '{"jsonrpc":"2.0","id":0.0,"result":1}',
        '{"jsonrpc":"2.0","id":"0","result":{"protocolVersion":99}}', '{"jsonrpc":"2.0","id":99,"result":1}',
        '{"jsonrpc":"2.0","id":-1,"error":"x"}', '{"jsonrpc":"2.0","id":null,"result":1}',
        '{"jsonrpc":"2.0","method":"session/update"}', '{"jsonrpc":"2.0","method":"session/update","params":[1]}',
        '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":[]}}',
        '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":{}}}}',
        '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":["s1"]}}',
        '{"jsonrpc":"2.0","method":"$/unknown","params":{"x":NaN}}', '{"jsonrpc":"2.0","method":"$/unknown"}',
        '{"a":' * 5000, "[" * 100_000, '{"jsonrpc":"2.0","id":' + "9" * 10_000 + ',"result":1}',
    ]  # fmt: skip

    def nonsense() -> None:
        for line in lines:
            raw(line + "\n")
        raw(b"\xff\xfe\n")

    nonsense()
    first = hear("initialize")
    nonsense()
    answer(first, {"protocolVersion": 1})
    answer(first, {"protocolVersion": 2})
    second = hear("session/new")
    nonsense()
    answer(second, {"sessionId": SESSION})
    answer(second, {"sessionId": "another"})
    prompt = hear("session/prompt")
    nonsense()
    chunk("sense")
    odd = [ask(each, {})["error"]["code"] for each in ("unknown/method", "fs/read_text_file", "elicitation/create")]
    chunk(json.dumps(odd))
    answer(prompt, {"stopReason": "end_turn"})
    answer(prompt, {"stopReason": "refusal"})
    nonsense()
    hear()


@way
def broken_answer(at: str, result: str) -> None:
    """Answers with what is no JSON, and then waits for whatever comes."""
    request = hear("initialize")
    for method in ("session/new", "session/prompt"):
        if at == request["method"]:
            break
        answer(request, {"protocolVersion": 1, "sessionId": SESSION})
        request = hear(method)
    raw(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{result}}}\n')
    stay()


@way
def broken_words() -> None:
    """Broken messages, none of which is an answer, and then a good one."""
    prompt = begin()
    id = prompt["id"]
    raw(f'{{"jsonrpc":"2.0","id":{id},"method":"session/update","params":{{"result":NaN}}}}\n')
    raw(f'{{"jsonrpc":"2.0","id":{id + 1},"result":NaN}}\n')
    raw(f'{{"id":{id},"result":NaN}}\n')
    raw(f'log: {{"jsonrpc":"2.0","id":{id},"result":NaN}}\n')
    chunk("unharmed")
    finish(prompt)


@way
def wrong_ids() -> None:
    """Answers, but never to what it was asked."""
    first = hear("initialize")
    for id in (str(first["id"]), first["id"] + 1, None, True, [first["id"]]):
        say({"id": id, "result": {"protocolVersion": 1}})
    stay()


@way
def deep() -> None:
    prompt = begin()
    value: Any = "bottom"
    for _ in range(300):
        value = {"a": value}
    reply = permission(toolCall={"toolCallId": "c1", "rawInput": value})
    chunk(json.dumps(reply["result"]))
    finish(prompt)


if __name__ == "__main__":
    WAYS[sys.argv[1]](*sys.argv[2:])
