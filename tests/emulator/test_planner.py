"""The demo model's rules as a table: a prompt and tools in, calls out."""

import time
from typing import Any

import pytest

from pollux.emulator.model import Ask, Call, Result, Tool
from pollux.emulator.planner.plan import plan

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
TEXTS = {"type": "array", "items": TEXT}


def tool(name: str, description: str, required: dict[str, Any], **optional: Any) -> Tool:
    schema = {"type": "object", "properties": required | optional, "required": list(required)}
    return Tool(name, description, schema)


MOMENT = {"type": "string", "format": "date-time"}
TOOLS = (
    tool("add", "Add two numbers", {"a": NUMBER, "b": NUMBER}),
    tool("multiply", "Multiply two numbers", {"a": NUMBER, "b": NUMBER}),
    tool("demo_mail", "Send a mail", {"to": TEXT, "subject": TEXT, "body": TEXT}),
    tool("read_file", "Read a file", {"path": TEXT}),
    tool("write_file", "Write a file", {"path": TEXT, "content": TEXT}),
    tool("list_directory", "List a directory", {"path": TEXT}),
    tool("shell", "Run a shell command", {"command": TEXT}),
    tool("get_weather", "Current weather in a city", {"city": TEXT}, units={"enum": ["celsius", "fahrenheit"]}),
    tool("search", "Search files for a pattern", {"pattern": TEXT}, path=TEXT),
    tool("replace", "Replace text in a file", {"path": TEXT, "old": TEXT, "new": TEXT}),
    tool(
        "calendar_event_create",
        "Create a calendar event",
        {"title": TEXT, "start": MOMENT, "end": MOMENT},
        attendees=TEXTS,
        location=TEXT,
    ),
    tool("click", "Click an element", {"ref": {"enum": ["save-button", "cancel-button"]}}),
    tool("set_light", "Switch a light", {"room": TEXT, "on": {"type": "boolean"}}, level={"type": "integer"}),
    tool("fetch_url", "Fetch a web page", {"url": TEXT}),
    tool("ping", "Check that the service answers", {}),
)
GMAIL = (tool("gmail_send", "Send an email", {"to": TEXTS, "subject": TEXT, "body": TEXT}, cc=TEXTS, bcc=TEXTS),)


def mail(to: str, subject: str, body: str) -> tuple[str, dict[str, Any]]:
    return "demo_mail", {"to": to, "subject": subject, "body": body}


ROWS: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
    ("add 2 and 3", [("add", {"a": 2, "b": 3})]),
    ("Add 2.5 and -3.", [("add", {"a": 2.5, "b": -3})]),
    ("what is 2 + 3", [("add", {"a": 2, "b": 3})]),
    ("What is the sum of 10 and 20?", [("add", {"a": 10, "b": 20})]),
    ("What is 4 times 5?", [("multiply", {"a": 4, "b": 5})]),
    ("multiply 2.5 by 4", [("multiply", {"a": 2.5, "b": 4})]),
    ("add 2 and 3 and multiply 4 by 5", [("add", {"a": 2, "b": 3}), ("multiply", {"a": 4, "b": 5})]),
    ("add two numbers", [("add", {"a": 1, "b": 2})]),
    ("email Bob the report", [mail("bob@example.com", "Report", "Here is the report.")]),
    ("Send the report to Bob", [mail("bob@example.com", "Report", "Here is the report.")]),
    ("send an email to bob@example.com saying hello", [mail("bob@example.com", "Hello", "hello")]),
    ("email ann@example.com about lunch saying see you at noon", [mail("ann@example.com", "lunch", "see you at noon")]),
    ('mail bob@example.com with subject "Hi" and body "How are you?"', [mail("bob@example.com", "Hi", "How are you?")]),
    ("please email Bob that the meeting moved", [mail("bob@example.com", "Meeting moved", "the meeting moved")]),
    (
        "email bob@example.com saying read the notes and list the tasks",
        [mail("bob@example.com", "Notes", "read the notes and list the tasks")],
    ),
    ("read the file notes.txt", [("read_file", {"path": "notes.txt"})]),
    ("Read src/a.py and src/b.py", [("read_file", {"path": "src/a.py"}), ("read_file", {"path": "src/b.py"})]),
    ("show me notes.txt", [("read_file", {"path": "notes.txt"})]),
    ("open ./README.md please", [("read_file", {"path": "./README.md"})]),
    ("read /etc/passwd", [("read_file", {"path": "/etc/passwd"})]),
    ('write "hello" to out.txt', [("write_file", {"path": "out.txt", "content": "hello"})]),
    ("Write hello world into greeting.txt", [("write_file", {"path": "greeting.txt", "content": "hello world"})]),
    (
        "create a file called todo.md with the text buy milk",
        [("write_file", {"path": "todo.md", "content": "buy milk"})],
    ),
    (
        "save the file notes.txt with the content buy milk",
        [("write_file", {"path": "notes.txt", "content": "buy milk"})],
    ),
    ("list the directory src", [("list_directory", {"path": "src"})]),
    ("list files in .", [("list_directory", {"path": "."})]),
    ("run `ls -la`", [("shell", {"command": "ls -la"})]),
    ("run ls -la", [("shell", {"command": "ls -la"})]),
    ("execute the command `git status`", [("shell", {"command": "git status"})]),
    ("what is the weather in Paris", [("get_weather", {"city": "Paris"})]),
    (
        "what is the weather in Paris and in Rome",
        [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"})],
    ),
    ("What's the weather in New York?", [("get_weather", {"city": "New York"})]),
    ("weather in Oslo in fahrenheit", [("get_weather", {"city": "Oslo", "units": "fahrenheit"})]),
    (
        "weather in Paris, Rome and Oslo",
        [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"}), ("get_weather", {"city": "Oslo"})],
    ),
    ("search for TODO in src/", [("search", {"pattern": "TODO", "path": "src/"})]),
    ('search for "foo bar"', [("search", {"pattern": "foo bar"})]),
    ('replace "cat" with "dog" in pets.txt', [("replace", {"path": "pets.txt", "old": "cat", "new": "dog"})]),
    (
        "schedule a meeting titled Planning on 2026-03-01T10:00:00Z with Bob",
        [
            (
                "calendar_event_create",
                {
                    "title": "Planning",
                    "start": "2026-03-01T10:00:00Z",
                    "end": "2026-03-01T11:00:00Z",
                    "attendees": ["bob@example.com"],
                },
            )
        ],
    ),
    ("click the save button", [("click", {"ref": "save-button"})]),
    ("click cancel-button", [("click", {"ref": "cancel-button"})]),
    ('set light in the room "kitchen" on', [("set_light", {"room": "kitchen", "on": True})]),
    ('set light in the room "kitchen" to level 40', [("set_light", {"room": "kitchen", "on": False, "level": 40})]),
    ("fetch https://example.com/a?b=1", [("fetch_url", {"url": "https://example.com/a?b=1"})]),
    ("ping the service", [("ping", {})]),
    (
        "read notes.txt and list the directory src",
        [("read_file", {"path": "notes.txt"}), ("list_directory", {"path": "src"})],
    ),
    ('call add {"a": 7, "b": 8}', [("add", {"a": 7, "b": 8})]),
    ('call add {"a": 1, "b": 2} call ping {}', [("add", {"a": 1, "b": 2}), ("ping", {})]),
    ('please call add {"a": "not a number"}', [("add", {"a": "not a number"})]),
    ("hello", []),
    ("what can you do?", []),
    ("who are you", []),
    ("tell me a joke", []),
    ("what is the capital of France?", []),
    ("thanks", []),
]


@pytest.mark.parametrize(("prompt", "calls"), ROWS, ids=[row[0] for row in ROWS])
def test_a_prompt_becomes_these_calls(prompt: str, calls: list[tuple[str, dict[str, Any]]]):
    reply = plan(Ask("gemini-3.8-flash", prompt, tools=TOOLS))
    assert [(call.name, call.args) for call in reply.calls] == calls
    assert bool(reply.texts) is not bool(calls)


@pytest.mark.parametrize(
    ("prompt", "args"),
    [
        ("email Bob and Alice the report", {"to": ["bob@example.com", "alice@example.com"]}),
        (
            "email bob@example.com, cc ann@example.com about lunch saying see you",
            {"to": ["bob@example.com"], "cc": ["ann@example.com"], "subject": "lunch", "body": "see you"},
        ),
    ],
)
def test_a_list_of_recipients_is_one_call(prompt: str, args: dict[str, Any]):
    [call] = plan(Ask("gemini-3.8-flash", prompt, tools=GMAIL)).calls
    assert call.args.items() >= args.items()


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("say hi there", "hi there"),
        ('Say: "quoted, exactly."', "quoted, exactly."),
        ("repeat one two", "one two"),
        ("count to 3", "1\n2\n3"),
    ],
)
def test_some_sentences_are_taken_literally(prompt: str, words: str):
    assert plan(Ask("gemini-3.8-flash", prompt, tools=TOOLS)).text == words


def test_then_begins_the_next_round_and_results_are_told_at_the_end():
    ask = Ask("gemini-3.8-flash", 'call add {"a": 1, "b": 2} then call ping {}', tools=TOOLS)
    assert plan(ask).calls == (Call("add", {"a": 1, "b": 2}),)
    one = Ask(ask.model, ask.prompt, tools=TOOLS, rounds=((Result("add", {"result": 3}),),))
    assert plan(one).calls == (Call("ping", {}),)
    two = Ask(ask.model, ask.prompt, tools=TOOLS, rounds=(*one.rounds, (Result("ping", {}),)))
    assert plan(two).text == "add returned 3\nping returned nothing"


def test_plain_words_can_have_rounds_too():
    ask = Ask("gemini-3.8-flash", "read notes.txt then email Bob the report", tools=TOOLS)
    later = Ask(ask.model, ask.prompt, tools=TOOLS, rounds=((Result("read_file", {"content": "x"}),),))
    assert [call.name for call in plan(ask).calls] == ["read_file"]
    assert [call.name for call in plan(later).calls] == ["demo_mail"]


@pytest.mark.parametrize(
    ("response", "told"),
    [
        ({"result": 5}, "add returned 5"),
        ({"output": "fine"}, "add returned fine"),
        ({"a": 1, "b": [2]}, 'add returned {"a": 1, "b": [2]}'),
        ({"error": "no such file"}, "add failed: no such file"),
        ({"error": {"code": "x", "message": "broke"}}, "add failed: broke"),
        ({"error": "rejected by alice: too soon"}, "add was rejected: rejected by alice: too soon"),
        ({"status": "rejected", "feedback": "no"}, 'add was rejected: {"status": "rejected", "feedback": "no"}'),
        ({"content": "The bill was rejected."}, "add returned The bill was rejected."),
        ({}, "add returned nothing"),
    ],
)
def test_results_are_told_plainly(response: dict[str, Any], told: str):
    ask = Ask("gemini-3.8-flash", "add 2 and 3", tools=TOOLS, rounds=((Result("add", response),),))
    assert plan(ask).text == told


def test_a_tool_nobody_declared_ends_the_answer():
    reply = plan(Ask("gemini-3.8-flash", "call launch {}", tools=TOOLS))
    assert (reply.finish, reply.calls, reply.texts) == ("UNEXPECTED_TOOL_CALL", (), ())
    assert reply.message is not None and "`launch`" in reply.message


def test_no_tool_is_called_when_none_may_be():
    assert plan(Ask("gemini-3.8-flash", "add 2 and 3", tools=TOOLS, mode="none")).calls == ()


def test_a_tool_is_called_when_one_must_be():
    allowed = frozenset(["ping"])
    assert plan(Ask("gemini-3.8-flash", "hello", tools=TOOLS, mode="any", allowed=allowed)).calls == (Call("ping", {}),)


def test_an_answer_is_cut_at_the_token_limit_and_at_stop_words():
    short = plan(Ask("gemini-3.8-flash", "count to 100", max_tokens=3))
    stopped = plan(Ask("gemini-3.8-flash", "say one two STOP three", stops=("STOP",)))
    assert (short.text, short.finish) == ("1\n2", "MAX_TOKENS")
    assert (stopped.text, stopped.finish) == ("one two ", "STOP")


def test_calls_that_do_not_fit_the_token_limit_are_not_made():
    reply = plan(Ask("gemini-3.8-flash", "add 2 and 3", tools=TOOLS, max_tokens=2))
    assert (reply.calls, reply.finish) == ((), "MAX_TOKENS")


def test_it_says_who_it_is_and_what_it_could_call():
    text = plan(Ask("gemini-3.8-flash", "who are you", tools=TOOLS[:2])).text
    assert "demo model, rule-based" in text and "add: Add two numbers" in text


@pytest.mark.parametrize("filler", ["x", "a/b ", "read it and ", '"', "then "])
def test_a_very_long_prompt_is_answered_in_good_time(filler: str):
    began = time.process_time()
    plan(Ask("gemini-3.8-flash", "read notes.txt " + filler * 100_000, tools=TOOLS))
    assert time.process_time() - began < 3
