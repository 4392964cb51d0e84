"""What is said in a thread."""

from pollux.core.messages import (
    NO_USAGE,
    Blob,
    FileRef,
    Message,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    Usage,
    notice,
    user,
)


def test_the_text_of_a_message_is_its_text_parts_alone():
    message = Message(
        "assistant",
        (Thought("hm"), Text("one"), ToolCall("c", "look", {}), Text(" two"), ToolResult("c", "look", "three")),
    )

    assert message.text == "one two"


def test_the_calls_of_a_message_keep_their_order():
    first, second = ToolCall("1", "a", {}), ToolCall("2", "b", {"x": 1}, minted=True)

    assert Message("assistant", (first, Text("and"), second)).calls == (first, second)
    assert user("hi").calls == ()


def test_a_users_message_may_carry_files():
    picture, paper = Blob("image/png", b"\x89PNG", "cat.png"), FileRef("application/pdf", "gs://x/y.pdf")
    message = user("look", picture, paper)

    assert message == Message("user", (Text("look"), picture, paper))
    assert message.text == "look"


def test_a_notice_is_for_people():
    assert notice("Approval needed") == Message("notice", (Text("Approval needed"),))


def test_every_part_says_what_it_is():
    parts = (
        Text(""),
        Thought(""),
        Blob("", b""),
        FileRef("", ""),
        ToolCall("", "", {}),
        ToolResult("", "", None),
    )
    assert [part.type for part in parts] == ["text", "thought", "blob", "file", "tool_call", "tool_result"]


def test_usage_adds_up_and_thoughts_and_cache_are_not_counted_twice():
    total = Usage(10, 5, thoughts=3, cached=8) + Usage(1, 2, thoughts=1, cached=1) + NO_USAGE

    assert total == Usage(11, 7, thoughts=4, cached=9)
    assert total.total == 18
