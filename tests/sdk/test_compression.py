"""Long conversations: summarised before the next call, refused summaries told, the full history kept."""

from tests.sdk.conftest import Bench

from pollux import tool
from pollux.core.messages import Message, Text, Usage
from pollux.testing import Answer, reply

LONG = "word " * 4_000


def long_reply(tokens: int) -> Answer:
    return Answer((LONG,), usage=Usage(tokens, 10))


async def compressed(bench: Bench, *summaries: Answer, **options: object):
    """Two long turns, then a prompt at which a summary is due. The window of an unknown model is 32,768 tokens."""
    steps = [long_reply(9_000), long_reply(20_000), *summaries, reply("Done.")]
    async with bench.agent(*steps, **options) as agent:
        await agent.send("First " + LONG)
        await agent.send("Second")
        events = [event async for event in agent.send_stream("Third")]
        history = await agent.history()
    return events, history


async def test_at_the_threshold_the_older_part_is_summarised(bench: Bench):
    events, history = await compressed(bench, reply("A draft."), reply("A summary."))
    (told,) = [event for event in events if event.type == "chat_compressed"]
    assert (told.original_token_count, told.compression_status) == (20_010, "compressed")
    assert told.new_token_count < told.original_token_count
    sent = bench.model.requests[-1].turns
    assert "A summary." in sent[0].text and sent[-1].text == "Third"
    assert [message.text for message in history][::2] == ["First " + LONG, "Second", "Third"]


async def test_below_the_threshold_nothing_is(bench: Bench):
    events, _ = await compressed(bench, compression_threshold=1)
    assert [event for event in events if event.type == "chat_compressed"] == []


async def test_it_can_be_switched_off(bench: Bench):
    events, _ = await compressed(bench, compression_threshold=False)
    assert [event for event in events if event.type == "chat_compressed"] == []


async def test_an_empty_summary_is_refused_and_said_so(bench: Bench):
    events, _ = await compressed(bench, reply("A draft."), Answer(("  ",)))
    (told,) = [event for event in events if event.type == "chat_compressed"]
    assert (told.compression_status, told.new_token_count) == ("refused_empty", 20_010)
    assert bench.model.requests[-1].turns[0].text == "First " + LONG


async def test_a_larger_summary_is_refused_and_said_so(bench: Bench):
    events, _ = await compressed(bench, reply("A draft."), reply(LONG * 3))
    (told,) = [event for event in events if event.type == "chat_compressed"]
    assert told.compression_status == "refused_larger"


async def test_pinned_messages_keep_their_words(bench: Bench):
    pinned = Message("user", (Text("Never mail Eve."),), pinned=True)
    steps = [
        reply("Noted."),
        long_reply(9_000),
        long_reply(20_000),
        reply("A draft."),
        reply("A summary."),
        reply("ok"),
    ]
    async with bench.agent(*steps) as agent:
        await agent.send(pinned)
        await agent.send("First " + LONG)
        await agent.send("Second")
        await agent.send("Third")
    assert "Never mail Eve." in bench.model.requests[-1].turns[0].text


async def test_a_call_is_never_split_from_its_answer(bench: Bench):
    @tool
    def read() -> str:
        """Read something long."""
        return LONG

    from pollux.testing import call

    steps = [
        call("read"),
        long_reply(9_000),
        call("read"),
        long_reply(20_000),
        reply("d"),
        reply("A summary."),
        reply("ok"),
    ]
    async with bench.agent(*steps, tools=[read]) as agent:
        await agent.send("First")
        await agent.send("Second")
        await agent.send("Third")
    sent = bench.model.requests[-1].turns
    open_calls: set[str] = set()
    for message in sent:
        open_calls |= {each.id for each in message.calls}
        for part in message.parts:
            if part.type == "tool_result":
                assert part.call_id in open_calls
                open_calls.discard(part.call_id)
    assert not open_calls
