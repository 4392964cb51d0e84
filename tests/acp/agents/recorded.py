"""Plays an agent's side of a recorded conversation: the lines around one of its prompts, in answer to our requests.

Arguments: the recording, and the number of the prompt. What it is answered is held against the recording; where that
differs it says so on stderr and ends.
"""

import json
import sys
from pathlib import Path
from typing import Any

Entry = dict[str, Any]
OPENS = ("session/new", "session/load")


def stretches(path: Path) -> list[list[Entry]]:
    """The recording, cut before each request of the client's."""
    found: list[list[Entry]] = []
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        if entry["dir"] == "exit":
            break
        if entry["dir"] == "client->agent" and "id" in entry["msg"] and "method" in entry["msg"]:
            found.append([])
        found[-1].append(entry)
    return found


def method_of(stretch: list[Entry]) -> str:
    return stretch[0]["msg"]["method"]


def around_prompt(path: Path, number: int) -> list[list[Entry]]:
    """How it began, the session that was opened last before the prompt, and the prompt."""
    all_of_them = stretches(path)
    at = [index for index, each in enumerate(all_of_them) if method_of(each) == "session/prompt"][number]
    opened = max(index for index in range(at) if method_of(all_of_them[index]) in OPENS)
    return [all_of_them[0], all_of_them[opened], all_of_them[at]]


def play(stretch: list[Entry]) -> None:
    asked = stretch[0]["msg"]
    request = hear()
    expect(request["method"], asked["method"])
    replies = {entry["msg"]["id"]: entry["msg"] for entry in stretch[1:] if is_reply_of_client(entry)}
    for entry in stretch[1:]:
        message = entry["msg"]
        if entry["dir"] == "client->agent":
            if message.get("method") == "session/cancel":
                expect(hear()["method"], "session/cancel")
        elif "method" in message:
            say(message)
            if "id" in message:
                reply = hear()
                expect(reply["id"], message["id"])
                if message["method"] == "session/request_permission" and message["id"] in replies:
                    expect(reply.get("result"), replies[message["id"]]["result"])
        else:
            expect(message["id"], asked["id"])
            say({**message, "id": request["id"]})


def is_reply_of_client(entry: Entry) -> bool:
    return entry["dir"] == "client->agent" and "method" not in entry["msg"]


def say(message: Entry) -> None:
    # In one piece with what follows, so that nobody takes the pauses of a slow machine for the end of a replay.
    sys.stdout.write(json.dumps(message) + "\n")


def hear() -> Entry:
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def expect(found: object, wanted: object) -> None:
    if found != wanted:
        sys.exit(f"expected {wanted!r}, found {found!r}")


if __name__ == "__main__":
    for stretch in around_prompt(Path(sys.argv[1]), int(sys.argv[2])):
        play(stretch)
    while True:
        hear()
