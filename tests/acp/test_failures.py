"""Agents that misbehave: each comes to a typed failure or a clean answer, and nothing of it is left."""

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest
from tests.acp.talking import ALL, Notes, all_closed, descriptors, failure, talk
from tests.tools.shell.living import living, new_mark
from tests.waiting import HANG_SECONDS

from pollux.acp import AgentCommand, AgentFailed, FailureKind, Limits, conversation, converse

# What the agent does, how it fails, and what the text says of it.
FAILURES: dict[str, tuple[tuple[str, ...], FailureKind, str]] = {
    "speaks a newer version": (("version", "2"), "initialize", "version 2 of the protocol, expected 1"),
    "speaks no version": (("version", "null"), "initialize", "version None"),
    "speaks version true": (("version", "true"), "initialize", "version True"),
    "refuses to begin": (("no_initialize",), "initialize", "refused initialize: Internal error: no [31mmood [0m today"),
    "wants a login for a session": (("auth", "session/new"), "auth", "(it knows: API key)"),
    "wants a login for an answer": (("auth", "session/prompt"), "auth", "Log in with the agent's own program once"),
    "refuses the prompt": (("refuses", "-32603", "no such model"), "refused", "session/prompt: no such model (-32603)"),
    "refuses without a word": (("refuses", "1", ""), "refused", "no reason given"),
    "says that it was cancelled": (("refuses", "-32800", "x"), "cancelled", "session/prompt was cancelled"),
    "gives no session": (("no_session",), "protocol", "no sessionId"),
    "gives no stop reason": (("no_stop_reason",), "protocol", "no stopReason"),
    "ends at once": (("exits", "3"), "crash", "ended with exit code 3 while it should introduce itself"),
    "ends well, but early": (("exits", "0"), "crash", "ended with exit code 0"),
    "dies in session/new": (("dies", "session/new"), "crash", "was ended by SIGKILL while it should open a session"),
    "dies in its answer": (("dies", "prompt"), "crash", "was ended by SIGKILL while it should answer"),
    "dies while it asks": (("dies", "permission"), "crash", "was ended by SIGKILL while it should answer"),
    "ends in half a line": (("half_line",), "crash", "ended with exit code 0 while it should answer"),
    "closes its output and lives": (("closes_stdout",), "crash", "closed its output while it should answer"),
    "introduces itself in what is no JSON": (
        ("broken_answer", "initialize", '{"protocolVersion":NaN}'),
        "protocol",
        "answer to initialize cannot be read",
    ),
    "opens a session in half a line": (
        ("broken_answer", "session/new", '{"sessionId":"s'),
        "protocol",
        "answer to session/new cannot be read",
    ),
    "answers in what is no JSON": (
        ("broken_answer", "session/prompt", '{"stopReason":"end_turn","cost":NaN}'),
        "protocol",
        "answer to session/prompt cannot be read: expected an answer of JSON-RPC 2.0",
    ),
}
# What the agent does, whose time it takes, how it fails, and what the text says of it.
TIMES: dict[str, tuple[tuple[str, ...], str, FailureKind, str]] = {
    "hangs in initialize": (("hangs", "initialize"), "initialize", "initialize", "did not answer within {} s"),
    "hangs in session/new": (("hangs", "session/new"), "session", "timeout", "did not answer within {} s"),
    "hangs in its answer": (
        ("hangs", "prompt"),
        "all",
        "timeout",
        "took longer than {} s: it was stopped while it should answer",
    ),
    "waits for a permission": (("waits_for_permission",), "all", "timeout", "took longer than {} s"),
    "answers to nothing": (
        ("wrong_ids",),
        "initialize",
        "initialize",
        "5 of its lines were no messages, or answers to nothing",
    ),
    "withstands TERM": (("stubborn",), "all", "timeout", "took longer than {} s"),
}


@pytest.mark.parametrize("what", FAILURES)
async def test_an_agent_that(what: str, monkeypatch: pytest.MonkeyPatch):
    words, kind, text = FAILURES[what]
    if words != ("closes_stdout",):
        # How it ended may be heard of late.
        monkeypatch.setattr(conversation, "DYING_SECONDS", HANG_SECONDS)
    before, mark = descriptors(), new_mark()
    client = Notes(decision=None)
    failed = await failure(*words, client=client, env={"MARK": mark})
    assert (failed.kind, text in str(failed)) == (kind, True), str(failed)
    assert living(mark) == {}
    await all_closed(before)
    assert client.cancelled == len(client.requests)


@pytest.mark.slow
@pytest.mark.parametrize("what", TIMES)
async def test_an_agent_with_no_more_time_that(what: str):
    words, whose, kind, text = TIMES[what]
    before = descriptors()
    # On a slow machine it is too early to say anything after a second.
    for seconds in (1, 10):
        mark, client = new_mark(), Notes(decision=None)
        limits = Limits(**({f"{whose}_seconds": seconds} if whose != "all" else {}))
        timeout = seconds if whose == "all" else HANG_SECONDS
        failed = await failure(*words, client=client, limits=limits, timeout=timeout, env={"MARK": mark})
        assert living(mark) == {}
        await all_closed(before)
        assert client.cancelled == len(client.requests)
        if text.format(seconds) in str(failed):
            break
    assert (failed.kind, text.format(seconds) in str(failed)) == (kind, True), str(failed)
    assert len(client.requests) == (words == ("waits_for_permission",))


async def test_a_program_that_is_none_is_said_so():
    for argv, text in {("no-such-agent",): "no-such-agent: not found", ("/etc/passwd",): "Permission denied"}.items():
        with pytest.raises(AgentFailed, match=text) as caught:
            await converse(AgentCommand(argv, {}, "/"), prompt="hi", client=Notes())
        assert caught.value.kind == "spawn"


async def test_the_end_of_stderr_comes_along_with_its_keys_masked():
    failed = await failure("exits", "1", env={"KEY": "sesame-open"})
    assert failed.stderr == "cannot go on with key [redacted]\n"
    failed = await failure("refuses", "-32603", "bad key sesame-open", env={"KEY": "sesame-open"})
    assert "sesame" not in str(failed)


async def test_junk_wrong_ids_and_second_answers_do_no_harm():
    answer = await talk("junk", capabilities=type(ALL)())
    assert (answer.text, answer.stop_reason) == ("sense[-32601, -32601, -32601]", "end_turn")


async def test_broken_messages_that_are_no_answers_do_no_harm():
    assert (await talk("broken_words")).text == "unharmed"


async def test_an_agent_that_closes_its_input_can_still_answer():
    assert (await talk("closes_stdin")).stop_reason == "end_turn"


# Floods, with small limits: how much memory they take is measured elsewhere.

FLOODS: dict[str, tuple[tuple[str, ...], Limits, str]] = {
    "updates": (("floods_updates",), Limits(burst=5_000, burst_seconds=1_000), "more than 5000 messages in 1000 s"),
    "text": (("floods_text",), Limits(text_bytes=1_000_000), "answer is longer than"),
    "tool calls": (("floods_calls",), Limits(tool_calls=1000), "more than 1000 tool calls"),
    "junk": (("floods_junk",), Limits(burst=5_000, burst_seconds=1_000), "more than 5000 messages"),
    "requests without reading": (("floods_requests",), Limits(unread_bytes=100_000), "does not read"),
    "stderr": (("floods_stderr_for_ever",), Limits(), "stderr without end"),
    "a giant line": (("giant_line", "3000000"), Limits(line_bytes=1_000_000), "a line of more than 1000000 bytes"),
    "an endless line": (("floods_line",), Limits(line_bytes=1_000_000), "a line of more than 1000000 bytes"),
    "bytes": (("giant_line", "7000000"), Limits(received_bytes=5 * 2**20), "more than 5 MiB"),
}


@pytest.mark.parametrize("what", FLOODS)
async def test_a_flood_of(what: str):
    words, limits, text = FLOODS[what]
    mark = new_mark()
    # Without a limit it would go on for ever.
    failed = await failure(*words, limits=limits, timeout=None, env={"MARK": mark})
    assert (failed.kind, text in str(failed)) == ("flood", True), str(failed)
    assert len(failed.stderr) < 70_000
    assert living(mark) == {}


async def test_noise_on_stderr_does_not_stop_an_answer():
    assert (await talk("floods_stderr")).text == "quiet again"


async def test_a_large_line_within_the_limit_is_read():
    assert (await talk("giant_line", "7000000")).text == "after it"


@pytest.mark.slow
async def test_a_slow_client_holds_the_agent_back():
    class Slow(Notes):
        async def update(self, update: Any) -> None:
            await super().update(update)
            await asyncio.sleep(0.05)

    client = Slow()
    failed = await failure("floods_updates", client=client, timeout=1.5)
    assert failed.kind == "timeout" and len(client.updates) < 100


def test_a_conversation_works_in_a_thread_s_own_loop():
    texts: list[str] = []
    thread = threading.Thread(target=lambda: texts.append(asyncio.run(talk("echo")).text))
    thread.start()
    thread.join(HANG_SECONDS)
    assert texts == ["You said: hi"]


def test_without_the_extra_it_is_said_what_to_install():
    # In a process of its own: here the SDK is loaded.
    code = (
        "import sys, asyncio; sys.modules['acp'] = None\n"
        "from pollux.acp import AgentCommand, converse\n"
        "try: asyncio.run(converse(AgentCommand(('x',), {}, '/'), prompt='', client=None))\n"
        "except Exception as problem: print(type(problem).__name__, problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "PolluxError ACP agents need a package that is missing: pip install 'pollux[acp]'\n"
